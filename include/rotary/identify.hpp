// SPDX-License-Identifier: Apache-2.0
// identify: from queries or keys before and after a rotary embedding, what was done to them: as the
// config says, or which mistake explains it.
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

// The part of a rotation that a mistake changes.
enum class CauseGroup : std::int32_t {
  structure = 1,         // which features turn together, and which turn at all
  attention_factor = 2,  // A, which multiplies cos and sin
  direction = 3,         // the sign of angles, and cos and sin in each other's place
  frequencies = 4,       // base, exponents, scaling rule
  positions = 5,         // shifted, stretched, or of something else than the token
  axes = 6,              // the coordinate that a pair turns by
  precision = 7,         // numbers too short for what they hold
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
  std::string_view sentence;  // for people: what is otherwise
  std::string_view advice;    // what to look at next
};

// All of them, in the order in which equal ones are named. The rules of engines (rules_of()) stand
// for one, "engine_rule".
[[nodiscard]] ROTARY_API std::span<const Hypothesis> identify_hypotheses() noexcept;

// A mistake with its values.
struct Cause {
  const Hypothesis* hypothesis = nullptr;  // of identify_hypotheses()
  // Fields that differ: one is what was configured, other what was found.
  std::vector<FieldDifference> fields = {};
  std::string_view rule = {};      // of an engine_rule: its name; otherwise empty
  std::string_view sentence = {};  // the hypothesis' or the rule's
};

// Arithmetic that gives the numbers that were seen; none of them is a mistake.
enum class FoundArithmetic : std::int32_t {
  exact = 1,           // exact angles, one rounding of the result
  float32_angles = 2,  // position * frequency in float32
  rounded_rows = 3,    // and cos and sin rounded to the dtype
  every_step = 4,      // and each product, and the sum: Llama in Transformers
};

// "exact", "float32_angles", "rounded_rows", "every_step".
[[nodiscard]] ROTARY_API std::string_view to_string(FoundArithmetic arithmetic) noexcept;

// A rotation beside the numbers that were seen.
struct Explanation {
  std::vector<Cause> causes = {};  // at most two; empty: as configured
  double residual = 0;             // |predicted - seen| / |seen|, over the sample
  double bit_equal = 0;            // the share of features with the very bits
  FoundArithmetic arithmetic = FoundArithmetic::exact;
  // The smallest position at which one more token would tell this from the first explanation: their
  // vectors are then apart by three times what rounding makes of them. Absent for the first one,
  // for those beyond the first separated_explanations, and where no position below 2^20 does.
  std::optional<std::int64_t> separating_position = {};
  // The same with coordinates (p, p + 3, p + 7, …) in place of p on every axis, where a text tells
  // nothing.
  std::optional<std::int64_t> separating_grid = {};
  std::optional<RotarySpec> spec = {};  // as far as a spec can say it
};
inline constexpr std::size_t separated_explanations = 24;

// The conclusion of identify.
enum class Verdict : std::int32_t {
  as_configured = 1,  // the config explains what was seen
  another_cause = 2,  // something else explains it, and the config does not
  described = 3,      // explained; there was no config to compare with
  unexplained = 4,    // no hypothesis, and no pair of them, explains it
};

// "as_configured", "another_cause", "described", "unexplained".
[[nodiscard]] ROTARY_API std::string_view to_string(Verdict verdict) noexcept;

// The findings of norms alone: a rotation keeps the length of each pair, times A. Needs no
// frequency and no position.
struct FoundStructure {
  HeadWindow window;
  double attention_factor = 1;
  double deviation = 0;  // of lengths from A times the lengths before, relative
  bool rotated = true;   // false: the features after are those before
};

