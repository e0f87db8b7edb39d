// SPDX-License-Identifier: Apache-2.0
// The contract between the library and its kernels: plain structs, pointers and sizes, and a table
// of functions for each instruction set. A kernel knows no spec, model or error. It neither
// allocates nor checks. It can process any part of a tensor, so the caller decides about threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rotary::kernels {

// Rows are padded to a multiple of this many elements, so making them needs no code for a tail.
inline constexpr std::int64_t lane_multiple = 16;

// A position is split into an anchor and a step. The anchor is a multiple of this number, and its
// cos and sin are evaluated. The cos and sin of the step come from a table.
inline constexpr std::int64_t steps_per_anchor = 16;

// Makes the rows of consecutive positions.
struct RowsJob {
  const std::uint64_t* turns;  // [pairs], units of 2^-64 turn per position
  const double* steps;         // [steps_per_anchor][cos, sin][lane_stride], for positions 0, 1, …
  std::int64_t pairs;
  std::int64_t lane_stride;      // multiple of lane_multiple, >= pairs
  double attention_factor;       // multiplies cos and sin
  std::uint64_t first_position;  // modulo 2^64
  std::int64_t tokens;
  void* rows;  // [tokens][cos, sin][lane_stride] elements of the kernel's row type
};

// Makes the rows of positions with several axes: each pair as by RowsJob, at its axis's coordinate.
struct AxisRowsJob {
  RowsJob rows;                      // first_position is not read
  const std::int32_t* pair_axes;     // [pairs]
  const std::uint64_t* coordinates;  // [tokens][axes], modulo 2^64
  std::int64_t axes;                 // at most most_axes
};
inline constexpr std::int64_t most_axes = 8;

// Makes a part of one row from given phases, without anchor and step.
struct PhaseRowJob {
  const std::uint64_t* phases;  // [lanes], units of 2^-64 turn; 0 for padding
  std::int64_t lanes;           // multiple of lane_multiple
  double attention_factor;      // multiplies cos and sin
  void* cos;                    // [lanes] elements of the kernel's row type
  void* sin;                    // [lanes]
};

// Rotates tokens and heads of one batch row. Elements have the kernel's dtype or dtypes. Strides
// count elements; the feature stride is 1. src may equal dst if the kernel keeps the dtype and the
// order of pairs.
struct RotateJob {
  const void* src;  // first rotated feature of token 0, head 0
  void* dst;
  std::int64_t src_token_stride;
  std::int64_t src_head_stride;
  std::int64_t dst_token_stride;
  std::int64_t dst_head_stride;
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t pairs;
  const void* rows;          // for token 0: [lane_stride] cos, [lane_stride] sin; double for
                             // f64 kernels, float for all others
  std::int64_t row_stride;   // elements from one token's row to the next
  std::int64_t lane_stride;  // elements from cos to sin
  double cos_scale;          // multiplies cos: 1, or 1/A² for an inverse
  double sin_scale;  // multiplies sin: ±1, or -1/A²; both are first rounded to the row's type
  std::int64_t bytes_ahead = 0;  // prefetch distance for adjacent heads; 0: none
};

using MakeRows = void (*)(const RowsJob& job);
using MakeAxisRows = void (*)(const AxisRowsJob& job);
using MakePhaseRow = void (*)(const PhaseRowJob& job);
using Rotate = void (*)(const RotateJob& job);

// One T per dtype of elements. Empty where no kernel has the dtype.
template <class T>
struct PerDType {
  T f32{};
  T bf16{};
  T f16{};
  T f64{};
};

// For one order in which pairs are read and written.
struct RotateKernels {
  PerDType<Rotate> once;        // round once, when storing
  PerDType<Rotate> every_step;  // round each product and sum to the dtype, as their rows are
};

struct AttendKernels;  // kernels/attend/attend_kernels.hpp
struct CacheKernels;   // kernels/cache_kernels.hpp
struct Int8Kernels;    // kernels/int8_kernels.hpp
struct LinearKernels;  // kernels/linear_kernels.hpp

struct KernelTable {
  const char* (*instruction_set)();  // compiled with the kernels, so it names what really runs
  MakeRows make_rows_f32;
  MakeRows make_rows_f64;
  MakeAxisRows make_axis_rows_f32;
  MakeAxisRows make_axis_rows_f64;
  MakePhaseRow make_phase_row_f32;
  MakePhaseRow make_phase_row_f64;
  RotateKernels rotate[2][2];  // [reads halves][writes halves]
  // Null with ROTARY_CORE_ONLY, where nothing calls them.
  const AttendKernels* attend = nullptr;
  const CacheKernels* cache = nullptr;
  const Int8Kernels* int8 = nullptr;
  const LinearKernels* linear = nullptr;
};

inline constexpr std::size_t max_tables = 16;

// The tables that this machine can run, best first; never empty.
[[nodiscard]] std::span<const KernelTable* const> supported_tables() noexcept;

// The instruction sets of supported_tables(), in the same order.
[[nodiscard]] std::span<const std::string_view> supported_names() noexcept;

}  // namespace rotary::kernels
