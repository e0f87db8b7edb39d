// SPDX-License-Identifier: Apache-2.0
// Reads golden files of this directory. A missing or malformed file throws, so the test fails with
// the file's name.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"
#include "rotary/rotations.hpp"
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

// The rotary embedding of a layer type; the only one, if the model has just one. Else throws.
[[nodiscard]] const ModelRotary& rotary_of(const ModelSpec& model, std::string_view layer_type);

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

// The allowed difference of a rotated feature, by its head, its pair and the pair's length.
using Tolerance = std::function<double(const HeadIndex&, std::size_t pair, double hypot)>;

struct Agreement {
  int elements = 0;
  int equal = 0;  // in bits
};

// Rotates the file's q, k and v in this dtype and compares with those that `outputs` has. 16-bit
// results may also be one unit apart. Features that do not rotate must keep their bits.
Agreement expect_rotated(const nlohmann::json& file, const nlohmann::json& outputs,
                         const Rotations& rotations, DType dtype, const Tolerance& tolerance);

// Rotates by exact angles and compares with Transformers' results, whose angles are float32.
void expect_rotated_exactly(const nlohmann::json& file, const RotarySpec& spec,
                            const Positions& positions);

}  // namespace rotary::test
