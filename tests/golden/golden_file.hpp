// SPDX-License-Identifier: Apache-2.0
// Reads golden files of this directory. A missing or malformed file throws, so the test fails with
// the file's name.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

// Relative tolerance for float32 frequencies: 8 ulp. torch rounds the exponent 2i/d to float32, and
// pow magnifies that error by ln(base). Each later operation is rounded as well.
inline constexpr double float32_tolerance = 0x1p-20;

[[nodiscard]] nlohmann::json read_golden(std::string_view name);

// Resolves a config. `model_type` is used if the config has none.
[[nodiscard]] ModelSpec resolved_model(nlohmann::json config, std::string_view model_type);

// The spec of a resolved model with one rotary embedding.
[[nodiscard]] RotarySpec resolved_spec(nlohmann::json config, std::string_view model_type,
                                       Numerics numerics = Numerics::exact);

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

// Compares within a relative tolerance.
void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double tolerance);

// Reads {"shape", "dtype", "data"} in layout "B,H,T,D" or "B,T,H,D" as f32.
[[nodiscard]] Tensor read_tensor(const nlohmann::json& tensor, std::string_view layout);

}  // namespace rotary::test
