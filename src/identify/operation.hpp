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

// The exponent e of the unscaled frequency base^-e of pair i, where d features turn.
enum class Exponents {
  of_spec,       // 2i / d
  half_rate,     // i / d
  from_1,        // 2 (i + 1) / d
  from_minus_1,  // 2 (i - 1) / d
  head_dim,      // 2i / head_dim
  hidden_size,   // 2i / divisor
};

// The number that replaces x where a scaling rule blends frequencies: slow + x * (fast - slow).
enum class Blend {
  right,
  reversed,          // 1 - x for x
  reversed_between,  // but where x is 0 or 1
};

// The number by which angles grow: the token's position, the head's number, or the position of the
// first token for all.
enum class Counted { token, head, first_token };

struct Operation {
  RotarySpec spec;
  bool rotates = true;
  bool cos_sin_swapped = false;
  bool reversed_frequencies = false;
  Exponents exponents = Exponents::of_spec;
  double divisor = 0;
  Blend blend = Blend::right;
  // Each feature takes its frequency as in the other layout: the one numbered index / 2 if pairs
  // are half a head apart, the one numbered index modulo d/2 if pairs are neighbours.
  bool other_table = false;
  std::optional<double> attention_factor = {};  // in place of the spec's own
  double attention_power = 1;                   // A applied so often
  double vector_factor = 1;                     // of all features, those that do not turn, too
  double position_factor = 1;                   // p' = factor * p + offset
  double position_offset = 0;
  Counted counted = Counted::token;
  std::vector<std::size_t> coordinate_of_axis = {};  // empty: axis i takes coordinate i
  // Positions [axes][tokens] to use in place of the sample's own; null: the sample's.
  std::shared_ptr<const std::vector<double>> positions = {};
  std::optional<DType> positions_rounded = {};
  std::optional<DType> frequencies_rounded = {};
  std::optional<DType> angles_rounded = {};
  std::shared_ptr<const std::vector<double>> phases = {};  // [pairs], added to each angle
  double roundings = 1;                                    // of each number to its dtype
};

// The indices of a pair's two features: where a rotation reads them (in) and where it writes them
// (out).
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

// Whether the scaling rule blends the frequencies of fast pairs with those of slow ones (YaRN,
// Llama 3, NTK-by-parts).
[[nodiscard]] bool blends(const Scaling& rule);

// The operation as numbers, for a sequence of context_tokens (if the frequencies depend on it).
// Error: the one of make_frequencies(), where no such operation exists.
[[nodiscard]] Result<Turning> turning_of(const Operation& operation,
                                         std::optional<std::int64_t> context_tokens);

[[nodiscard]] std::vector<PairFeatures> pair_features(const HeadWindow& window);

struct Prediction {
  const Operation& operation;
  const Turning& turning;
  FoundArithmetic arithmetic = FoundArithmetic::exact;
};

// Writes the result [tokens][heads][features] of the operation on sample.before to `predicted`.
// Only FoundArithmetic::every_step rounds it to the sample's dtype; otherwise the caller has to.
void predict(const Prediction& prediction, const Sample& sample, std::vector<double>& predicted);

// The sum of the squared differences between the prediction and sample.after. Stops adding once the
// sum exceeds `enough`.
[[nodiscard]] double squared_error(const Prediction& prediction, const Sample& sample,
                                   double enough);

// Replaces sample.before by its inverse rotation.
void undo(const Turning& turning, Sample& sample);

// The relative error of the result to expect if each angle is rounded to float32 once: the root
// mean square of the angles over tokens and pairs, times 2^-24.
[[nodiscard]] double angle_noise(const Operation& operation, const Turning& turning,
                                 const Sample& sample);

}  // namespace rotary::identification
