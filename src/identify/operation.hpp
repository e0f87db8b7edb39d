// SPDX-License-Identifier: Apache-2.0
// An operation is a RotarySpec and the mistakes that a spec cannot state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "identify/sample.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::identification {

// The exponent e of pair i's unscaled frequency base^-e, for d rotated features.
enum class Exponents {
  of_spec,       // 2i / d
  half_rate,     // i / d
  from_1,        // 2 (i + 1) / d
  from_minus_1,  // 2 (i - 1) / d
  head_dim,      // 2i / head_dim
  hidden_size,   // 2i / divisor
};

// The replacement of x in scaling rules that blend frequencies as slow + x * (fast - slow).
enum class Blend {
  right,
  reversed,          // 1 - x for x
  reversed_between,  // 1 - x, except where x is 0 or 1
};

// The number that angles are proportional to: the token's position, the head's index, or the first
// token's position.
enum class Counted { token, head, first_token };

struct Operation {
  RotarySpec spec;
  bool rotates = true;
  bool cos_sin_swapped = false;
  bool reversed_frequencies = false;
  Exponents exponents = Exponents::of_spec;
  double divisor = 0;
  Blend blend = Blend::right;
  // The table of frequencies is laid out for the other pairing. Feature f takes entry f / 2 if
  // pairs are half a head apart, and entry f modulo d/2 if pairs are neighbours.
  bool other_table = false;
  std::optional<double> attention_factor = {};  // replaces the spec's own
  double attention_power = 1;                   // number of times that A is applied
  double vector_factor = 1;                     // multiplies all features, also unrotated ones
  double position_factor = 1;                   // p' = factor * p + offset
  double position_offset = 0;
  Counted counted = Counted::token;
  std::vector<std::size_t> coordinate_of_axis = {};  // empty: axis i takes coordinate i
  // Positions [axes][tokens] that replace the sample's; null: the sample's.
  std::shared_ptr<const std::vector<double>> positions = {};
  std::optional<DType> positions_rounded = {};
  std::optional<DType> frequencies_rounded = {};
  std::optional<DType> angles_rounded = {};
  std::shared_ptr<const std::vector<double>> phases = {};  // [pairs], added to each angle
  double roundings = 1;                                    // roundings of each number
};

// The indices of a pair's two features where a rotation reads (in) and writes them (out).
struct PairFeatures {
  std::size_t first_in = 0;
  std::size_t second_in = 0;
  std::size_t first_out = 0;
  std::size_t second_out = 0;
};
// An operation as numbers.
struct Turning {
  HeadWindow window;
  std::vector<double> inv_freq;  // [pairs]
  double attention_factor = 1;   // of rotated features, vector_factor included
  double rest_factor = 1;        // of unrotated features
  double roundings = 1;
  std::vector<double> phases = {};         // [pairs]; empty: 0
  std::vector<std::int32_t> axis_of_pair;  // [pairs]; empty: one axis
  std::vector<PairFeatures> features;      // [pairs]
};

// True if the rule blends frequencies of fast and slow pairs (YaRN, Llama 3, NTK-by-parts).
[[nodiscard]] bool blends(const Scaling& rule);

// The operation as numbers, for a sequence of context_tokens if the frequencies depend on it.
// Error: that of make_frequencies(), if there is no such rotation.
[[nodiscard]] Result<Turning> turning_of(const Operation& operation,
                                         std::optional<std::int64_t> context_tokens);

[[nodiscard]] std::vector<PairFeatures> pair_features(const HeadWindow& window);

struct Prediction {
  const Operation& operation;
  const Turning& turning;
  FoundArithmetic arithmetic = FoundArithmetic::exact;
};

// Writes the result [tokens][heads][features] of the operation on sample.before to `predicted`. The
// result is not rounded to the sample's dtype; FoundArithmetic::every_step rounds the products.
void predict(const Prediction& prediction, const Sample& sample, std::vector<double>& predicted);

// The sum of squared differences between the prediction and sample.after. Stops once it exceeds
// `enough`.
[[nodiscard]] double squared_error(const Prediction& prediction, const Sample& sample,
                                   double enough);

// Undoes the rotation of sample.before.
void undo(const Turning& turning, Sample& sample);

// The expected relative error of the result for angles in float32, at most 0.02: the angles' root
// mean square times 2^-24, or 2^-23.5 if a factor rounds frequencies once more.
[[nodiscard]] double angle_noise(const Operation& operation, const Turning& turning,
                                 const Sample& sample);

}  // namespace rotary::identification
