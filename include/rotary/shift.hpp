// SPDX-License-Identifier: Apache-2.0
// shift: moves rotated keys of a KV cache to other positions or frequencies; their unrotated values
// are not needed. For context shift, moved blocks, a change of base, LongRoPE from short to long,
// and growth of dynamic NTK.
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

// Frequencies and positions that cached keys have, or shall have. The frequencies are not owned;
// they must outlive the call.
struct RotatedAt {
  const Frequencies& frequencies;
  Positions positions;
};

// The rotations that turn keys rotated by `from` into keys rotated by `to`, made once for all
// layers of a spec. Pair i of a token turns by p' inv_freq'_i - p inv_freq_i, computed exactly in
// 64-bit fractions of a turn, and is multiplied by A'/A. The bounds of rotate() hold for shifted
// keys, with shift_position_bound(p, p') as position and A'/A as attention factor
// (numeric_contract.hpp).
//
// If the frequencies are equal and every token moves by the same whole number of positions, one row
// serves all tokens (row_stride() is 0, options.memory needs row_bytes(window, 1, 1, rows)).
// Rotated keys of Pairing::interleaved_to_half are stored in halves, so window().pairing is half
// for them. To move keys back, rotate() them by the same rotations with Direction::inverse.
//
// With frequencies of several axes a token moves by a vector, from its coordinates in `from` to
// those in `to`. An image can so move to another place in the text. Positions of one axis stand for
// that coordinate on every axis.
//
// `from` and `to` have the same window and the same tokens; a batch of 1 serves any other batch.
// Errors: out_of_memory; invalid_argument if they differ otherwise, if make_rotations would refuse
// one of them, if A'/A is outside [2^-20, 2^20], or if options.role is given; unsupported for
// frequencies with xpos and for numerics other than exact. No rotation of such keys gives the
// values of a rotation at the new position.
[[nodiscard]] ROTARY_API Result<Rotations> make_shift(
    const RotatedAt& from, const RotatedAt& to, const RotationsOptions& options = {}) noexcept;

// Like make_shift, but into existing rotations, as remake_rotations does. Allocates nothing if an
// earlier call had at least as many rows. On an error the rotations are unchanged.
[[nodiscard]] ROTARY_API Status remake_shift(Rotations& rotations, const RotatedAt& from,
                                             const RotatedAt& to) noexcept;

// Options of shift().
struct ShiftOptions {
  Executor executor = {};  // default: the calling thread does it all
};

// Turns keys in place by the rotations of make_shift. Features outside the window are unchanged. As
// for rotate() (rotate.hpp), strides may be any, the bits do not depend on the split, errors come
// before the first write, and success allocates nothing. Refuses rotations with a role and
// rotations of numerics other than exact. Refuses those of interleaved_to_half, because they expect
// unrotated keys.
//
// Each shift rounds the keys once more, and a pair that it would change by less than half a unit
// does not move: after 100 shifts by -7 keys are off by 2e-6 of their length in f32, 0.8 % in f16,
// 5 % in bf16 and 15 % in int8 (docs/how-to/context-shift.md has the table). One shift by the whole
// distance has one rounding. A bf16 or int8 cache that is shifted repeatedly should store unrotated
// keys: append() without rotations (kv_cache.hpp), which attend() rotates as it reads them
// (attention.hpp, k_rotations).
[[nodiscard]] ROTARY_API Status shift(HeadsView keys, const Rotations& by,
                                      const ShiftOptions& options = {}) noexcept;

// make_shift, then shift, for one cache alone: allocates the rows.
[[nodiscard]] ROTARY_API Status shift(HeadsView keys, const RotatedAt& from, const RotatedAt& to,
                                      const ShiftOptions& options = {}) noexcept;

// shift() for quantized keys, with f32 rows. Let z be the rotated elements in float32, and m the
// largest |z| of the head, features outside the window included. The new elements are z * 127/m,
// rounded to nearest even, and the new scale is scale * m/127. The error is within
// shift_int8_error_bound (numeric_contract.hpp), about half the new scale. A head of zeros keeps
// its zeros and gets scale 0. If a scale is not finite, it and its keys are unchanged. Elements may
// be -128; new ones are not.
[[nodiscard]] ROTARY_API Status shift(const QuantizedHeadsView& keys, const Rotations& by,
                                      const ShiftOptions& options = {}) noexcept;
[[nodiscard]] ROTARY_API Status shift(const QuantizedHeadsView& keys, const RotatedAt& from,
                                      const RotatedAt& to,
                                      const ShiftOptions& options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_SHIFT_HPP
