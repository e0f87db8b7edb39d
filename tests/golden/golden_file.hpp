// SPDX-License-Identifier: Apache-2.0
// Reading a golden file of this directory. A file that is missing or malformed throws, which fails
// the test with its name.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

// Relative, of float32 frequencies: 8 ulp. torch rounds the exponent 2i/d to float32, which its pow
// magnifies by ln(base), and each operation around it.
inline constexpr double float32_tolerance = 0x1p-20;

[[nodiscard]] nlohmann::json read_golden(std::string_view name);

// The file's config under a model_type, which one in the config overrides, resolved.
[[nodiscard]] ModelSpec resolved_model(nlohmann::json config, std::string_view model_type);

// The same, of a model with one rotary embedding.
[[nodiscard]] RotarySpec resolved_spec(nlohmann::json config, std::string_view model_type,
                                       Numerics numerics = Numerics::exact);

// The numbers of nested lists, in order.
template <class Number>
[[nodiscard]] std::vector<Number> flat(const nlohmann::json& lists) {
  if (!lists.is_array()) return {lists.get<Number>()};
  std::vector<Number> numbers;
  for (const auto& each : lists) {
    const auto more = flat<Number>(each);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return numbers;
}

// Each number within `tolerance` of the wanted one, relative to it.
void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double tolerance);

// {"shape", "dtype", "data"}, as a tensor of f32, in the layout "B,H,T,D" or "B,T,H,D".
[[nodiscard]] Tensor read_tensor(const nlohmann::json& tensor, std::string_view layout);

}  // namespace rotary::test
