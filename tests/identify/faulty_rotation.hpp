// SPDX-License-Identifier: Apache-2.0
// Rotations with planted mistakes, which identify() must name. They are computed in long double
// from the reference's frequencies, without code of the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/identify.hpp"
#include "rotary/rotary_spec.hpp"
#include "support/random.hpp"

namespace rotary::test {

enum class Rate { right, half, from_1, from_minus_1, of_head_dim, of_4096, endpoint };
// Replaces the weight x of a rule's blend by 1 - x: for all x, or only for 0 < x < 1.
enum class Blended { right, reversed, between };

struct FaultyRotation {
  RotarySpec spec;
  bool off = false;
  bool swapped = false;
  bool reversed = false;
  bool other_table = false;  // cos and sin are laid out for the other pairing
  Rate rate = Rate::right;
  Blended blended = Blended::right;
  std::optional<long double> factor = {};  // A
  long double times_vector = 1;            // multiplies every feature
  int times_factor = 1;
  long double stretch = 1;
  long double offset = 0;
  std::vector<std::size_t> coordinates = {};
  std::optional<DType> short_positions = {};
  std::optional<DType> short_frequencies = {};
  std::optional<DType> short_angles = {};
  std::optional<DType> short_rows = {};
  bool float_angles = false;
};

[[nodiscard]] inline std::int64_t rotated_width(const RotarySpec& spec) {
  return spec.rotary_dim.value_or(spec.head_dim - spec.first_feature);
}

// [axes][tokens].
using Coordinates = std::vector<std::vector<std::int64_t>>;

// A head vector for each token.
struct Heads {
  DType dtype = DType::f32;
  std::int64_t features = 0;
  std::vector<double> values;  // [tokens][features], each a number of the dtype

  [[nodiscard]] std::int64_t tokens() const {
    return static_cast<std::int64_t>(values.size()) / features;
  }
};

// Numbers are normally distributed and rounded to the dtype.
[[nodiscard]] Heads random_heads(std::int64_t tokens, std::int64_t features, DType dtype,
                                 Random& random);

// [pairs].
[[nodiscard]] std::vector<long double> frequencies_of(const FaultyRotation& rotation);

[[nodiscard]] Heads rotated(const Heads& heads, const FaultyRotation& rotation,
                            const Coordinates& positions);

// A mistake, and the cause that identify() should name.
struct Planted {
  std::string_view hypothesis;  // the name of the cause; empty: nothing is wrong
  std::string field;            // a field of the cause; empty: any
  std::string found;            // the field's value; empty: any
  std::function<void(FaultyRotation&)> plant;
};

// The mistakes of docs/how-to/find-the-mistake.md that a spec can have, with one entry for each
// value of a mistake. The first entry plants nothing.
[[nodiscard]] std::vector<Planted> single_mistakes(const RotarySpec& spec);

// positions: [axes][rows * tokens].
[[nodiscard]] Identification identify_heads(const Heads& before, const Heads& after,
                                            const Coordinates& positions,
                                            const IdentifyOptions& options, std::int64_t rows = 1);

[[nodiscard]] ModelSpec model_with(const RotarySpec& spec);

// Random heads at `positions`, rotated by the spec with planted mistakes.
struct Trial {
  RotarySpec spec;
  std::vector<Planted> planted = {};
  Coordinates positions = {};
  DType dtype = DType::f32;
  std::int64_t most_causes = 2;
  bool unrelated = false;  // the rotated heads are other random heads
};

[[nodiscard]] Identification identified(const Trial& trial, Random& random);

// The embedding of Llama 3.1 8B.
[[nodiscard]] RotarySpec llama31();

enum class Outcome { named, tied, rejected, wrong };

// named: the planted mistakes are the only explanation. tied: they are one of several explanations
// that fit equally. rejected: there is no explanation.
[[nodiscard]] Outcome outcome_of(const Identification& found, const std::vector<Planted>& planted);

// The number in an environment variable; `otherwise` if it is not set.
[[nodiscard]] std::uint64_t given(const char* variable, std::uint64_t otherwise);

// The positions of eight tokens from `first` on.
[[nodiscard]] Coordinates run_from(std::int64_t first);

// The first explanations as text for messages.
[[nodiscard]] std::string shown(const Identification& found);

}  // namespace rotary::test
