// SPDX-License-Identifier: Apache-2.0
// Absolute position encodings: x becomes x + p(position).
//
//   const auto table = *make_sinusoidal(transformer_sinusoidal(512));
//   add_sinusoidal(x, x, table, ConsecutivePositions{.tokens = 128});  // in place
#ifndef ROTARY_ABSOLUTE_HPP
#define ROTARY_ABSOLUTE_HPP

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/export.h"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Sinusoidal encodings: p(t) holds the sines and cosines of the angles t * inv_freq[k].
// docs/theory/absolute.md lists the models and their tables.

// The features that hold the sine and the cosine of pair k; half is the number of pairs.
enum class SinusoidalLayout : std::int32_t {
  interleaved = 1,   // (2k, 2k + 1): Attention Is All You Need, DistilBERT, XLM
  sin_then_cos = 2,  // (k, half + k): tensor2tensor, fairseq, Marian, Whisper
  cos_then_sin = 3,  // (half + k, k): MusicGen; flip_sin_to_cos of diffusion models
};

// Every enumerator, in order.
inline constexpr std::array all_sinusoidal_layouts = {
    SinusoidalLayout::interleaved, SinusoidalLayout::sin_then_cos, SinusoidalLayout::cos_then_sin};

// The frequencies of d features: how they fall from 1 towards 1/base.
enum class SinusoidalSpacing : std::int32_t {
  // base^(-2k/d), which ends before 1/base. With an odd d the last pair has one feature: its cosine
  // with cos_then_sin, else its sine.
  even = 1,
  // base^(-k/(floor(d/2) - 1)), which ends at 1/base: fairseq, Whisper. With an odd d the last
  // feature is 0.
  ends = 2,
};

// Every enumerator, in order.
inline constexpr std::array all_sinusoidal_spacings = {SinusoidalSpacing::even,
                                                       SinusoidalSpacing::ends};

// "interleaved", "sin_then_cos", "cos_then_sin".
[[nodiscard]] ROTARY_API std::string_view to_string(SinusoidalLayout layout) noexcept;

// "even", "ends".
[[nodiscard]] ROTARY_API std::string_view to_string(SinusoidalSpacing spacing) noexcept;

// One sinusoidal encoding. dim, base, layout and spacing must be given.
struct SinusoidalSpec {
  std::int64_t dim = 0;   // d, number of features: 1 to 2^20, from 4 with spacing ends
  Required<double> base;  // finite, > 1; 10000 in every known model
  Required<SinusoidalLayout> layout;
  Required<SinusoidalSpacing> spacing;
  // Added to each position; the sum may leave int64. fairseq: padding_idx + 1.
  std::int64_t position_offset = 0;
  // Tokens with this position (without the offset) get zeros. fairseq: -1 (positions_from_mask()).
  std::optional<std::int64_t> zero_position = {};
};

// The Transformer paper, DistilBERT, XLM. Base 10000, as in all specs below.
[[nodiscard]] inline SinusoidalSpec transformer_sinusoidal(std::int64_t dim) noexcept {
  return {.dim = dim,
          .base = 10000.0,
          .layout = SinusoidalLayout::interleaved,
          .spacing = SinusoidalSpacing::even};
}
// Marian, Pegasus, RoFormer, CTRL; Megatron if dim is even.
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
// fairseq, M2M100, NLLB, XGLM, FSMT, Kosmos-2. Positions count from 0; padding has -1. padding_idx:
// the id of the padding token, mostly 1.
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

// The frequencies of a spec, made by make_sinusoidal(). Error bounds refer to inv_freq.
struct Sinusoidal {
  SinusoidalSpec spec;
  std::vector<double> inv_freq;      // radians per position: [ceil(d/2)]; ends: [floor(d/2)]
  std::vector<std::uint64_t> turns;  // turns per position in units of 2^-64, modulo 1
};

// Errors: invalid_argument for a broken requirement of the spec's members; out_of_memory.
[[nodiscard]] ROTARY_API Result<Sinusoidal> make_sinusoidal(const SinusoidalSpec& spec) noexcept;

// Contract of the functions below. dst and src have spec.dim features and one token for each
// position; the batch of the positions is 1 or that of dst. To work in place, pass the same view
// twice. Otherwise dst shares no element with src or the positions; its elements are distinct.
// Arithmetic is double, rounded once to nearest even on store. On one instruction set the bits
// depend on the position and the input alone. Nothing is allocated on success; nothing is written
// on an error. Errors: invalid_argument, with the requirement and what was got; unsupported, as
// rotate().

// dst = p(position), within sinusoidal_error_bound (numeric_contract.hpp) of the exact value.
[[nodiscard]] ROTARY_API Status fill_sinusoidal(TokensView dst, const Sinusoidal& sinusoidal,
                                                const Positions& positions) noexcept;

// embedding_scale: the factor on src, finite; √d in the Transformer paper and in Marian.
struct AddOptions {
  double embedding_scale = 1;
};

// dst = embedding_scale * src + p(position). The gradient of src is embedding_scale times the
// gradient of dst.
[[nodiscard]] ROTARY_API Status add_sinusoidal(TokensView dst, ConstTokensView src,
                                               const Sinusoidal& sinusoidal,
                                               const Positions& positions,
                                               const AddOptions& options = {}) noexcept;

