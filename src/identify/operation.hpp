// SPDX-License-Identifier: Apache-2.0
// An operation: a RotarySpec, and the mistakes that no spec can say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "identify/sample.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::identification {

// The exponents of the unscaled frequencies base^-e, for pair i of d features.
enum class Exponents {
  of_spec,       // 2i / d
  half_rate,     // i / d
  from_1,        // 2 (i + 1) / d
  from_minus_1,  // 2 (i - 1) / d
  head_dim,      // 2i / head_dim
  hidden_size,   // 2i / divisor
};

// The part x of a rule that blends fast pairs' frequencies with slow ones'.
enum class Blend {
  right,
  reversed,          // 1 - x for x
  reversed_between,  // but where x is 0 or 1
};

// The number that angles are counted by.
enum class Counted { token, head, first_token };

struct Operation {
  RotarySpec spec;
  bool rotates = true;
  bool cos_sin_swapped = false;
  bool reversed_frequencies = false;
  Exponents exponents = Exponents::of_spec;
  double divisor = 0;
  Blend blend = Blend::right;
  // The frequency of each feature is that of its index / 2 for half a head apart, and of its index
  // modulo d/2 for neighbours.
  bool other_table = false;
  std::optional<double> attention_factor = {};  // in place of the spec's own
  double attention_power = 1;                   // A applied so often
  double vector_factor = 1;                     // of all features, those that do not turn, too
  double position_factor = 1;                   // p' = factor * p + offset
  double position_offset = 0;
  Counted counted = Counted::token;
  std::vector<std::size_t> coordinate_of_axis = {};  // empty: its own
  // [axes][tokens] of the sample, in place of its own.
  std::shared_ptr<const std::vector<double>> positions = {};
  std::optional<DType> positions_rounded = {};
  std::optional<DType> frequencies_rounded = {};
  std::optional<DType> angles_rounded = {};
  std::shared_ptr<const std::vector<double>> phases = {};  // [pairs], added to each angle
  double roundings = 1;                                    // of each number to its dtype
};

// The features of each pair, where a rotation reads and where it writes them.
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
  double attention_factor = 1;   // with the factor of all features
  double rest_factor = 1;        // of those that do not turn
  double roundings = 1;
  std::vector<double> phases = {};         // [pairs]; empty: 0
  std::vector<std::int32_t> axis_of_pair;  // [pairs]; empty: one axis
  std::vector<PairFeatures> features;      // [pairs]
};

// Whether the rule has a Blend.
[[nodiscard]] bool blends(const Scaling& rule);

// Error: that of make_frequencies(), of an operation that cannot be.
[[nodiscard]] Result<Turning> turning_of(const Operation& operation,
                                         std::optional<std::int64_t> context_tokens);

[[nodiscard]] std::vector<PairFeatures> pair_features(const HeadWindow& window);

// An operation, ready to be done to a sample.
struct Prediction {
  const Operation& operation;
  const Turning& turning;
  FoundArithmetic arithmetic = FoundArithmetic::exact;
};

// [tokens][heads][features], into `predicted`. What rounds the result to the dtype is left to the
// caller, but under every_step.
void predict(const Prediction& prediction, const Sample& sample, std::vector<double>& predicted);

// The squares of what is predicted less what was seen, summed as far as `enough`.
[[nodiscard]] double squared_error(const Prediction& prediction, const Sample& sample,
                                   double enough);

// Turns sample.before back.
void undo(const Turning& turning, Sample& sample);

// Relative error of the result that one rounding of each angle to float32 explains: that angle's
// root mean square over tokens and pairs, times 2^-24.
[[nodiscard]] double angle_noise(const Operation& operation, const Turning& turning,
                                 const Sample& sample);

}  // namespace rotary::identification
