// SPDX-License-Identifier: Apache-2.0
// The cases of attention_encodings.json, in the terms of the library and of its reference.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::test {

using Numbers = std::vector<double>;

// What a case says of its result. Gradients that it does not have are empty; parameters are in the
// order of add_bias_gradient.
struct AttentionNumbers {
  Numbers out = {};
  Numbers log_sum_exp = {};  // -Inf where the query sees nothing
  Numbers d_q = {};
  Numbers d_k = {};
  Numbers d_v = {};
  Numbers d_parameters = {};
  Numbers d_shaw_keys = {};
  Numbers d_shaw_values = {};
  Numbers d_cope = {};
};

struct AttentionGolden {
  std::string name;
  reference::AttentionInputs inputs;
  reference::Heads d_out = {};
  reference::Attention attention;  // its positions are given
  std::optional<RotarySpec> rotary = {};
  AttentionNumbers wanted = {};
  Numbers t5_table = {};  // what a T5Bias views: moved along, never copied
};

[[nodiscard]] std::vector<AttentionGolden> read_attention_goldens();

// Positions of one batch row.
[[nodiscard]] BiasPositions row_positions(const AttentionGolden& of, std::int64_t batch);

// Every number within the file's tolerance.
void expect_equal(const AttentionNumbers& got, const AttentionNumbers& wanted);

}  // namespace rotary::test
