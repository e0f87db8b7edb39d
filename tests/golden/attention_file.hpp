// SPDX-License-Identifier: Apache-2.0
// Reads attention_encodings.json into types of the library and its reference.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention.hpp"
#include "rotary/rotary_spec.hpp"
#include "support/attention/calls.hpp"

namespace rotary::test {

using Numbers = std::vector<double>;

struct AttentionGolden {
  std::string name;
  reference::AttentionInputs inputs;
  reference::Heads d_out = {};
  reference::Attention attention;  // with explicit positions
  std::optional<RotarySpec> rotary = {};
  AttentionNumbers wanted = {};  // without weights
  Numbers t5_table = {};         // a T5Bias points into it: never copy
};

[[nodiscard]] std::vector<AttentionGolden> read_attention_goldens();

// Both sides are float64, with numbers below 8: about 100 roundings of 2^-53 * 8 each give 1e-13.
// At position 100000 cos and sin are within 2 pi 10^5 2^-65 = 1.7e-14 (numeric_contract.hpp).
// Products below 16 magnify that to 3e-13 in the scores.
inline constexpr double attention_tolerance = 1e-12;

// Compares each number of `wanted` within the tolerance.
void expect_equal(const AttentionNumbers& got, const AttentionNumbers& wanted);

}  // namespace rotary::test
