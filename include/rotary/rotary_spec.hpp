// SPDX-License-Identifier: Apache-2.0
// RotarySpec: the parameters of one rotary embedding, as on a model card.
//
//   const RotarySpec spec{.head_dim = 128, .base = 500000.0, .pairing = Pairing::half};
#ifndef ROTARY_ROTARY_SPEC_HPP
#define ROTARY_ROTARY_SPEC_HPP

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rotary/axes.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// The arithmetic of cos, sin and products. exact is the contract of this library. The
// others reproduce the arithmetic of training or serving code, except for the last bits of pow and
// cos: docs/theory/numerics.md.
enum class Numerics : std::int32_t {
  exact = 1,         // exact angle, cos and sin rounded once: docs/numeric-contract.md
  transformers = 2,  // float32 frequency, position and angle; then Rounding
  ggml = 3,          // llama.cpp: float32 angles, each base^(-2/d) times that of the pair before
  vllm = 4,          // vLLM's kernels: transformers with Rounding::table
};

// Every enumerator, in order.
inline constexpr std::array all_numerics = {Numerics::exact, Numerics::transformers, Numerics::ggml,
                                            Numerics::vllm};

// The results, after the float32 angle, that a class of Hugging Face Transformers rounds to the
// dtype of q and k.
enum class Rounding : std::int32_t {
  every_step = 1,    // cos and sin, both products and their sum: Llama and most others
  table = 2,         // cos, sin and the result: Cohere
  result = 3,        // the result only: OLMo 2, Ernie 4.5, DeepSeek-V2, Llama 4
  double_angle = 4,  // every_step, but angle, cos and sin are double: RoFormer
};

// Every enumerator, in order.
inline constexpr std::array all_roundings = {Rounding::every_step, Rounding::table,
                                             Rounding::result, Rounding::double_angle};

// "exact", "transformers", "ggml", "vllm".
[[nodiscard]] ROTARY_API std::string_view to_string(Numerics numerics) noexcept;

// "every_step", "table", "result", "double_angle".
[[nodiscard]] ROTARY_API std::string_view to_string(Rounding rounding) noexcept;

// The two features of a head that turn together as pair i, with d = rotary_dim. There is no
// default, because a wrong pairing keeps all shapes and norms but breaks the model.
enum class Pairing : std::int32_t {
  half = 1,         // (i, i + d/2): rotate_half, "NeoX style"; Llama, Qwen in Transformers
  interleaved = 2,  // (2i, 2i + 1): rotate_every_two, "GPT-J style"; RoFormer, GPT-J
  // Reads (2i, 2i + 1), writes (i, i + d/2): apply_rotary_pos_emb_interleave of DeepSeek-V3 and its
  // successors in Transformers. Scores are those of interleaved; cached keys differ.
  interleaved_to_half = 3,
};

// Every enumerator, in order.
inline constexpr std::array all_pairings = {Pairing::half, Pairing::interleaved,
                                            Pairing::interleaved_to_half};

// "half", "interleaved", "interleaved_to_half".
[[nodiscard]] ROTARY_API std::string_view to_string(Pairing pairing) noexcept;

// True if a forward rotation reads pair i at features i and i + d/2; false: at 2i and 2i + 1.
[[nodiscard]] constexpr bool reads_halves(Pairing pairing) noexcept {
  return pairing == Pairing::half;
}

// True if a forward rotation writes pair i to features i and i + d/2; false: to 2i and 2i + 1.
[[nodiscard]] constexpr bool writes_halves(Pairing pairing) noexcept {
  return pairing != Pairing::interleaved;
}

// False if a rotation also moves the pairs.
[[nodiscard]] constexpr bool keeps_order(Pairing pairing) noexcept {
  return reads_halves(pairing) == writes_halves(pairing);
}

// The sign of the angle at a positive position. negative (NanoChat) makes every inv_freq negative.
enum class Sense : std::int32_t { positive = 1, negative = 2 };

// "positive", "negative".
[[nodiscard]] ROTARY_API std::string_view to_string(Sense sense) noexcept;

// xPos (Sun et al. 2022, arXiv 2212.10554): ζ_i^((position - center) / scale_base) also multiplies
// pair i of a query and divides pair i of a key, where ζ_i = (2i/d + 0.4) / 1.4. Scores then
// fade with distance. Query and key need the same center and separate rows (Role).
struct Xpos {
  double scale_base = 512;  // tokens; finite, > 0
  double center = 0;        // a position; finite

  friend bool operator==(const Xpos&, const Xpos&) = default;
};

// One rotary embedding.
struct RotarySpec {
  std::int64_t head_dim = 0;  // features of a head, >= 2
  // Number of features that turn: even, >= 2. Absent: head_dim - first_feature.
  std::optional<std::int64_t> rotary_dim = {};
  std::int64_t first_feature = 0;  // features outside the window do not change
  Required<double> base;           // rope_theta: finite, > 1
  Required<Pairing> pairing;
  Scaling scaling = NoScaling{};
  Sense sense = Sense::positive;
  std::optional<Xpos> xpos = {};
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;  // used by Numerics::transformers
  std::optional<Axes> axes = {};             // absent: a position has one coordinate
  std::int64_t blocks = 1;                   // as in HeadWindow
};

// The features of a head that a rotation changes: [first_feature, first_feature + rotary_dim).
// Frequencies and rotations have the window of their spec.
struct HeadWindow {
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t first_feature = 0;
  Required<Pairing> pairing;
  // Number of equal parts of the window, each with pairing half: (i, i + d/(2 blocks)). 2 for the
  // vision tower of Gemma 4. Divides rotary_dim / 2; other pairings need 1.
  std::int64_t blocks = 1;

  [[nodiscard]] std::int64_t pairs() const noexcept { return rotary_dim / 2; }
  friend bool operator==(const HeadWindow&, const HeadWindow&) = default;
};

// The spec's window. Error: invalid_argument, with the requirement that the spec breaks.
[[nodiscard]] ROTARY_API Result<HeadWindow> head_window(const RotarySpec& spec) noexcept;

}  // namespace rotary

#endif  // ROTARY_ROTARY_SPEC_HPP
