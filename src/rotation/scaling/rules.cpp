// SPDX-License-Identifier: Apache-2.0
#include "rotation/scaling/rules.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

#include "base/described.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

// Checks parameters and keeps the first error. If `pairs` is given, lists must have one entry for
// each pair.
class ParameterCheck {
 public:
  explicit ParameterCheck(std::optional<std::int64_t> pairs) : pairs_(pairs) {}

  void operator()(const ParameterFacts& facts, double value) {
    require(is_within(value, facts.bounds), facts, value);
  }
  void operator()(const ParameterFacts& facts, std::int64_t value) {
    require(is_within(static_cast<double>(value), facts.bounds), facts, value);
  }
  void operator()(const ParameterFacts& facts, const std::optional<double>& value) {
    if (value) (*this)(facts, *value);
  }
  void operator()(const ParameterFacts& facts, const std::vector<double>& list) {
    const auto size = static_cast<std::int64_t>(list.size());
    if (pairs_ && size != *pairs_ && status_) {
      status_ = invalid_argument(facts.name, " must have one entry for each pair, ", *pairs_,
                                 "; got ", size);
    }
    for (std::size_t pair = 0; status_ && pair < list.size(); ++pair)
      require(is_within(list[pair], facts.bounds), facts, list[pair], " for pair ", pair);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const ParameterFacts& facts, Enum value) {
    if (!status_ || !enumerator_name(value).empty()) return;
    status_ = invalid_argument(facts.name, " must be ", enumerator_names<Enum>(), ", got value ",
                               static_cast<std::int32_t>(value));
  }

  [[nodiscard]] Status status() && { return std::move(status_); }

 private:
  // False for NaN.
  [[nodiscard]] static bool is_within(double value, const ParameterBounds& bounds) {
    return value >= bounds.least && value <= bounds.most;
  }
  template <class... Got>
  void require(bool holds, const ParameterFacts& facts, const Got&... got) {
    if (!holds && status_)
      status_ =
          invalid_argument(facts.name, " must be ", facts.bounds.requirement, ", got ", got...);
  }

  std::optional<std::int64_t> pairs_;
  Status status_;
};

Status check_parameters(const Scaling& scaling, std::optional<std::int64_t> pairs) {
  ParameterCheck check(pairs);
  for_each_parameter(scaling,
                     [&](const ParameterFacts& facts, const auto& value) { check(facts, value); });
  return std::move(check).status();
}

}  // namespace

std::span<const std::string_view> rope_types() noexcept { return names<ScalingRules>; }

std::optional<Scaling> scaling_named(std::string_view rope_type) noexcept {
  return named<Scaling>(rope_type, std::type_identity<ScalingRules>());
}

std::string_view rope_type(const Scaling& scaling) noexcept {
  return names<ScalingRules>[scaling.index()];
}

std::string_view sentence(const Scaling& scaling) noexcept {
  return std::visit([]<class Rule>(const Rule&) { return Describe<Rule>::sentence; }, scaling);
}

bool depends_on_context(const Scaling& scaling) noexcept {
  return std::visit(
      []<class Rule>(const Rule& rule) {
        if constexpr (requires { Describe<Rule>::depends_on_context(rule); })
          return Describe<Rule>::depends_on_context(rule);
        return false;
      },
      scaling);
}

Status validate(const Scaling& scaling) noexcept {
  return guarded([&] { return check_parameters(scaling, {}); });
}

Status validate(const Scaling& scaling, const UnscaledRotary& rotary) {
  if (auto status = check_parameters(scaling, rotary.rotary_dim / 2); !status) return status;
  return std::visit([&](const auto& rule) { return validate(rule, rotary); }, scaling);
}

std::vector<double> unscaled_inv_freq(const UnscaledRotary& rotary) {
  std::vector<double> inv_freq(static_cast<std::size_t>(rotary.rotary_dim / 2));
  const auto dimension = static_cast<double>(rotary.rotary_dim);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    inv_freq[pair] = std::pow(rotary.base, -2.0 * static_cast<double>(pair) / dimension);
  }
  return inv_freq;
}

UnscaledRotary with_ntk_base(const UnscaledRotary& rotary, double growth) {
  const auto d = static_cast<double>(rotary.rotary_dim);
  UnscaledRotary slower = rotary;
  slower.base = rotary.base * std::pow(growth, d / (d - 2));
  return slower;
}

Status require_ntk_dimension(const UnscaledRotary& rotary) {
  if (rotary.rotary_dim >= 4) return {};
  return invalid_argument(
      "NTK scaling needs rotary_dim >= 4, because its exponent is d/(d-2); got ",
      rotary.rotary_dim);
}

Status require_context(std::string_view rope_type, const UnscaledRotary& rotary) {
  if (rotary.context_tokens) return {};
  return invalid_argument("context_tokens must be given, because the frequencies of rope_type ",
                          rope_type, " depend on the length of the context; got none");
}

}  // namespace rotary