// Where each token stands, solved from the angles of its pairs.
struct ReadPositions {
  std::int64_t axes = 1;  // 1, or those of the spec
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::vector<double> expected = {};   // [axes][batch][tokens]
  std::vector<double> found = {};      // the same; NaN for a token that no position explains
  std::vector<double> residuals = {};  // [batch][tokens], |predicted - seen| / |seen| there
  double residual = 0;                 // the same over all of them
  // [batch][tokens]: the nearest other position that explains a token as well, on the first axis
  // that has one; otherwise NaN.
  std::vector<double> aliases = {};
  std::int64_t unread = 0;  // tokens that no position explains
};

// The answer of identify.
struct Identification {
  Verdict verdict = Verdict::unexplained;
  // The best first. The first `tied` explain what was seen, and these numbers cannot tell them
  // apart; fewer causes come first. Those behind do not explain it: what came closest.
  std::vector<Explanation> explanations;
  std::size_t tied = 0;
  std::optional<FoundStructure> structure;  // absent for rows and frequencies, which have none
  // Radians that each pair of the structure turns from one token to the next, measured; empty where
  // no two tokens have positions that differ by 1.
  std::vector<double> turns_per_token;
  std::optional<std::int64_t> first_position;  // found, where none were given
  // Where tokens stand, if any stands elsewhere than its explanation says, or nowhere.
  std::optional<ReadPositions> positions;
  std::int64_t checked_tokens = 0;  // that were compared one by one, all heads of each
  // In which the numbers were computed: the narrowest of bf16, f16 and f32 that holds all of
  // `after`, in whatever dtype they are stored.
  DType dtype = DType::f32;
  double tolerance = 0;     // the largest residual that the arithmetic of the dtype explains
  std::int64_t tokens = 0;  // of the sample that was looked at
  std::int64_t heads = 0;
  std::size_t hypotheses = 0;  // single mistakes, with their values, that were tried
  std::size_t pairs = 0;       // and pairs of these
};

// The meaning of `before`.
enum class BeforeState : std::int32_t {
  unrotated = 1,
  // Keys of a cache that another program, known to be right, rotated as the model says: identify()
  // undoes that first.
  rotated_as_configured = 2,
};

// Assumptions of identify, and how far it searches.
struct IdentifyOptions {
  // The rotation that should be. Absent: it is described. The other embeddings of the model are
  // hypotheses: those of other layers.
  std::optional<ModelSpec> model = {};
  std::size_t rotary = 0;  // index into model->rotary; 0 without a model
  // Absent: consecutive tokens from a position below 2^20 that is to be found.
  std::optional<Positions> positions = {};
  // For rules that depend on it. Absent: the last position + 1.
  std::optional<std::int64_t> context_tokens = {};
  BeforeState before = BeforeState::unrotated;
  std::int64_t most_causes = 2;  // 1 or 2 mistakes at once
};

// Queries or keys of the same tokens, heads and dtype. Every element must be finite and in the
// range of float32. Mistakes are searched in up to 48 tokens and 4 heads. What is found is compared
// with all heads of the first 2^20 tokens, and where these stand is solved. Errors:
// invalid_argument for views, positions or options; for an element that is NaN, infinite or larger,
// which is named; for zeros alone; unsupported for xPos and for dense axes.
[[nodiscard]] ROTARY_API Result<Identification> identify(
    const ConstHeadsView& before, const ConstHeadsView& after,
    const IdentifyOptions& options = {}) noexcept;

// The same of rows of cos and sin, times A, that a program made, with a number for each pair:
// pairings are not in them. rows.attention_factor is not used.
[[nodiscard]] ROTARY_API Result<Identification> identify_rows(
    const CosSinView& rows, std::int64_t pairs, const IdentifyOptions& options = {}) noexcept;

// The same of frequencies [pairs], radians per position; neither pairings nor positions are in
// them. attention_factor: what the program multiplies cos and sin by.
[[nodiscard]] ROTARY_API Result<Identification> identify_frequencies(
    std::span<const double> inv_freq, double attention_factor = 1,
    const IdentifyOptions& options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_IDENTIFY_HPP
