// SPDX-License-Identifier: Apache-2.0
// Sinusoidal encodings: p(t) holds the sines and cosines of the angles t * inv_freq[k], and a token
// at position t becomes x + p(t). Every table in use is one SinusoidalSpec; docs/theory/absolute.md
// says which model uses which.
//
//   const auto table = *make_sinusoidal(transformer_sinusoidal(512));
//   fill_sinusoidal(rows, table, ConsecutivePositions{.tokens = 128});
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/export.h"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary {

// The features of the sine and the cosine of pair k. For an odd dim see SinusoidalSpacing.
enum class SinusoidalLayout : std::int32_t {
  interleaved = 1,   // (2k, 2k + 1): Attention Is All You Need, DistilBERT, XLM
  sin_then_cos = 2,  // (k, half + k): tensor2tensor, fairseq, Marian, Whisper
  cos_then_sin = 3,  // (half + k, k): MusicGen; flip_sin_to_cos of diffusion models
};

// Every enumerator, in order.
inline constexpr std::array all_sinusoidal_layouts = {
    SinusoidalLayout::interleaved, SinusoidalLayout::sin_then_cos, SinusoidalLayout::cos_then_sin};

// The sequence of the frequencies from 1 towards 1/base, for d features.
enum class SinusoidalSpacing : std::int32_t {
  // base^(-2k/d), which stops before 1/base. With an odd d the last pair has one number only: the
  // function that the layout names first has one feature more.
  even = 1,
  // base^(-k/(h - 1)), h = floor(d/2), up to and including 1/base: tensor2tensor, fairseq, Whisper.
  // With an odd d the last feature is 0.
  ends = 2,
};

// Every enumerator, in order.
inline constexpr std::array all_sinusoidal_spacings = {SinusoidalSpacing::even,
                                                       SinusoidalSpacing::ends};

// "interleaved", "sin_then_cos", "cos_then_sin".
[[nodiscard]] ROTARY_API std::string_view to_string(SinusoidalLayout layout) noexcept;

// "even", "ends".
[[nodiscard]] ROTARY_API std::string_view to_string(SinusoidalSpacing spacing) noexcept;

// One sinusoidal encoding. Encodings with the same shape and range can have different meanings, so
// no member that tells them apart has a default.
struct SinusoidalSpec {
  std::int64_t dim = 0;   // d, features: 1 to 2^20; at least 4 for spacing ends
  Required<double> base;  // finite, > 1; 10000 in every model known
  Required<SinusoidalLayout> layout;
  Required<SinusoidalSpacing> spacing;
  // Added to each position, exactly, also beyond int64: fairseq begins at padding_idx + 1.
  std::int64_t position_offset = 0;
  // Tokens at this position (before the offset) get a row of zeros. For fairseq -1, which
  // positions_from_mask gives to padding.
  std::optional<std::int64_t> zero_position = {};
};

// Specs of known models, base 10000. This one: the Transformer paper, DistilBERT, XLM.
[[nodiscard]] inline SinusoidalSpec transformer_sinusoidal(std::int64_t dim) noexcept {
  return {.dim = dim,
          .base = 10000.0,
          .layout = SinusoidalLayout::interleaved,
          .spacing = SinusoidalSpacing::even};
}
// Marian, Pegasus, RoFormer and CTRL; Megatron where dim is even.
[[nodiscard]] inline SinusoidalSpec marian_sinusoidal(std::int64_t dim) noexcept {
  return {.dim = dim,
          .base = 10000.0,
          .layout = SinusoidalLayout::sin_then_cos,
          .spacing = SinusoidalSpacing::even};
}
// Whisper's encoder and PEGASUS-X; tensor2tensor.
[[nodiscard]] inline SinusoidalSpec whisper_sinusoidal(std::int64_t dim) noexcept {
  return {.dim = dim,
          .base = 10000.0,
          .layout = SinusoidalLayout::sin_then_cos,
          .spacing = SinusoidalSpacing::ends};
}
// fairseq, M2M100, NLLB, XGLM, FSMT, Kosmos-2, for positions that count from 0, with -1 for
// padding. padding_idx: the id of the padding token, 1 in most of these models.
[[nodiscard]] inline SinusoidalSpec fairseq_sinusoidal(std::int64_t dim,
                                                       std::int64_t padding_idx) noexcept {
  SinusoidalSpec spec = whisper_sinusoidal(dim);
  spec.position_offset = padding_idx + 1;
  spec.zero_position = -1;
  return spec;
}
// MusicGen.
[[nodiscard]] inline SinusoidalSpec musicgen_sinusoidal(std::int64_t dim) noexcept {
  SinusoidalSpec spec = whisper_sinusoidal(dim);
  spec.layout = SinusoidalLayout::cos_then_sin;
  return spec;
}

// The frequencies of a spec, made once by make_sinusoidal. inv_freq is the reference that the error
// bounds refer to.
struct Sinusoidal {
  SinusoidalSpec spec;
  std::vector<double> inv_freq;      // radians per position: ceil(d/2); floor(d/2) for ends
  std::vector<std::uint64_t> turns;  // turns per position in units of 2^-64, modulo 1
};

// Errors: invalid_argument when the spec breaks a requirement stated with its fields;
// out_of_memory.
[[nodiscard]] ROTARY_API Result<Sinusoidal> make_sinusoidal(const SinusoidalSpec& spec) noexcept;

// The functions below share a contract. dst (and src) have spec.dim features and the tokens of the
// positions, whose batch is that of dst or 1. To work in place, pass the same view twice; otherwise
// dst and src share no element. dst shares no element with the positions, and its elements are
// distinct. Arithmetic is double with one rounding to nearest even on store, whatever the dtype.
// The same position gives the same bits on one instruction set, whatever batch, split or strides.
// Allocates nothing on success. On an error nothing has been written; the message says the
// requirement and what was got. Errors: invalid_argument; unsupported as rotate().

// dst = p(position): within sinusoidal_error_bound (numeric_contract.hpp) of the exact value at
// every position, int64 or between integers.
[[nodiscard]] ROTARY_API Status fill_sinusoidal(TokensView dst, const Sinusoidal& sinusoidal,
                                                const Positions& positions) noexcept;

// embedding_scale: the factor of x, √d in the Transformer paper and in Marian; finite.
struct AddOptions {
  double embedding_scale = 1;
};

// dst = embedding_scale * src + p(position). The gradient of src is embedding_scale times that of
// dst.
[[nodiscard]] ROTARY_API Status add_sinusoidal(TokensView dst, ConstTokensView src,
                                               const Sinusoidal& sinusoidal,
                                               const Positions& positions,
                                               const AddOptions& options = {}) noexcept;

// The linear map of a fixed offset, p(t + Δ) = M(Δ) p(t): dst = M(distance) src, where each pair
// becomes
//     (sin', cos') = (sin cos(Δφ) + cos sin(Δφ), cos cos(Δφ) - sin sin(Δφ)),  φ = inv_freq[k],
// a rotation that does not depend on t. Distances are given like positions; position_offset and
// zero_position are ignored, and rows of zeros stay zeros. Refuses an odd dim with spacing even,
// because its last sine has no cosine.
[[nodiscard]] ROTARY_API Status shift_sinusoidal(TokensView dst, ConstTokensView src,
                                                 const Sinusoidal& sinusoidal,
                                                 const Positions& distances) noexcept;

}  // namespace rotary