// dst = M(distance) src, where M(Δ) p(t) = p(t + Δ) for every t. With φ = inv_freq[k], M(Δ) rotates
// pair k:
//     (sin', cos') = (sin cos(Δφ) + cos sin(Δφ), cos cos(Δφ) - sin sin(Δφ)).
// Ignores position_offset and zero_position. Refuses an odd dim with spacing even.
[[nodiscard]] ROTARY_API Status shift_sinusoidal(TokensView dst, ConstTokensView src,
                                                 const Sinusoidal& sinusoidal,
                                                 const Positions& distances) noexcept;

// Learned tables: a token's position, id or segment selects the table row that is added to it. A
// row number outside the table is an error.
//
//   add_learned(x, x, {.table = weights, .rows = {.indices = ConsecutivePositions{.tokens =
//   128}}});

// The table row of each token: index + offset.
struct TableRows {
  Positions indices;  // not double; batch 1: the same in every batch row
  // 2 for OPT and BART. padding_idx + 1 for RoBERTa, whose padding has index -1
  // (positions_from_mask) and so gets row padding_idx.
  std::int64_t offset = 0;
  // This row gets no gradient, like padding_idx of torch's Embedding.
  std::optional<std::int64_t> padding_row = {};
};

// One table and the row that each token takes from it.
struct Lookup {
  ConstTableView table;
  TableRows rows;
};

// Contract of the functions below. Tables have the dtype and the number of features of the tokens.
// Indices have as many tokens as the view, and a batch of 1 or the view's. A destination has
// distinct elements and shares none with anything that the call reads; add_learned also works in
// place (the same view twice). Nothing is allocated on success; nothing is written on an error. The
// error names the first wrong index. The bits do not change if threads split the views by tokens
// (gradients: by features).

// dst = src + row of the token. Sums are double, rounded once to nearest even on store, so f32
// results have the bits of a float32 addition.
[[nodiscard]] ROTARY_API Status add_learned(TokensView dst, ConstTokensView src,
                                            const Lookup& lookup) noexcept;

// dst = sum of one row of each table, in one pass: BERT's token + segment + position. Sums are
// double, in the order of the lookups, rounded once. Without lookups dst becomes 0.
[[nodiscard]] ROTARY_API Status sum_embeddings(TokensView dst,
                                               std::span<const Lookup> lookups) noexcept;

// The gradient of a table: gradient[row] += upstream[token] for each token that takes the row,
// except padding_row. Tokens are added in order, and each sum is rounded to the gradient's dtype,
// f32 or f64. upstream is the gradient of dst (and of add_learned's src), of any dtype; f64 needs a
// gradient of f64. If strides of 0 repeat elements, upstream must have fewer than 2^36.
[[nodiscard]] ROTARY_API Status add_table_gradient(TableView gradient, const TableRows& rows,
                                                   ConstTokensView upstream) noexcept;

// Positions of padded batches: in each batch row 0, 1, 2, … for tokens with mask 1, and -1 for mask
// 0. positions and mask are [batch, tokens], contiguous. Errors: invalid_argument for sizes that
// differ or are no multiple of batch, other mask values, and a mask that overlaps positions.
[[nodiscard]] ROTARY_API Status positions_from_mask(std::span<std::int64_t> positions,
                                                    std::span<const std::uint8_t> mask,
                                                    std::int64_t batch) noexcept;

// Resizing of learned tables, as vision transformers do for images of another size.
//
//   interpolate_table(table_of_1024, table_of_512, LinearInterpolation{});

// Makes n rows from m rows. Row i is interpolated at x = max(0, (i + 1/2) m/n - 1/2) from its two
// neighbours. torch's interpolate(mode="linear", align_corners=False).
struct LinearInterpolation {
  std::int64_t kept_rows = 0;  // first rows, copied unchanged (class tokens)
};

// A grid whose row r, column c is table row r*columns + c.
struct TableGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Resizes sides m of a grid to n: interpolates at x = (i + 1/2) m/n - 1/2 from 4 x 4 neighbours,
// with Keys's cubic convolution and a = -3/4. A neighbour beyond the border takes the border's row.
// torch's interpolate(size=…, mode="bicubic", align_corners=False, antialias=False): ViT, DeiT.
struct BicubicInterpolation {
  std::int64_t kept_rows = 0;
  TableGrid from;
  TableGrid to;
  // Added to n in the formula of x: 0.1 in DINO and DINOv2 (scale_factor=(n + 0.1)/m). In [0, 1);
  // if it is not 0, sides are at most 2^26.
  double size_offset = 0;
};

using TableInterpolation = std::variant<LinearInterpolation, BicubicInterpolation>;

// Computes dst from src, of the same dtype and number of features. With BicubicInterpolation, src
// has kept_rows rows and then the grid `from`, dst has kept_rows rows and then the grid `to`. Rows
// and sides are at most 2^30. dst has distinct elements and shares none with src.
// Weights and sums are double, rounded once to nearest even on store. Neighbours of weight 0 are
// not read; without a size_offset, a side that keeps its length is copied, NaN and Inf included.
// Nothing is allocated on success; nothing is written on an error. Errors: invalid_argument.
[[nodiscard]] ROTARY_API Status interpolate_table(TableView dst, ConstTableView src,
                                                  const TableInterpolation& interpolation) noexcept;

// The backward pass of interpolate_table: adds what upstream, the gradient of dst, contributes to
// the gradient of src. Rows of upstream are added in order; each sum is rounded to the gradient's
// dtype, f32 or f64. upstream may have any dtype; f64 needs a gradient of f64.
[[nodiscard]] ROTARY_API Status add_interpolation_gradient(
    TableView gradient, ConstTableView upstream, const TableInterpolation& interpolation) noexcept;

}  // namespace rotary

#endif  // ROTARY_ABSOLUTE_HPP
