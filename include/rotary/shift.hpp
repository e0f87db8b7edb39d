// SPDX-License-Identifier: Apache-2.0
// shift: moves rotated keys of a KV cache to other positions or frequencies: context shift, moved
// blocks, a change of base, LongRoPE from short to long, growth of dynamic NTK.
//
//   shift(k_cache, {frequencies, ConsecutivePositions{.first = 4096, .tokens = 128}},
//         {frequencies, ConsecutivePositions{.first = 0, .tokens = 128}});
#ifndef ROTARY_SHIFT_HPP
#define ROTARY_SHIFT_HPP

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The frequencies and positions of cached keys, before or after a shift. Frequencies: not owned.
struct RotatedAt {
  const Frequencies& frequencies;
  Positions positions;
};

// Rotations that turn keys rotated by `from` into keys rotated by `to`, made once for all layers
// with one spec. Pair i turns by p' inv_freq'_i - p inv_freq_i and is multiplied by A'/A.
// rotate()'s error bounds hold with shift_position_bound(p, p') (numeric_contract.hpp) as position
// and A'/A as attention factor.
//
// If the frequencies are equal and every token moves by the same whole number of positions, all
// tokens share one row: row_stride() is 0, and options.memory needs row_bytes(window, 1, 1, rows).
// Pairing::interleaved_to_half writes rotated keys as halves, so window().pairing is half for it.
// rotate() with Direction::inverse moves keys back.
//
// With frequencies of several axes a token moves from its coordinates in `from` to those in `to`,
// as when an image moves within a text. Positions of one axis apply to all axes.
//
// `from` and `to` have the same window, tokens and batch, or one has batch 1. Errors:
// out_of_memory; invalid_argument if these differ, if make_rotations would refuse either, if
// A'/A is outside [2^-20, 2^20], or if options.role is given; unsupported for frequencies with xpos
// and for numerics other than exact, whose keys no rotation can move.
[[nodiscard]] ROTARY_API Result<Rotations> make_shift(
    const RotatedAt& from, const RotatedAt& to, const RotationsOptions& options = {}) noexcept;

// make_shift() into existing rotations. Allocates nothing if an earlier call had at least as many
// rows. On an error the rotations are unchanged.
[[nodiscard]] ROTARY_API Status remake_shift(Rotations& rotations, const RotatedAt& from,
                                             const RotatedAt& to) noexcept;

// Options of shift().
struct ShiftOptions {
  Executor executor = {};
};

// Rotates keys in place by the rotations of make_shift(). Features outside the window are
// unchanged. Layouts, bits, allocation and errors are as for rotate(). Refuses rotations with a
// role, of numerics other than exact, and of interleaved_to_half, which expect unrotated keys.
//
// Each shift rounds the keys once more: after 100 shifts by -7 the error is 2e-6 of a key's length
// in f32, 0.8 % in f16, 5 % in bf16 and 15 % in int8 (docs/how-to/context-shift.md). A bf16 or int8
// cache that is shifted repeatedly should store unrotated keys: append() without rotations
// (kv_cache.hpp), and attend() with k_rotations (attention.hpp).
[[nodiscard]] ROTARY_API Status shift(HeadsView keys, const Rotations& by,
                                      const ShiftOptions& options = {}) noexcept;

// make_shift(), then shift(). Allocates the rows.
[[nodiscard]] ROTARY_API Status shift(HeadsView keys, const RotatedAt& from, const RotatedAt& to,
                                      const ShiftOptions& options = {}) noexcept;

// shift() for quantized keys, with f32 rows. Let z be the rotated elements in float32, and m the
// largest |z| of the head, features outside the window included. The new elements are z * 127/m,
// rounded to nearest even, and the new scale is scale * m/127. shift_int8_error_bound
// (numeric_contract.hpp) bounds the error. A head of zeros gets scale 0. A scale that is NaN or Inf
// stays NaN or Inf. Old elements may be -128; new ones are not.
[[nodiscard]] ROTARY_API Status shift(const QuantizedHeadsView& keys, const Rotations& by,
                                      const ShiftOptions& options = {}) noexcept;
[[nodiscard]] ROTARY_API Status shift(const QuantizedHeadsView& keys, const RotatedAt& from,
                                      const RotatedAt& to,
                                      const ShiftOptions& options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_SHIFT_HPP
