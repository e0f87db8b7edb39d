// SPDX-License-Identifier: Apache-2.0
// Two angles for a pair: frequencies, rows, their use.
#include <utility>
#include <vector>

#include "public_calls/call.hpp"
#include "rotary/two_angles.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

std::vector<double> list_of(std::int64_t features) {
  std::vector<double> list(static_cast<std::size_t>(features), 0.5);
  return list;
}

const TwoAngles& angles_of_16() {
  static const TwoAngles angles = value_of(make_two_angles(window_of_16(), list_of(16), {}));
  return angles;
}

Call apply_call(std::int64_t missing) {
  const auto apply = [missing](Sizes n) -> Status {
    const std::int64_t tokens = n[1] > missing ? n[1] - missing : n[1];
    const auto rows = make_two_angle_rows(angles_of_16(), ConsecutivePositions{5, tokens});
    if (!rows) return rows.error();
    const Extents extents{n[0], n[1], n[2], n[3]};
    return apply_two_angles(heads(extents), heads(extents), *rows);
  };
  return sized("rotary::apply_two_angles(", missing == 0 ? "" : "by other tokens",
               {{}, {3}, {2}, each(16)}, apply);
}

}  // namespace

Calls two_angle_calls() {
  Calls calls = {
      without_sizes("rotary::hunyuan_vl_two_angles(", "",
                    [] {
                      return hunyuan_vl_two_angles(16, 1e4, {2, 3, 1, 2});
                    }),
      without_sizes("rotary::hunyuan_vl_two_angles(", "that no head has",
                    [] {
                      return hunyuan_vl_two_angles(-16, 1e4, {2, 3, 1, 2});
                    }),
      without_sizes("rotary::vjepa2_two_angles(", "", [] { return vjepa2_two_angles(64); }),
      without_sizes("rotary::vjepa2_two_angles(", "that no head has",
                    [] { return vjepa2_two_angles(5); }),
      apply_call(0),
      apply_call(1),
      sized("rotary::make_two_angle_rows(", "consecutive", {{3}},
            [](Sizes n) {
              return make_two_angle_rows(angles_of_16(), ConsecutivePositions{5, n[0]});
            }),
  };
  // The list is the caller's, made before the call.
  for (const std::int64_t features : {16, 3}) {
    calls.push_back({"rotary::make_two_angles(",
                     std::to_string(features),
                     {},
                     [features](Attempt& attempt, Sizes) {
                       std::vector<double> list = list_of(features);
                       return outcome_of(attempt(
                           [&] { return make_two_angles(window_of_16(), std::move(list), {}); }));
                     }});
  }
  for (const NamedPositions& at : listed_positions) {
    calls.push_back(sized(
        "rotary::make_two_angle_rows(", at.what, {each(2), {3}},
        [of = at.of](Sizes n) { return make_two_angle_rows(angles_of_16(), of(n[0], n[1])); }));
  }
  return calls;
}

}  // namespace rotary::test
