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

// Numerics: the arithmetic of cos, sin and products. exact is the contract of this library. The
// others reproduce the arithmetic that a model was trained or is served with, up to the last bits
// of pow and cos: docs/theory/numerics.md.
//
//   spec.numerics = Numerics::transformers;
//   spec.rounding = Rounding::every_step;  // of this model's class

enum class Numerics : std::int32_t {
  exact = 1,         // exact angle, cos and sin rounded once: docs/numeric-contract.md
  transformers = 2,  // float32 frequency, position and angle; then as the class rounds (Rounding)
  ggml = 3,          // llama.cpp: float32 angles, each base^(-2/d) times the one before
  vllm = 4,          // vLLM's kernels: transformers, with Rounding::table for every class
};

// Every enumerator, in order.
inline constexpr std::array all_numerics = {Numerics::exact, Numerics::transformers, Numerics::ggml,
                                            Numerics::vllm};

// After which steps (from the float32 angle on) a class of Hugging Face Transformers rounds to the
// dtype of q and k.
enum class Rounding : std::int32_t {
  every_step = 1,    // cos and sin, both products and their sum: Llama and most others
  table = 2,         // cos and sin; products and sum in float32, rounded once: Cohere
  result = 3,        // only the float32 result: OLMo 2, Ernie 4.5, DeepSeek-V2, Llama 4
  double_angle = 4,  // as every_step, with angle, cos and sin in double: RoFormer
};

// Every enumerator, in order.
inline constexpr std::array all_roundings = {Rounding::every_step, Rounding::table,
                                             Rounding::result, Rounding::double_angle};

// "exact", "transformers", "ggml", "vllm".
[[nodiscard]] ROTARY_API std::string_view to_string(Numerics numerics) noexcept;

// "every_step", "table", "result", "double_angle".
[[nodiscard]] ROTARY_API std::string_view to_string(Rounding rounding) noexcept;

// The two features of a head that turn together as pair i, with d = rotary_dim. There is no
// default: a wrong pairing keeps all shapes and norms, and still breaks the model.
enum class Pairing : std::int32_t {
  half =
      1,  // (i, i + d/2): rotate_half, "NeoX style"; Llama, Mistral, Qwen, GPT-NeoX in Transformers
  interleaved =
      2,  // (2i, 2i + 1): rotate_every_two, "GPT-J style", complex numbers; RoFormer, GPT-J
  // Reads (2i, 2i + 1), writes (i, i + d/2): apply_rotary_pos_emb_interleave of DeepSeek-V3 and its
  // successors in Transformers. Gives the scores of interleaved, but other cached keys.
  interleaved_to_half = 3,
};

// Every enumerator, in order.
inline constexpr std::array all_pairings = {Pairing::half, Pairing::interleaved,
                                            Pairing::interleaved_to_half};

// "half", "interleaved", "interleaved_to_half".
[[nodiscard]] ROTARY_API std::string_view to_string(Pairing pairing) noexcept;

// Whether positive positions turn a pair (x, y) by +φ, or by -φ as in NanoChat (every inv_freq is
// then negative).
enum class Sense : std::int32_t { positive = 1, negative = 2 };

// "positive", "negative".
[[nodiscard]] ROTARY_API std::string_view to_string(Sense sense) noexcept;

// xPos (Sun et al. 2022, arXiv 2212.10554): with ζ_i = (2i/d + γ) / (1 + γ), γ = 0.4, pair i of a
// query is also multiplied, and pair i of a key divided, by ζ_i^((position - center) / scale_base).
// Scores fade with distance; they are right only if query and key have the same center. Query and
// key need separate rows (Role).
struct Xpos {
  double scale_base = 512;  // tokens; finite, > 0
  double center = 0;        // a position; finite

  friend bool operator==(const Xpos&, const Xpos&) = default;
};

// One rotary embedding.
struct RotarySpec {
  std::int64_t head_dim = 0;  // features of a head, >= 2
  std::optional<std::int64_t> rotary_dim =
      {};  // features that turn, even, >= 2; absent: head_dim - first_feature
  std::int64_t first_feature = 0;  // the first feature that turns; those outside pass unchanged
  Required<double> base;           // rope_theta: finite, > 1
  Required<Pairing> pairing;
  Scaling scaling = NoScaling{};
  Sense sense = Sense::positive;
  std::optional<Xpos> xpos = {};
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;  // of this model's class; used by
                                             // Numerics::transformers
  std::optional<Axes> axes = {};             // positions with several coordinates; absent: one
  std::int64_t blocks = 1;                   // HeadWindow::blocks
};

// The features of a head that a rotation changes: [first_feature, first_feature + rotary_dim).
// Specs pass their window on to frequencies and rotations.
struct HeadWindow {
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t first_feature = 0;
  Required<Pairing> pairing;
  // Number of equal parts of the window that pairing half is applied to: (i, i + d/(2 blocks)). 2
  // for the vision tower of Gemma 4. Divides rotary_dim / 2; 1 for other pairings.
  std::int64_t blocks = 1;

  [[nodiscard]] std::int64_t pairs() const noexcept { return rotary_dim / 2; }
  friend bool operator==(const HeadWindow&, const HeadWindow&) = default;
};

// The spec's window. Error: invalid_argument, with the requirement that the spec breaks.
[[nodiscard]] ROTARY_API Result<HeadWindow> head_window(const RotarySpec& spec) noexcept;

}  // namespace rotary

#endif  // ROTARY_ROTARY_SPEC_HPP
