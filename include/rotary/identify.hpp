// SPDX-License-Identifier: Apache-2.0
// identify: compares queries or keys before and after a rotary embedding. Finds whether they were
// rotated as the config says, or which mistake explains the difference.
//
//   const auto found = *identify(q, out, {.model = *resolve(config_json)});
//   if (found.verdict == Verdict::another_cause)
//     use(found.explanations.front().causes);  // mistakes, with their values
#ifndef ROTARY_IDENTIFY_HPP
#define ROTARY_IDENTIFY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/export.h"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The part of an operation that a mistake changes.
enum class CauseGroup : std::int32_t {
  structure = 1,         // which features turn, and which form a pair
  attention_factor = 2,  // A, which multiplies cos and sin
  direction = 3,         // the sign of angles, or cos and sin swapped
  frequencies = 4,       // base, exponents, scaling rule
  positions = 5,         // shifted, stretched, or of another token
  axes = 6,              // the coordinate that a pair turns by
  precision = 7,         // too few bits for positions, frequencies or angles
};

// Every enumerator, in order.
inline constexpr std::array all_cause_groups = {CauseGroup::structure, CauseGroup::attention_factor,
                                                CauseGroup::direction, CauseGroup::frequencies,
                                                CauseGroup::positions, CauseGroup::axes,
                                                CauseGroup::precision};

// "structure", "attention_factor", "direction", "frequencies", "positions", "axes", "precision".
[[nodiscard]] ROTARY_API std::string_view to_string(CauseGroup group) noexcept;

// A kind of mistake that identify() looks for. The texts live as long as the program.
struct Hypothesis {
  std::string_view name;  // "pairing"; unique
  CauseGroup group = CauseGroup::structure;
  std::string_view sentence;  // for people: what differs
  std::string_view advice;    // what to look at next
};

// All hypotheses. If several explain the numbers equally well, the earlier one is named first. All
// rules of engines (rules_of()) are one hypothesis, "engine_rule".
[[nodiscard]] ROTARY_API std::span<const Hypothesis> identify_hypotheses() noexcept;

// A mistake with its values.
struct Cause {
  const Hypothesis* hypothesis = nullptr;  // of identify_hypotheses()
  // `one` is the configured value of a field, `other` the found one.
  std::vector<FieldDifference> fields = {};
  std::string_view rule = {};      // name of the rule, for engine_rule only
  std::string_view sentence = {};  // of the hypothesis or the rule
};

// The arithmetic that reproduces the numbers best. None of these is a mistake.
enum class FoundArithmetic : std::int32_t {
  exact = 1,           // exact angles, one rounding of the result
  float32_angles = 2,  // position * frequency in float32
  rounded_rows = 3,    // float32_angles, with cos and sin rounded to the dtype
  every_step = 4,      // rounded_rows, and rounded products and sums: Llama in Transformers
};

// "exact", "float32_angles", "rounded_rows", "every_step".
[[nodiscard]] ROTARY_API std::string_view to_string(FoundArithmetic arithmetic) noexcept;

// A rotation, and how well it explains the numbers.
struct Explanation {
  std::vector<Cause> causes = {};  // at most two, and one of positions; empty: as configured
  double residual = 0;             // |predicted - seen| / |seen| over the sample
  double bit_equal = 0;            // share of features with equal bits
  FoundArithmetic arithmetic = FoundArithmetic::exact;
  // Only for tied explanations after the first: about the smallest position below 2^20 at which one
  // more token would separate this explanation from the first, by three times the rounding noise.
  // Absent beyond separated_explanations, and if one of the two has a mistake of positions.
  std::optional<std::int64_t> separating_position = {};
  // With several axes, if equal coordinates never separate: about the least p for which
  // coordinates (p, p + 3, p + 7, …) do.
  std::optional<std::int64_t> separating_grid = {};
  std::optional<RotarySpec> spec = {};  // as far as a spec can express it
};
inline constexpr std::size_t separated_explanations = 24;

// The conclusion of identify().
enum class Verdict : std::int32_t {
  as_configured = 1,  // the config explains the numbers
  another_cause = 2,  // only something else explains them
  described = 3,      // explained; no config was given
  unexplained = 4,    // no hypothesis or pair of hypotheses explains them
};

