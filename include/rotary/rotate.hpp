// SPDX-License-Identifier: Apache-2.0
// rotate: q' = A R(position) q, the operation of rotary embedding, for any layout.
//
//   rotate(q, q, rotations);                                     // in place
//   rotate_qk_into({out, q}, {k, k}, rotations);                 // a step; only q out of place
//   rotate(d_q, d_q, rotations, {.direction = Direction::transpose});  // its gradient
#ifndef ROTARY_ROTATE_HPP
#define ROTARY_ROTATE_HPP

#include <cstdint>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The linear map to apply, made from A R(position).
enum class Direction : std::int32_t {
  forward = 1,    // A R
  inverse = 2,    // R^-1 / A: undoes forward; refused with xPos
  transpose = 3,  // A R^T: the backward pass
};

// Selects the map and the executor.
struct RotateOptions {
  Direction direction = Direction::forward;
  Executor executor = {};
};

// Rotates the window of every head of src into dst and copies the other features. With pairing
// interleaved_to_half, forward reorders features; inverse and transpose undo that.
//
// dst and src have the same dtype and extents: features are the window's head_dim, tokens are
// rotations.tokens(), batch is rotations.batch() unless that is 1. To work in place, pass the same
// view twice; otherwise dst and src share no element, although they may interleave, as in a fused
// QKV. Elements of dst are distinct. If strides do not nest, it may be undecidable whether elements
// are shared; the call is then refused.
//
// f64 tensors need rotations with f64 rows; all others need f32 rows. If RotationsOptions::tensors
// was given, the tensors must have that dtype. Arithmetic is float32 (double for f64) with one
// rounding to nearest even on store. rotate_error_bound (numeric_contract.hpp) bounds the error.
// With Numerics::transformers and Rounding::every_step or double_angle, bf16 and f16 are also
// rounded after each product; transpose rounds as the model's backward pass does. Under other
// numerics than exact, inverse needs an attention factor of 1. On instruction_set() "AVX3_BF16" a
// bf16 result that is subnormal in float32 becomes 0, unless products are rounded.
//
// On one instruction set, the bits of a pair depend only on its features and its row of cos and
// sin; the bits of a NaN may vary. NaN and Inf stay in their pair. Allocates nothing on success.
// options.executor is called at most once, and not for fewer than 64 tokens (over all batch rows),
// where threads would not save time. On an error nothing has been written.
//
// Errors: invalid_argument, with the requirement and what was got; unsupported when the environment
// variable ROTARY_INSTRUCTION_SET names a set that cannot run here. With xPos, Direction::transpose
// by the key's rows undoes the rotation of a query at the same position, up to a factor of A^2.
[[nodiscard]] ROTARY_API Status rotate(HeadsView dst, ConstHeadsView src,
                                       const Rotations& rotations,
                                       RotateOptions options = {}) noexcept;

// Rotates q and k in place. They may differ in heads, but not in batch or tokens, and share no
// element. Refuses rotations with a role. On an error neither has been written.
[[nodiscard]] ROTARY_API Status rotate_qk(HeadsView q, HeadsView k, const Rotations& rotations,
                                          RotateOptions options = {}) noexcept;

// The heads to write and those to read.
struct Transfer {
  HeadsView dst;
  ConstHeadsView src;
};

// rotate_qk() with q, k or both out of place; each as in rotate(). No dst shares elements with the
// other transfer.
[[nodiscard]] ROTARY_API Status rotate_qk_into(const Transfer& q, const Transfer& k,
                                               const Rotations& rotations,
                                               RotateOptions options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_ROTATE_HPP
