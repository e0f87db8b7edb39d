// SPDX-License-Identifier: Apache-2.0
// compare_models: where the positions of two models part, field by field and as numbers.
//
//   const ModelDifference difference = *compare_models(one, other, {.context_tokens = 131072});
//   difference.rotary.front().rows.first_position;  // where they part
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

// Two rows differ where two of their numbers are farther apart: the last place of bf16 below 1.
inline constexpr double row_tolerance = 0x1p-8;

// Whether positions depend on a field.
enum class FieldEffect : std::int32_t {
  rows = 1,     // only through the rows of a rotary embedding, which are compared as numbers
  model = 2,    // in itself: how a layer uses positions, what is added to or multiplies scores
  nothing = 3,  // not at all, or below the comparison: a model's name, its arithmetic
};

// "rows", "model", "nothing".
[[nodiscard]] ROTARY_API std::string_view to_string(FieldEffect effect) noexcept;

// A field with two values; as text, "none" where there is none.
struct FieldDifference {
  std::string field;  // as ValueSource::value, or the name of a parameter of the scaling rule
  std::string one;
  std::string other;
  FieldEffect effect = FieldEffect::rows;
};

// Two rotations of the same head, in exact arithmetic, at the positions of a context. The row of a
// position is its rotation as a matrix: cos and sin, times A, of each pair, at the features that
// the pair reads; text has one position, which all axes share. Features that q and k are both
// written to change no score, and are not compared.
struct RowsDifference {
  // The first at which rows differ by more than row_tolerance; absent: none in the context.
  std::optional<std::int64_t> first_position = {};
  double at_first = 0;  // how far the two numbers that are farthest apart there are
  // The pairs whose rows differ somewhere in the context; empty, too, where !same_features.
  std::vector<std::int64_t> pairs = {};
  // Whether pair i of both turns the same two features.
  bool same_features = true;
  // |angle - angle of the other|, in radians, where it is largest, and π from half a turn on: a
  // pair can then be no more wrong. Only of the same features.
  double largest_angle_error = 0;
  std::int64_t largest_angle_pair = 0;
  // The largest change of a score q·k, over vectors q and k of length 1 and the distances of the
  // context: max over pairs of |A² e^(iφ) - A'² e^(iφ')|, each difference of angles φ - φ' as
  // above. Absent where !same_features.
  std::optional<double> largest_score_change = 0;
  // The correlation of the scores of random q and k: the mean over features of cos(φ - φ'), at the
  // distance 1, 2, 4, … or context - 1 where it is least. 1: alike.
  double least_correlation = 1;
  std::int64_t least_correlation_distance = 0;
};

// One rotary embedding of each model, and the layers that use these two.
struct RotaryDifference {
  std::size_t one = 0;  // indices into ModelSpec::rotary
  std::size_t other = 0;
  std::vector<std::int64_t> layers = {};  // empty where a config does not say how many there are
  std::vector<FieldDifference> fields = {};
  RowsDifference rows = {};  // one sequence that grows token by token
  // The rows of a call of the trained context, after one of the whole context: where the two
  // engines remember lengths differently.
  std::optional<RowsDifference> after_longer_call = {};
  // Absent: the rows were compared. Otherwise why they cannot be.
  std::optional<std::string> not_comparable = {};

  // Whether rows, or fields that no rows show, differ.
  [[nodiscard]] ROTARY_API bool differs() const noexcept;
};

// All that differs between the positions of two models.
struct ModelDifference {
  std::int64_t context_tokens = 0;
  std::vector<FieldDifference> fields;   // of the models, apart from their rotary embeddings
  std::vector<RotaryDifference> rotary;  // each pair of embeddings that some layer has

  // False: every row of the context agrees up to row_tolerance, and all else is equal.
  [[nodiscard]] ROTARY_API bool differs() const noexcept;
};

// The context of a comparison, and how engines remember lengths.
struct ComparisonOptions {
  // Absent: the longer one of the trained contexts; 4096 where neither is known.
  std::optional<std::int64_t> context_tokens = {};  // 1 to 2^31
  LengthPolicy one = LengthPolicy::each_call;
  LengthPolicy other = LengthPolicy::each_call;
};

// A GGUF file whose rows of q and k its converter permuted is compared by the pairing of its
// checkpoint, unless the other one is such a file, too.
// Errors: invalid_argument for options, and as make_frequencies() for specs.
[[nodiscard]] ROTARY_API Result<ModelDifference> compare_models(
    const ModelSpec& one, const ModelSpec& other, const ComparisonOptions& options = {}) noexcept;

// The answer that a comparison of two engines allows.
enum class Agreement : std::int32_t {
  same = 1,       // nothing differs, and both readings are known: Evidence::run or read
  different = 2,  // something differs, an engine does not run the model, or resolve() warns that
                  // one of the two computes something else
  unknown = 3,    // no difference is known, and nobody looked at such a config in an engine
};

// "same", "different", "unknown".
[[nodiscard]] ROTARY_API std::string_view to_string(Agreement agreement) noexcept;

// A comparison of two engines and the answer that it allows.
struct ReadingsDifference {
  std::optional<ModelDifference> difference;  // absent: an engine does not run the model
  Agreement agreement = Agreement::unknown;
};

// One config as two engines read it: read_as(). Lengths are those of the readings, whatever the
// options say. Errors: as compare_models().
[[nodiscard]] ROTARY_API Result<ReadingsDifference> compare_readings(
    const DialectReading& one, const DialectReading& other,
    const ComparisonOptions& options = {}) noexcept;

// Rows alone. context_tokens, 1 to 2^31. Errors: invalid_argument, also where the heads differ in
// size, and for frequencies or factors that make_frequencies() would not make, NaN among them.
[[nodiscard]] ROTARY_API Result<RowsDifference> compare_rows(const Frequencies& one,
                                                             const Frequencies& other,
                                                             std::int64_t context_tokens) noexcept;

}  // namespace rotary

#endif  // ROTARY_MODEL_DIFFERENCE_HPP
