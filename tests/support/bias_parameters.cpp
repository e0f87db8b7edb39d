// SPDX-License-Identifier: Apache-2.0
#include "support/bias_parameters.hpp"

#include <type_traits>
#include <variant>

#include "reference/relative.hpp"
#include "support/random.hpp"

namespace rotary::test {
std::vector<double*> bias_parameters(RelativeBias& bias, std::vector<double>& table) {
  if (auto* alibi = std::get_if<Alibi>(&bias); alibi != nullptr && alibi->slopes.empty()) {
    for (const long double slope : reference::alibi_slopes(*alibi))
      alibi->slopes.push_back(static_cast<double>(slope));
  }
  std::vector<double*> all;
  const auto append = [&all](std::vector<double>& values) {
    for (double& value : values) all.push_back(&value);
  };
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if (facts.kind != ParameterKind::learned) return;
    if constexpr (std::is_same_v<Member, std::vector<double>>) append(member);
    if constexpr (std::is_same_v<Member, ConstTableView>) append(table);
    if constexpr (std::is_same_v<Member, double>) all.push_back(&member);
  });
  return all;
}

std::optional<RelativeBias> random_bias(std::string_view name, std::int64_t heads,
                                        std::uint64_t seed) {
  constexpr std::int64_t units = 3;
  RelativeBias bias = relative_bias_named(name).value();
  bool has_others = false;
  bool has_lists = false;
  const auto fill = [&](const ParameterFacts& facts, std::vector<double>& list) {
    const bool with_units = facts.shape == ParameterShape::heads_by_units;
    Random random(seed++);
    list.resize(static_cast<std::size_t>(heads * (with_units ? units : 1)));
    for (double& number : list) {
      number = random.unit() * 2 - 1;
      if (facts.bounds.least > 0) number = 0.6 + number / 2;
    }
    has_lists = true;
  };
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if constexpr (std::is_same_v<Member, std::vector<double>>) {
      has_others = has_others || facts.shape == ParameterShape::units;
      fill(facts, member);
    } else if constexpr (std::is_same_v<Member, std::int64_t>) {
      has_others = has_others || facts.shape != ParameterShape::units;
      member = units;
    } else {
      has_others = true;
    }
  });
  if (has_others || !has_lists) return std::nullopt;
  return bias;
}

}  // namespace rotary::test
