// SPDX-License-Identifier: Apache-2.0
#include "rotary/relative_bias.hpp"

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/evaluators.hpp"

namespace rotary {
namespace {

struct Name {
  std::string_view operator()(const T5Bias&) const { return "t5"; }
  std::string_view operator()(const Alibi&) const { return "alibi"; }
  std::string_view operator()(const KerpleLog&) const { return "kerple_log"; }
  std::string_view operator()(const KerplePower&) const { return "kerple_power"; }
  std::string_view operator()(const Fire&) const { return "fire"; }
  std::string_view operator()(const Sandwich&) const { return "sandwich"; }
};

template <class Container>
std::int64_t count(const Container& values) {
  return static_cast<std::int64_t>(values.size());
}

struct Heads {
  std::int64_t operator()(const T5Bias& bias) const { return bias.table.columns; }
  std::int64_t operator()(const Alibi& bias) const { return bias.heads; }
  std::int64_t operator()(const KerpleLog& bias) const { return count(bias.p); }
  std::int64_t operator()(const KerplePower& bias) const { return count(bias.p); }
  std::int64_t operator()(const Fire& bias) const { return count(bias.output_bias); }
  std::int64_t operator()(const Sandwich& bias) const { return bias.heads; }
};

struct Parameters {
  std::int64_t operator()(const T5Bias& bias) const { return bias.table.rows * bias.table.columns; }
  std::int64_t operator()(const Alibi& bias) const { return bias.heads; }
  std::int64_t operator()(const KerpleLog& bias) const { return 2 * count(bias.p); }
  std::int64_t operator()(const KerplePower& bias) const { return 2 * count(bias.p); }
  std::int64_t operator()(const Fire& bias) const {
    return 2 + count(bias.hidden_weight) + count(bias.hidden_bias) + count(bias.output_weight) +
           count(bias.output_bias);
  }
  std::int64_t operator()(const Sandwich&) const { return 0; }
};

}  // namespace

std::string_view to_string(const RelativeBias& bias) noexcept { return std::visit(Name{}, bias); }

Status validate(const RelativeBias& bias) {
  return guarded([&]() -> Status {
    return std::visit([](const auto& encoding) { return relative::check(encoding); }, bias);
  });
}

std::int64_t head_count(const RelativeBias& bias) noexcept { return std::visit(Heads{}, bias); }

bool depends_on_distance_alone(const RelativeBias& bias) noexcept {
  if (std::holds_alternative<Fire>(bias)) return false;
  const auto* alibi = std::get_if<Alibi>(&bias);
  return alibi == nullptr || alibi->form != AlibiForm::key_position;
}

std::int64_t parameter_count(const RelativeBias& bias) noexcept {
  return std::visit(Parameters{}, bias);
}

Result<double> bias_at(const RelativeBias& bias, const BiasIndex& at) {
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
