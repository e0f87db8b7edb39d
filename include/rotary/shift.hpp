// SPDX-License-Identifier: Apache-2.0
// shift: keys of a KV cache, already rotated, to other positions or other frequencies without their
// un-rotated values. Context shift, moved blocks, a change of base, LongRoPE from short to long,
// dynamic NTK growth.
#pragma once

#include <cstdint>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// How keys stand in a cache, or are to stand: rotated by these frequencies at these positions. The
// frequencies are not owned; they must outlive the call.
struct RotatedAt {
  const Frequencies& frequencies;
  Positions positions;
};

// The rotations that take keys rotated by `from` to the keys that `to` would have made: pair i of a
// token turns by p' inv_freq'_i - p inv_freq_i, a difference formed exactly in 64-bit fractions of
// a turn, and is multiplied by A'/A, so that the attention factor is in the keys once. Made once
// for all layers of a spec. Rotated keys have the bounds of rotate at position
// shift_position_bound(p, p') with attention factor A'/A (numeric_contract.hpp).
//
// Where the frequencies are the same and every token moves by one whole number of positions, one
// row serves all tokens (row_stride() is 0, options.memory needs row_bytes(window, 1, 1, rows)).
// Keys of Pairing::interleaved_to_half lie in halves once they are rotated, so window().pairing is
// half for them. What moved keys there moves them back with Direction::inverse of rotate.
//
// Both sides have the same window and the same tokens; a batch of 1 goes with any. Errors:
// invalid_argument for sides that differ so, for what make_rotations refuses of either, for an A'/A
// outside [2^-20, 2^20], for options.role; unsupported for numerics other than exact, whose keys
// cannot be turned on as their recipe would have made them, and for frequencies with xpos;
// out_of_memory.
[[nodiscard]] ROTARY_API Result<Rotations> make_shift(
    const RotatedAt& from, const RotatedAt& to, const RotationsOptions& options = {}) noexcept;

// As make_shift, into rotations made before, as remake_rotations does: with no more rows than an
// earlier call it allocates nothing, and on an error rotations are as they were.
[[nodiscard]] ROTARY_API Status remake_shift(Rotations& rotations, const RotatedAt& from,
                                             const RotatedAt& to) noexcept;

// Who runs it.
struct ShiftOptions {
  Executor executor = {};  // default: the calling thread does it all
};

// Turns keys in place by the rotations of make_shift; features outside the window stay. What is
// said of rotate (rotate.hpp) holds: any strides, the same bits for any split, errors before the
// first write, no allocation on success. Refuses rotations with a role, of numerics other than
// exact, and of interleaved_to_half, which read keys that are not rotated yet.
//
// Each shift rounds the keys once more, and pairs that it moves by less than half a unit stay where
// they are: after 100 shifts by -7 keys are off by 2e-6 of their length in f32, 0.8 % in f16, 5 %
// in bf16 and 15 % in int8 (docs/how-to/context-shift.md has the table). One shift by the whole
// distance is off by one rounding. A bf16 or int8 cache that is shifted again and again should
// hold keys that are not rotated: append() without rotations (kv_cache.hpp), then rotate(dst, src,
// …) when they are read; neither takes int8, so there the caller rounds and widens.
[[nodiscard]] ROTARY_API Status shift(HeadsView keys, const Rotations& by,
                                      const ShiftOptions& options = {}) noexcept;

// make_shift, then shift, for one cache alone: allocates the rows.
[[nodiscard]] ROTARY_API Status shift(HeadsView keys, const RotatedAt& from, const RotatedAt& to,
                                      const ShiftOptions& options = {}) noexcept;

// In elements, not bytes: the scale of (batch b, token t, head h) is at
// scales + b*batch + t*token + h*head.
struct ScaleStrides {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;

  friend bool operator==(const ScaleStrides&, const ScaleStrides&) = default;
};

// Keys in 8 bits with one float32 for each head and token: feature = scale * element. Elements lie
// as those of a HeadsView do, the features of a head side by side (strides.feature is 1).
struct QuantizedHeadsView {
  std::int8_t* data = nullptr;
  float* scales = nullptr;
  Extents extents = {};
  Strides strides = {};
  ScaleStrides scale_strides = {};
};

// The same for quantized keys, by f32 rows. With z the rotated elements in float32 and m the
// largest |z| of the head, features outside the window included, the new elements are
// z * 127/m to nearest even and the new scale is scale * m/127: within shift_int8_error_bound
// (numeric_contract.hpp), about half the new scale. A head of zeros keeps its zeros and gets scale
// 0; a scale that is not finite stays so, and so do its keys. Elements may be -128; the new
// ones are not.
[[nodiscard]] ROTARY_API Status shift(const QuantizedHeadsView& keys, const Rotations& by,
                                      const ShiftOptions& options = {}) noexcept;
[[nodiscard]] ROTARY_API Status shift(const QuantizedHeadsView& keys, const RotatedAt& from,
                                      const RotatedAt& to,
                                      const ShiftOptions& options = {}) noexcept;

}  // namespace rotary
