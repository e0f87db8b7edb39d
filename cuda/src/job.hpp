// SPDX-License-Identifier: Apache-2.0
// The work of one launch, passed by value as the kernel's parameter. All pointers are device
// pointers.
#pragma once

#include <cstdint>

#include "rotary/tensor_view.hpp"

namespace rotary::cuda {

// The position or slot of each token. On an axis, token t of batch row b has the index
// b*batch_stride + t*token_stride + axis*axis_stride. Its number is first + index if consecutive,
// else data[index].
enum class NumberKind : std::int32_t { consecutive, int32, int64 };
struct TokenNumbers {
  NumberKind kind;
  const void* data;
  std::int64_t first;
  std::int64_t batch_stride;
  std::int64_t token_stride;
  std::int64_t axis_stride;
};

// Positions and frequencies. The phase of a pair is their product, summed over dense axes.
struct Places {
  // Frequencies in units of 2^-64 turn per position: [pairs], or [axes][pairs] if dense.
  const std::uint64_t* turns;
  const std::int32_t* pair_axes;  // [pairs]; null: one axis, or dense
  std::int32_t dense_axes;        // number of axes whose phases are added; 1 unless dense
  TokenNumbers positions;
};

// Sources of cos and sin. Computed numbers have the bits of the library's rows-inl.hpp.
enum class RowKind : std::int32_t {
  stepped,  // an anchor's cos and sin, rotated to the position by a table of steps
  direct,   // from the phase, for dense axes
  between,  // from the difference of two phases, for a shift
  given,    // read from memory
};
struct Rows {
  RowKind kind;
  Places at;
  Places from;          // between
  const double* steps;  // stepped: [16][cos, sin][lane_stride]
  std::int64_t lane_stride;
  double factor;     // multiplies cos and sin: A (attention factor), or A'/A of a shift
  const float* cos;  // given: (b, t, i) at b*batch_stride + t*token_stride + i*pair_stride
  const float* sin;
  std::int64_t batch_stride;
  std::int64_t token_stride;
  std::int64_t pair_stride;
  float cos_scale;  // 1; 1/A^2 for the inverse
  float sin_scale;  // ±1, or -1/A^2
};

// The features of a head that rotate, and how they form pairs.
struct Window {
  std::int32_t first_feature;
  std::int32_t pairs;
  std::int32_t pairs_of_block;  // per block of the window; all pairs if there is only one block
  bool reads_neighbours;
  bool writes_neighbours;
};

enum class NormKind : std::int32_t { none, each_head, all_heads };
enum class Order : std::int32_t { norm_first, norm_last };
struct Norm {
  NormKind kind;
  Order order;
  const float* weight;          // null: none
  std::int64_t weight_of_head;  // elements from one head's weights to the next; 0 for each_head
  float offset;
  double epsilon;
  double part;  // 1 / number of features that share a mean
};

struct Heads {
  const void* src;
  void* dst;
  Strides from;
  Strides to;
  std::int32_t heads;
  std::int32_t features;
  bool turns;           // false: only copied or normalised
  bool stored;          // dst is a cache, which slots address
  bool copies_outside;  // copies features outside the window; not needed in place
  Norm norm;
};

// How blocks of threads share the work. A block takes `tokens` tokens and `heads` heads of each
// token, counted over all tensors. A team of threads takes one token; 2^log_lanes of its threads
// (lanes) take one head at a time.
struct Cut {
  std::int32_t threads;  // of a block: tokens << log_team
  std::int32_t log_team;
  std::int32_t log_lanes;  // at most a warp
  std::int32_t tokens;     // of a block
  std::int32_t heads;      // of a block
  std::int32_t chunks;     // most accesses to a head, of Count pairs or 2 * Count features each
  bool copies_outside;     // true if some head has features outside the window to copy
  std::int32_t blocks_of_heads;
  std::int64_t blocks_of_tokens;
  // Shared memory holds sums [tokens][heads] in double, rows [tokens][cos, sin][row_stride] in
  // float, and the window's elements in float for each head in progress.
  std::int32_t sums;  // doubles; 0 unless a norm is over all heads
  std::int32_t row_stride;
  std::int32_t staged_of_head;  // floats; 0 unless heads are permuted in place
  std::int32_t shared_bytes;
  std::int32_t groups[3];  // for a decode step: groups of few_heads heads in each tensor
};

inline constexpr int most_tensors = 3;
struct StepJob {
  Heads tensors[most_tensors];
  std::int32_t count;
  std::int32_t heads;  // of all tensors
  std::int64_t batch;
  std::int64_t tokens;  // of a batch row
  std::uint32_t tokens_in_all;
  bool rotates;
  Rows rows;
  Window window;
  TokenNumbers slots;           // read if a tensor is stored
  std::int64_t slots_of_block;  // 0: no tensor is stored
  std::int64_t slots_of_cache;
  Cut cut;
};

// The work of a launch that writes cos/sin rows.
struct RowsJob {
  Rows rows;
  std::int64_t batch;
  std::int64_t tokens;
  std::int32_t pairs;
  float* cos;
  float* sin;
  std::int64_t batch_stride;
  std::int64_t token_stride;
  std::int64_t pair_stride;
};

}  // namespace rotary::cuda
