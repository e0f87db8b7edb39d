// SPDX-License-Identifier: Apache-2.0
// Sources: LlamaRotaryEmbedding and apply_rotary_pos_emb (src/transformers/models/llama/
// modeling_llama.py), create_weight of modeling_roformer.py, both at c49429ed; rope_yarn and
// ggml_rope_cache_init (ggml/src/ggml-cpu/ops.cpp), ggml_rope_yarn_corr_dims (ggml/src/ggml.c) of
// llama.cpp at 34af94cd.
#include "reference/recipes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

struct Format {
  int significand_bits;  // including the hidden one
  int least_exponent;    // of normal numbers 2^e * 1.xxx
  long double overflow;  // a power of two; numbers that round to it are infinite
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {8, -126, 0x1p128L};
    case DType::f16:
      return {11, -14, 0x1p16L};
    case DType::f32:
    case DType::f64:
      break;
  }
  return {24, -126, 0x1p128L};
}

float f32(long double value) { return nearest(DType::f32, value); }

}  // namespace

float nearest(DType dtype, long double value) {
  if (value == 0 || !std::isfinite(value)) return static_cast<float>(value);
  const Format format = format_of(dtype);
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const int last_bit = exponent - (format.significand_bits - 1);
  // Rounds to a multiple of the last bit, to nearest, ties to even; the division is exact.
  const long double unit = std::ldexp(1.0L, last_bit);
  const long double rounded = std::rint(value / unit) * unit;
  if (std::abs(rounded) >= format.overflow) {
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value));
  }
  return std::copysign(static_cast<float>(rounded), static_cast<float>(value));
}

RecipeRow transformers_row(const TransformersClass& rope, double position) {
  const DType table = rope.rounding == Rounding::result ? DType::f32 : rope.dtype;
  const float scaling = f32(rope.attention_scaling);
  RecipeRow row;
  for (const double inv_freq : rope.inv_freq) {
    // freqs = inv_freq @ position_ids.float(); NumPy makes RoFormer's table in float64.
    const double freq = rope.rounding == Rounding::double_angle
                            ? position * inv_freq
                            : f32(static_cast<long double>(f32(position)) * f32(inv_freq));
    const float cos = f32(std::cos(static_cast<long double>(freq)));
    const float sin = f32(std::sin(static_cast<long double>(freq)));
    row.cos.push_back(nearest(table, f32(static_cast<long double>(cos) * scaling)));
    row.sin.push_back(nearest(table, f32(static_cast<long double>(sin) * scaling)));
  }
  return row;
}

CorrDims ggml_corr_dims(const GgmlRope& rope) {
  const auto corr_dim = [&](float n_rot) {
    const float pi = f32(3.14159265358979323846L);
    const float turn = f32(f32(n_rot * 2.0L) * static_cast<long double>(pi));
    const float ratio = f32(static_cast<long double>(f32(rope.n_ctx_orig)) / turn);
    const float upper = f32(static_cast<long double>(f32(rope.n_dims)) *
                            f32(std::log(static_cast<long double>(ratio))));
    const float lower = f32(2.0L * f32(std::log(static_cast<long double>(rope.freq_base))));
    return f32(static_cast<long double>(upper) / lower);
  };
  return {
      .start = std::max(0.0F, std::floor(corr_dim(rope.beta_fast))),
      .end = std::min(static_cast<float>(rope.n_dims) - 1, std::ceil(corr_dim(rope.beta_slow)))};
}

RecipeRow ggml_row(const GgmlRope& rope, std::int32_t position) {
  const auto times = [](float a, float b) { return f32(static_cast<long double>(a) * b); };
  const auto plus = [](float a, float b) { return f32(static_cast<long double>(a) + b); };
  const auto [start, end] = ggml_corr_dims(rope);
  const float exponent = f32(-2.0L / rope.n_dims);
  const float theta_scale =
      f32(std::pow(static_cast<long double>(rope.freq_base), static_cast<long double>(exponent)));
  float mscale = rope.attn_factor;
  if (rope.ext_factor != 0) {
    const float inverse = f32(1.0L / rope.freq_scale);
    const float grown = times(0.1F, f32(std::log(static_cast<long double>(inverse))));
    mscale = times(mscale, plus(1, grown));
  }
  RecipeRow row;
  float theta = f32(position);
  for (int i0 = 0; i0 < rope.n_dims; i0 += 2) {
    const float ff =
        rope.freq_factors.empty() ? 1 : rope.freq_factors[static_cast<std::size_t>(i0) / 2];
    const float theta_extrap = f32(static_cast<long double>(theta) / ff);
    const float theta_interp = times(rope.freq_scale, theta_extrap);
    float angle = theta_interp;
    if (rope.ext_factor != 0) {
      const int pair = i0 / 2;
      const float distance = plus(static_cast<float>(pair), -start);
      const float width = std::max(0.001F, plus(end, -start));
      const float y = f32(static_cast<long double>(distance) / width);
      const float ramp = plus(1, -std::min(1.0F, std::max(0.0F, y)));
      const float mix = times(ramp, rope.ext_factor);
      angle = plus(times(theta_interp, plus(1, -mix)), times(theta_extrap, mix));
    }
    row.cos.push_back(times(f32(std::cos(static_cast<long double>(angle))), mscale));
    row.sin.push_back(times(f32(std::sin(static_cast<long double>(angle))), mscale));
    theta = times(theta, theta_scale);
  }
  return row;
}

std::vector<float> rotate_rounding_every_step(std::span<const float> head, const HeadWindow& window,
                                              const RecipeRow& row, DType dtype,
                                              Direction direction) {
  std::vector<float> rotated(head.begin(), head.end());
  const auto times = [&](float a, float b) {
    return nearest(dtype, f32(static_cast<long double>(a) * b));
  };
  const auto plus = [&](float a, float b) {
    return nearest(dtype, f32(static_cast<long double>(a) + b));
  };
  const auto half = static_cast<std::size_t>(window.pairs());
  const auto begin = static_cast<std::size_t>(window.first_feature);
  const bool is_transpose = direction == Direction::transpose;
  bool neighbours_in = reads_neighbours(window.pairing);
  bool neighbours_out = writes_neighbours(window.pairing);
  if (is_transpose) std::swap(neighbours_in, neighbours_out);
  for (std::size_t i = 0; i < half; ++i) {
    const float x = head[begin + (neighbours_in ? 2 * i : i)];
    const float y = head[begin + (neighbours_in ? 2 * i + 1 : half + i)];
    const float sin = is_transpose ? -row.sin[i] : row.sin[i];
    rotated[begin + (neighbours_out ? 2 * i : i)] = plus(times(x, row.cos[i]), times(-y, sin));
    rotated[begin + (neighbours_out ? 2 * i + 1 : half + i)] =
        plus(times(y, row.cos[i]), times(x, sin));
  }
  return rotated;
}

}  // namespace rotary::reference
