// SPDX-License-Identifier: Apache-2.0
// Operations are rounded to float32, in the order of the imitated code (docs/theory/numerics.md).
// The angle with Rounding::double_angle stays double. cos and sin are computed in double, so no
// library's cosf decides the last bit. All but about one in 2^28 are the nearest float32.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "rotation/frequencies/phase_steps.hpp"
#include "rotation/rows/position_rows.hpp"
#include "tensor/element_values.hpp"
#include "tensor/position_access.hpp"

namespace rotary {
namespace {

struct CosSin {
  float cos;
  float sin;
};

CosSin cos_sin(double angle) {
  return {.cos = static_cast<float>(std::cos(angle)), .sin = static_cast<float>(std::sin(angle))};
}

struct Row {
  std::span<float> cos;  // [pairs]
  std::span<float> sin;  // [pairs]
};

class TransformersRecipe {
 public:
  TransformersRecipe(const Frequencies& frequencies, std::optional<DType> tensors)
      : inv_freq_(frequencies.inv_freq),
        factor_(static_cast<float>(frequencies.attention_factor)),
        double_angle_(frequencies.rounding == Rounding::double_angle),
        table_(frequencies.rounding == Rounding::result ? DType::f32
                                                        : tensors.value_or(DType::f32)) {}

  // coordinate_of(pair): the token's coordinate on the pair's axis.
  template <class CoordinateOf>
  void write(const CoordinateOf& coordinate_of, const Row& row) const {
    for (std::size_t pair = 0; pair < row.cos.size(); ++pair) {
      const CosSin turned = cos_sin(angle(coordinate_of(pair), inv_freq_[pair]));
      row.cos[pair] = of_table(turned.cos * factor_);
      row.sin[pair] = of_table(turned.sin * factor_);
    }
  }

  // The cos of a pair that does not rotate.
  [[nodiscard]] float resting_cos() const { return of_table(factor_); }

 private:
  template <class Number>
  [[nodiscard]] double angle(Number position, double inv_freq) const {
    if (double_angle_) return static_cast<double>(position) * inv_freq;
    const float product = static_cast<float>(position) * static_cast<float>(inv_freq);
    return product;
  }

  [[nodiscard]] float of_table(float value) const {
    switch (table_) {
      case DType::bf16:
        return rounded_to_bf16(value);
      case DType::f16:
        return rounded_to_f16(value);
      case DType::f32:
      case DType::f64:
        break;
    }
    return value;
  }

  std::span<const double> inv_freq_;
  float factor_;
  bool double_angle_;
  DType table_;  // cos and sin are rounded to this
};

class GgmlRecipe {
 public:
  explicit GgmlRecipe(const GgmlAngles& angles) : angles_(angles) {}

  template <class CoordinateOf>
  void write(const CoordinateOf& coordinate_of, const Row& row) const {
    auto theta = static_cast<float>(coordinate_of(0));
    for (std::size_t pair = 0; pair < row.cos.size(); ++pair) {
      const CosSin turned = cos_sin(double{angle(theta, pair)});
      row.cos[pair] = turned.cos * angles_.mscale;
      row.sin[pair] = turned.sin * angles_.mscale;
      theta *= angles_.theta_scale;
    }
  }

  [[nodiscard]] float resting_cos() const { return angles_.mscale; }

 private:
  [[nodiscard]] float angle(float theta, std::size_t pair) const {
    const float extrapolated =
        angles_.freq_factors.empty() ? theta : theta / angles_.freq_factors[pair];
    const float interpolated = angles_.freq_scale * extrapolated;
    if (angles_.ext_factor == 0) return interpolated;
    const float mix = kept(pair) * angles_.ext_factor;
    return interpolated * (1 - mix) + extrapolated * mix;
  }

  // YaRN's ramp: 1 up to ramp_low, 0 from ramp_high on.
  [[nodiscard]] float kept(std::size_t pair) const {
    const float width = std::max(0.001F, angles_.ramp_high - angles_.ramp_low);
    const float along = (static_cast<float>(pair) - angles_.ramp_low) / width;
    return 1 - std::clamp(along, 0.0F, 1.0F);
  }

  const GgmlAngles& angles_;
};

template <class Numbers>
struct PairCoordinates {
  const Numbers& positions;
  const std::vector<std::int32_t>& axis_of_pair;  // empty: one axis
  TokenIndex at;

  auto operator()(std::size_t pair) const {
    return coordinate_at(positions, axis_of_pair.empty() ? 0 : axis_of_pair[pair], at);
  }
};

// Writes the rows of all tokens. Padding lanes hold a pair that does not rotate.
template <class Recipe>
class RecipeWriter {
 public:
  RecipeWriter(const Recipe& recipe, const Frequencies& frequencies, std::byte* rows)
      : recipe_(recipe), frequencies_(frequencies), rows_(rows) {}

  template <class Numbers>
  void operator()(const Numbers& positions) const {
    const std::int64_t pairs = frequencies_.window.pairs();
    const std::int64_t lane_stride = lane_stride_for(pairs);
    const auto count = static_cast<std::size_t>(pairs);
    auto* cos = reinterpret_cast<float*>(rows_);
    for (std::int64_t batch = 0; batch < batch_of(positions); ++batch) {
      for (std::int64_t token = 0; token < positions.tokens; ++token, cos += 2 * lane_stride) {
        float* const sin = cos + lane_stride;
        recipe_.write(
            PairCoordinates<Numbers>{positions, frequencies_.axes.of_pair, {batch, token}},
            {.cos = {cos, count}, .sin = {sin, count}});
        std::fill(cos + pairs, cos + lane_stride, recipe_.resting_cos());
        std::fill(sin + pairs, sin + lane_stride, 0.0F);
      }
    }
  }

 private:
  const Recipe& recipe_;
  const Frequencies& frequencies_;
  std::byte* rows_;
};

}  // namespace

void write_recipe_rows(const RowsMemory& memory, const Frequencies& frequencies,
                       const Positions& positions) noexcept {
  if (frequencies.numerics == Numerics::ggml) {
    const GgmlRecipe recipe(*frequencies.ggml);
    std::visit(RecipeWriter(recipe, frequencies, memory.rows), positions);
  } else {
    const TransformersRecipe recipe(frequencies, memory.tensors);
    std::visit(RecipeWriter(recipe, frequencies, memory.rows), positions);
  }
}

}  // namespace rotary
