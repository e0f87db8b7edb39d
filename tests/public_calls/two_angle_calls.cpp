// SPDX-License-Identifier: Apache-2.0
// Two angles for a pair: frequencies, rows, their use.
#include <utility>
#include <vector>

#include "public_calls/call.hpp"
#include "rotary/two_angles.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

const TwoAngles& angles_of_16() {
  static const TwoAngles angles =
      value_of(make_two_angles(window_of_16(), std::vector<double>(16, 0.5), {}));
  return angles;
}

}  // namespace

Calls two_angle_calls() {
  Calls calls = {
      {"rotary::vjepa2_two_angles(", [] { return vjepa2_two_angles(64); }},
      {"rotary::vjepa2_two_angles(", "that no head has", [] { return vjepa2_two_angles(5); }},
      {"rotary::make_two_angle_rows(",
       "consecutive",
       {{3}},
       [](Sizes n) {
         return make_two_angle_rows(angles_of_16(), ConsecutivePositions{5, n[0]});
       }},
  };
  for (const std::int64_t head_dim : {16, -16}) {
    const std::string_view what = head_dim < 0 ? "that no head has" : "";
    calls.emplace_back("rotary::hunyuan_vl_two_angles(", what, [head_dim] {
      return hunyuan_vl_two_angles(head_dim, 1e4, {2, 3, 1, 2});
    });
  }
  for (const std::int64_t missing : {0, 1}) {
    const Adding add{calls, missing == 0 ? "" : "by other tokens", {{}, {3}, {2}, each(16)}};
    add("rotary::apply_two_angles(", [missing](Sizes n) -> Status {
      const std::int64_t tokens = n[1] > missing ? n[1] - missing : n[1];
      const auto rows = make_two_angle_rows(angles_of_16(), ConsecutivePositions{5, tokens});
      if (!rows) return rows.error();
      const auto operand = heads_at<0, 1, 2, 3>;
      return apply_two_angles(operand(n), operand(n), *rows);
    });
  }
  // The list is the caller's, made before the call.
  for (const std::size_t features : {16U, 3U}) {
    calls.emplace_back(
        "rotary::make_two_angles(", std::to_string(features), [features](Attempt& attempt, Sizes) {
          std::vector<double> list(features, 0.5);
          return attempt([&] { return make_two_angles(window_of_16(), std::move(list), {}); });
        });
  }
  for (const NamedPositions& kind : listed_positions) {
    calls.emplace_back(
        "rotary::make_two_angle_rows(", kind.what, SizeList{each(2), {3}},
        [of = kind.of](Sizes n) { return make_two_angle_rows(angles_of_16(), of(n[0], n[1])); });
  }
  return calls;
}

}  // namespace rotary::test
