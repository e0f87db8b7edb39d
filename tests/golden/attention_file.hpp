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

// Compares each number of `wanted` within the tolerance of attention_file.cpp.
void expect_equal(const AttentionNumbers& got, const AttentionNumbers& wanted);

}  // namespace rotary::test
