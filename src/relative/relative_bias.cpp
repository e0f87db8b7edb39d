// SPDX-License-Identifier: Apache-2.0
#include "rotary/relative_bias.hpp"

#include <type_traits>

#include "base/described.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/evaluators.hpp"

namespace rotary {
namespace {

template <class Encoding>
using DescribeOf = Describe<std::remove_cvref_t<Encoding>>;

template <class Encoding>
std::int64_t count_of(const Encoding& bias, const ParameterFacts& facts) {
  using Facts = Describe<Encoding>;
  switch (facts.shape) {
    case ParameterShape::one:
      return 1;
    case ParameterShape::heads:
      return Facts::heads(bias);
    case ParameterShape::units:
      return Facts::units(bias);
    case ParameterShape::heads_by_units:
      return Facts::heads(bias) * Facts::units(bias);
    case ParameterShape::rows_by_heads:
    case ParameterShape::pairs:
      break;
  }
  return 0;  // parameter_count() counts tables itself; no bias has pairs
}

}  // namespace

std::span<const std::string_view> relative_bias_names() noexcept { return names<RelativeBiases>; }

std::optional<RelativeBias> relative_bias_named(std::string_view name) noexcept {
  return named<RelativeBias>(name, std::type_identity<RelativeBiases>());
}

std::string_view to_string(const RelativeBias& bias) noexcept {
  return names<RelativeBiases>[bias.index()];
}

Status validate(const RelativeBias& bias) noexcept {
  return guarded([&]() -> Status {
    return std::visit([](const auto& encoding) { return relative::check(encoding); }, bias);
  });
}

std::int64_t head_count(const RelativeBias& bias) noexcept {
  return std::visit(
      [](const auto& encoding) { return DescribeOf<decltype(encoding)>::heads(encoding); }, bias);
}

bool depends_on_distance_alone(const RelativeBias& bias) noexcept {
  if (std::holds_alternative<Fire>(bias)) return false;
  const auto* alibi = std::get_if<Alibi>(&bias);
  return alibi == nullptr || alibi->form != AlibiForm::key_position;
}

std::int64_t parameter_count(const RelativeBias& bias) noexcept {
  return std::visit(
      []<class Encoding>(const Encoding& encoding) {
        std::int64_t count = 0;
        Describe<Encoding>::parameters(
            encoding, [&]<class Member>(const ParameterFacts& facts, const Member& member) {
              if (facts.kind != ParameterKind::learned) return;
              if constexpr (std::is_same_v<Member, ConstTableView>)
                count += member.rows * member.features;
              else
                count += count_of(encoding, facts);
            });
        return count;
      },
      bias);
}

Result<double> bias_at(const RelativeBias& bias, const BiasIndex& at) noexcept {
  return guarded([&]() -> Result<double> {
    if (auto status = validate(bias); !status) return status.error();
    const std::int64_t heads = head_count(bias);
    if (at.head < 0 || at.head >= heads)
      return invalid_argument("head must be in [0, ", heads, "), got ", at.head);
    const auto positions = relative::PairPositions::of(
        {.heads = 1, .queries = 1, .keys = 1}, {.first_query = at.query, .first_key = at.key});
    if (!positions) return positions.error();
    return std::visit(
        [&](const auto& encoding) {
          const auto evaluate = relative::evaluator(encoding);
          return evaluate.value(at.head, evaluate.shared_term(positions->at(0, 0)));
        },
        bias);
  });
}

}  // namespace rotary
