// SPDX-License-Identifier: Apache-2.0
// compare_models: how the positions of two models differ, field by field and as numbers.
//
//   const ModelDifference difference = *compare_models(one, other, {.context_tokens = 131072});
//   difference.rotary.front().rows.first_position;  // where they first differ
#ifndef ROTARY_MODEL_DIFFERENCE_HPP
#define ROTARY_MODEL_DIFFERENCE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/dialect.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// Rows differ if two numbers differ by more than this: one bf16 ulp just below 1.
inline constexpr double row_tolerance = 0x1p-8;

// How a field affects positions.
enum class FieldEffect : std::int32_t {
  rows = 1,     // through the rotations, which are compared as numbers
  model = 2,    // directly: encodings of layers, terms and factors of scores
  nothing = 3,  // not at all: a name, the arithmetic
};

// "rows", "model", "nothing".
[[nodiscard]] ROTARY_API std::string_view to_string(FieldEffect effect) noexcept;

// A field with two different values, as text; "none" for an absent value.
struct FieldDifference {
  std::string field;  // as ValueSource::value, or the name of a parameter of the scaling rule
  std::string one;
  std::string other;
  FieldEffect effect = FieldEffect::rows;
};

// Two rotations of the same head, compared in exact arithmetic at the positions of a context. A row
// has A cos and A sin of each pair at one position, where A is the attention factor, and the two
// features that it reads (those that it writes change no score). All axes share the position.
struct RowsDifference {
  // The first position whose rows differ by more than row_tolerance; absent: none in the context.
  std::optional<std::int64_t> first_position = {};
  double at_first = 0;  // largest difference of two numbers at first_position
  // The pairs that differ somewhere in the context; empty if !same_features.
  std::vector<std::int64_t> pairs = {};
  // True if, for every i, pair i reads the same two features in both rotations.
  bool same_features = true;
  // The largest difference of two angles, in radians, at most π. Only if same_features.
  double largest_angle_error = 0;
  std::int64_t largest_angle_pair = 0;
  // The largest change of a score q·k for q and k of length 1, over all distances of the context:
  // max over pairs of |A² e^(iφ) - A'² e^(iφ')|. Absent if !same_features.
  std::optional<double> largest_score_change = 0;
  // The least correlation of scores of random q and k. At one distance it is the mean over features
  // of cos(φ - φ'). Distances are 1, 2, 4, … and context - 1.
  double least_correlation = 1;
  std::int64_t least_correlation_distance = 0;
};

// The rotary embeddings that two models use in the same layers.
struct RotaryDifference {
  std::size_t one = 0;  // indices into ModelSpec::rotary
  std::size_t other = 0;
  std::vector<std::int64_t> layers = {};  // empty if the number of layers is unknown
  std::vector<FieldDifference> fields = {};
  RowsDifference rows = {};  // for one sequence that grows token by token
  // Rows of a short call after a call of context_tokens, if LengthPolicy makes them differ.
  std::optional<RowsDifference> after_longer_call = {};
  // Why rows were not compared; absent: they were.
  std::optional<std::string> not_comparable = {};

  // True if rows differ or were not compared, or if a field with FieldEffect::model differs.
  [[nodiscard]] ROTARY_API bool differs() const noexcept;
};

// All differences between the positions of two models.
struct ModelDifference {
  std::int64_t context_tokens = 0;
  std::vector<FieldDifference> fields;   // except those of rotary embeddings
  std::vector<RotaryDifference> rotary;  // one for each combination that some layer uses

  // False: rows agree up to row_tolerance, and all else that affects positions is equal.
  [[nodiscard]] ROTARY_API bool differs() const noexcept;
};

// The context of a comparison, and the lengths that each engine passes to rules.
struct ComparisonOptions {
  // Absent: the longer trained context; 4096 if neither is known.
  std::optional<std::int64_t> context_tokens = {};  // 1 to 2^31
  LengthPolicy one = LengthPolicy::each_call;
  LengthPolicy other = LengthPolicy::each_call;
};

// Compares two models. If a converter permuted the projections of only one (a GGUF file), that one
// is compared with the pairing of its checkpoint. Errors: invalid_argument for options, and as
// make_frequencies() for specs.
[[nodiscard]] ROTARY_API Result<ModelDifference> compare_models(
    const ModelSpec& one, const ModelSpec& other, const ComparisonOptions& options = {}) noexcept;

// Whether two engines compute the same result.
enum class Agreement : std::int32_t {
  same = 1,  // nothing differs, and both have Evidence::run or read
  // Something differs, an engine does not run the model, or resolve() warns about one of the two.
  different = 2,
  unknown = 3,  // no difference is known, but evidence is missing
};

// "same", "different", "unknown".
[[nodiscard]] ROTARY_API std::string_view to_string(Agreement agreement) noexcept;

// A comparison of two engines.
struct ReadingsDifference {
  std::optional<ModelDifference> difference;  // absent: an engine does not run the model
  Agreement agreement = Agreement::unknown;
};

// Compares two readings (read_as()) of one config, with their own length policies instead of those
// of options. Errors: as compare_models().
[[nodiscard]] ROTARY_API Result<ReadingsDifference> compare_readings(
    const DialectReading& one, const DialectReading& other,
    const ComparisonOptions& options = {}) noexcept;

// Compares only rows. context_tokens: 1 to 2^31. Errors: invalid_argument if the heads differ in
// size, and for frequencies or factors that make_frequencies() would refuse.
[[nodiscard]] ROTARY_API Result<RowsDifference> compare_rows(const Frequencies& one,
                                                             const Frequencies& other,
                                                             std::int64_t context_tokens) noexcept;

}  // namespace rotary

#endif  // ROTARY_MODEL_DIFFERENCE_HPP
