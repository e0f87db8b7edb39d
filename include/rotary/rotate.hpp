// SPDX-License-Identifier: Apache-2.0
// rotate: q' = A R(position) q, the one operation of rotary embedding, for every layout.
#pragma once

#include <cstdint>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Of the linear map A*R(position) that forward applies:
enum class Direction : std::int32_t {
  forward = 1,    // A R
  inverse = 2,    // R^-1 / A: undoes forward; an error for rotations with a role, which xPos makes
  transpose = 3,  // A R^T: the backward pass, gradients of q from gradients of q'
};

// Which map, and who runs it.
struct RotateOptions {
  Direction direction = Direction::forward;
  Executor executor = {};  // default: the calling thread does it all
};

// Rotates features [first_feature, first_feature + rotary_dim) of every head of src into dst and
// copies the others. Where the pairing is interleaved_to_half forward also changes the order of
// the features, and inverse and transpose change it back.
//
// dst and src have the same dtype and extents; extents.features is the window's head_dim,
// extents.tokens is rotations.tokens(), extents.batch is rotations.batch() unless that is 1. In
// place is the same view twice; otherwise dst and src share no element (views that interleave in
// memory, as in a fused QKV, are legal; sharing is decided exactly where strides nest, and refused
// where it cannot be decided). Elements of dst are distinct.
//
// f64 tensors need rotations of f64 rows, all others of f32 rows; where the rotations were made for
// one dtype (RotationsOptions::tensors), all tensors have it. Arithmetic is float32 (double for
// f64) with one rounding to nearest even on store: a float32 result is within
// rotate_error_bound(...) units of 2^-24 * hypot(exact pair) of the exact map
// (numeric_contract.hpp, which also bounds the other dtypes). Rotations of Numerics::transformers
// whose Rounding is every_step or double_angle round bf16 and f16 after each product, too, as those
// models do; transpose is then the backward pass of the same recipe. Numerics other than exact have
// no inverse of an attention factor: Direction::inverse needs one of 1. Where instruction_set() is
// "AVX3_BF16" the hardware stores a bf16 result that is subnormal in float32 as 0, but for
// rotations that round each product.
//
// The same position and pair give the same bits on one instruction set, whatever the layout, batch,
// split or number of threads (of NaNs, that it is one). NaN and Inf stay in their pair. Allocates
// nothing on success. Starts no thread; options.executor is called at most once, and not for fewer
// than 64 tokens (of all batch rows together), which would wait longer for each other than they
// take. On an error nothing has been written.
//
// Errors: invalid_argument, with the requirement and what was got, also for direction inverse of
// rotations with a role: a query that xPos made A s R q becomes A^2 q by the transpose with the
// key's rows of the same positions, A R^T / s; unsupported when the environment variable
// ROTARY_INSTRUCTION_SET names a set that cannot run here.
[[nodiscard]] ROTARY_API Status rotate(HeadsView dst, ConstHeadsView src,
                                       const Rotations& rotations,
                                       RotateOptions options = {}) noexcept;

// Rotates q and k in place: the decode step in one call. The two may differ in heads, not in batch
// or tokens, and share no element. Refuses rotations with a role, which serve one of the two. On an
// error neither has been written.
[[nodiscard]] ROTARY_API Status rotate_qk(HeadsView q, HeadsView k, const Rotations& rotations,
                                          RotateOptions options = {}) noexcept;

}  // namespace rotary
