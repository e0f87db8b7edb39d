// SPDX-License-Identifier: Apache-2.0
// rotate: q' = A R(position) q, the one operation of rotary embedding, for any layout.
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

// The variants of the linear map A R(position):
enum class Direction : std::int32_t {
  forward = 1,    // A R
  inverse = 2,    // R^-1 / A: undoes forward; an error for rotations with a role, which xPos makes
  transpose = 3,  // A R^T: the backward pass, gradients of q from gradients of q'
};

// Selects the map and the executor.
struct RotateOptions {
  Direction direction = Direction::forward;
  Executor executor = {};  // default: the calling thread does it all
};

// Rotates features [first_feature, first_feature + rotary_dim) of every head of src into dst and
// copies the others. With pairing interleaved_to_half, forward also changes the order of the
// features, and inverse and transpose change it back.
//
// dst and src have the same dtype and extents; extents.features is the window's head_dim,
// extents.tokens is rotations.tokens(), extents.batch is rotations.batch() unless that is 1. To
// work in place, pass the same view twice; otherwise dst and src share no element. They may
// interleave in memory, as in a fused QKV. A call is refused if it cannot be decided whether they
// share an element; for nesting strides it always can. Elements of dst are distinct.
//
// f64 tensors need rotations with f64 rows, all others f32 rows. If the rotations were made for one
// dtype (RotationsOptions::tensors), all tensors have it. Arithmetic is float32 (double for f64)
// with one rounding to nearest even on store. A float32 result is within rotate_error_bound(...)
// units of 2^-24 * hypot(exact pair) of the exact map (numeric_contract.hpp, which also bounds the
// other dtypes). Rotations of Numerics::transformers with Rounding every_step or double_angle also
// round bf16 and f16 after each product, as those models do; transpose then rounds as the models'
// backward pass does. Numerics other than exact cannot invert an attention factor:
// Direction::inverse needs a factor of 1. On instruction_set() "AVX3_BF16" the hardware stores a
// bf16 result that is subnormal in float32 as 0, except for rotations that round each product.
//
// The same position and pair give the same bits on one instruction set, whatever the layout, batch,
// split or number of threads. Only the bits of a NaN may differ. NaN and Inf stay in their pair.
// Allocates nothing on success. Starts no thread. options.executor is called at most once, and not
// for fewer than 64 tokens (over all batch rows), which take less time than threads spend waiting.
// On an error nothing has been written.
//
// Errors: invalid_argument, with the requirement and what was got, also for direction inverse with
// rotations that have a role; unsupported when the environment variable ROTARY_INSTRUCTION_SET
// names a set that cannot run here. (With xPos, to undo a query's rotation A s R, take the
// transpose by the key's rows of the same positions, A R^T / s. The result is A^2 q.)
[[nodiscard]] ROTARY_API Status rotate(HeadsView dst, ConstHeadsView src,
                                       const Rotations& rotations,
                                       RotateOptions options = {}) noexcept;

// Rotates q and k in place: the decode step in one call. The two may differ in heads, but not in
// batch or tokens, and share no element. Refuses rotations with a role, which are for one of the
// two only. On an error neither has been written.
[[nodiscard]] ROTARY_API Status rotate_qk(HeadsView q, HeadsView k, const Rotations& rotations,
                                          RotateOptions options = {}) noexcept;

// Heads to write and those to read: the same view twice to work in place.
struct Transfer {
  HeadsView dst;
  ConstHeadsView src;
};

// rotate_qk with q, k or both out of place; each as in rotate(). No dst shares an element with the
// other transfer's views.
[[nodiscard]] ROTARY_API Status rotate_qk_into(const Transfer& q, const Transfer& k,
                                               const Rotations& rotations,
                                               RotateOptions options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_ROTATE_HPP