// "as_configured", "another_cause", "described", "unexplained".
[[nodiscard]] ROTARY_API std::string_view to_string(Verdict verdict) noexcept;

// Findings from the lengths of pairs, which a rotation multiplies by A.
struct FoundStructure {
  HeadWindow window;
  double attention_factor = 1;
  double deviation = 0;  // relative difference between lengths after and A * lengths before
  bool rotated = true;   // false: no feature changed
};

// The position of each token, solved from the angles of its pairs.
struct ReadPositions {
  std::int64_t axes = 1;  // 1, or the number of axes of the spec
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::vector<double> expected = {};  // [axes][batch][tokens]
  std::vector<double> found = {};  // [axes][batch][tokens]; NaN if no position explains the token
  std::vector<double> residuals = {};  // [batch][tokens], |predicted - seen| / |seen|
  double residual = 0;                 // over all tokens
  // [batch][tokens]: the nearest other position that explains the token equally well, on the first
  // axis that has one; NaN if none has.
  std::vector<double> aliases = {};
  std::int64_t unread = 0;  // tokens that no position explains
};

// The answer of identify().
struct Identification {
  Verdict verdict = Verdict::unexplained;
  // The best first. The first `tied` explain the numbers equally well, in order of their number of
  // causes. The others do not explain the numbers, but came closest.
  std::vector<Explanation> explanations;
  std::size_t tied = 0;
  std::optional<FoundStructure> structure;  // absent for rows and frequencies
  // Measured radians per position of each pair; empty if no two tokens are one position apart.
  std::vector<double> turns_per_token;
  std::optional<std::int64_t> first_position;  // found, if no positions were given
  // The positions read from the numbers, if they differ from the explanation's or some are missing.
  std::optional<ReadPositions> positions;
  std::int64_t checked_tokens = 0;  // tokens compared one by one, with all heads
  // The narrowest of bf16, f16 and f32 that holds all numbers of `after`.
  DType dtype = DType::f32;
  double tolerance = 0;     // the largest residual that the arithmetic of the dtype explains
  std::int64_t tokens = 0;  // of the sample
  std::int64_t heads = 0;
  std::size_t hypotheses = 0;  // number of mistakes tried; each value of a mistake counts
  std::size_t pairs = 0;       // number of pairs of mistakes tried
};

// The meaning of `before`.
enum class BeforeState : std::int32_t {
  unrotated = 1,
  // Cached keys, rotated as the model says. identify() first undoes this rotation.
  rotated_as_configured = 2,
};

// Options of identify().
struct IdentifyOptions {
  // The expected rotation; the model's other embeddings become hypotheses. Absent: none expected.
  std::optional<ModelSpec> model = {};
  std::size_t rotary = 0;  // index into model->rotary; 0 without a model
  // Absent: consecutive tokens from an unknown position below 2^20.
  std::optional<Positions> positions = {};
  // For rules that depend on the context. Absent: the last position + 1.
  std::optional<std::int64_t> context_tokens = {};
  BeforeState before = BeforeState::unrotated;
  std::int64_t most_causes = 2;  // 1 or 2 mistakes at once
};

// before and after hold the same tokens and heads, in one dtype. The search uses up to 48 tokens
// and 4 heads; then all heads of the first 2^20 tokens are compared with the best explanation.
// Errors: invalid_argument for views, positions or options, for an element that is not finite or
// exceeds float32, and if all elements are 0; unsupported for xPos and for dense axes.
[[nodiscard]] ROTARY_API Result<Identification> identify(
    const ConstHeadsView& before, const ConstHeadsView& after,
    const IdentifyOptions& options = {}) noexcept;

// identify() for rows of cos and sin (times A), which do not show the pairing.
// rows.attention_factor is not used.
[[nodiscard]] ROTARY_API Result<Identification> identify_rows(
    const CosSinView& rows, std::int64_t pairs, const IdentifyOptions& options = {}) noexcept;

// identify() for frequencies, [pairs], radians per position, which show neither pairing nor
// positions. attention_factor: the program's factor on cos and sin.
[[nodiscard]] ROTARY_API Result<Identification> identify_frequencies(
    std::span<const double> inv_freq, double attention_factor = 1,
    const IdentifyOptions& options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_IDENTIFY_HPP
