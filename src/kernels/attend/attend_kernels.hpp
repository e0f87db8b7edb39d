// SPDX-License-Identifier: Apache-2.0
// The contract of the kernels of attention, under that of kernels.hpp: pointers and sizes; they
// neither allocate nor fail; scratch memory is passed in. All computing is in float32, and scores
// are in units of log2: the caller multiplies the softmax scale and every bias by log2(e).
//
// A query row is one token of one query head. A tile of them meets the keys and values of one kv
// head in one of two ways, and may change between them and come back at any key:
//   accumulate  keys and values packed once, for many rows, as a matrix product;
//   stream      keys and values as they lie, read once, for few rows (a decode step).
// Both leave a row's softmax unfinished in a SoftmaxState, so that the keys of a row can come in
// several calls (chunks, a sink and a window, two ways to rotate), or its parts be merged.
//
// Keys are counted from 0; tiles of keys_of_tile of them begin at multiples of it. What is added
// to what for a row, and in which order, depends on its limits, its bias and which keys a call was
// given, and neither on the other rows of the call nor on their number. A key beyond the limits of
// a row does not touch it, whatever it holds. Pointers to float of this header are aligned to
// alignment bytes unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"

namespace rotary::kernels {

inline constexpr std::size_t attend_alignment = 64;
inline constexpr std::int64_t keys_of_tile = 256;
inline constexpr std::int64_t keys_of_stream_tile = 64;
inline constexpr std::int64_t keys_of_panel = 32;  // the most that one register tile covers
inline constexpr std::int64_t rows_of_group = 12;  // likewise; tiles of a multiple waste nothing

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Floats of one row of SoftmaxState::sums_of_values, of one row of LoadedQueries.
[[nodiscard]] constexpr std::int64_t padded_features(std::int64_t features) {
  return rounded_up(features, lane_multiple);
}

// Floats of what is packed.
[[nodiscard]] constexpr std::int64_t packed_keys_size(std::int64_t keys, std::int64_t head_dim) {
  return rounded_up(keys, keys_of_panel) * head_dim;
}
[[nodiscard]] constexpr std::int64_t packed_values_size(std::int64_t keys, std::int64_t features) {
  return rounded_up(keys, keys_of_tile) * padded_features(features);
}
[[nodiscard]] constexpr std::int64_t packed_queries_size(std::int64_t rows, std::int64_t head_dim) {
  return rounded_up(rows, rows_of_group) / 3 * 4 * head_dim;
}

// Floats of QueriesJob::loaded: rows are packed a few at once.
[[nodiscard]] constexpr std::int64_t loaded_queries_size(std::int64_t rows, std::int64_t head_dim) {
  return (rows + lane_multiple) * padded_features(head_dim);
}

// Floats of scratch memory of one call.
[[nodiscard]] constexpr std::int64_t pack_scratch_size(std::int64_t features) {
  return keys_of_panel * padded_features(features);
}
inline constexpr std::int64_t accumulate_scratch_size =
    rows_of_group * (keys_of_tile + 2 * lane_multiple);
// features: the larger one of head_dim and the features of values.
[[nodiscard]] constexpr std::int64_t stream_scratch_size(std::int64_t rows, std::int64_t features) {
  return rows * (keys_of_stream_tile + lane_multiple) + keys_of_panel * padded_features(features);
}

// Which features of a head are pair i: (i, i + pairs) or (2i, 2i + 1), from first_feature on.
// Pairings that write another order than they read are not needed here: queries and keys that are
// both left in the order they came in have the same scores.
enum class PairOrder { none, half, interleaved };

// How the heads that are loaded turn, in float32 and with the bits of the f32 Rotate kernels: the
// rows as in RotateJob.
struct HeadRotation {
  PairOrder order = PairOrder::none;  // none: they do not turn
  const float* rows = nullptr;        // of the first head: [lane_stride] cos, [lane_stride] sin
  std::int64_t row_stride = 0;        // elements from one head's row to the next; 0: one for all
  std::int64_t lane_stride = 0;
  std::int64_t first_feature = 0;
  std::int64_t pairs = 0;
  float cos_scale = 1;
  float sin_scale = 1;
};

// Keys or values of one kv head.
struct PackJob {
  const void* const* heads;  // [count] feature 0 of each; features are adjacent
  std::int64_t first;        // of which packed key they are the first, a multiple of keys_of_panel
  std::int64_t count;        // a multiple of keys_of_panel, unless they are the last
  std::int64_t features;
  HeadRotation rotation;  // of keys
  float* packed;          // where key 0 of the pack is
  float* scratch;         // [pack_scratch_size(features)]
};

// Queries of one tile.
struct QueriesJob {
  const void* const* heads;  // [rows] feature 0 of each; features are adjacent
  std::int64_t rows;
  std::int64_t head_dim;
  HeadRotation rotation;
  const float* scales;  // [rows] softmax scale * log2(e), times a row's own temperature; unaligned
  float* loaded;  // [loaded_queries_size(rows, head_dim)]: [rows][padded_features(head_dim)] for
                  // stream
  float* packed;  // where row 0 of the pack is, for accumulate; null: not packed
  std::int64_t first = 0;  // of which packed row they are the first, a multiple of rows_of_group
};

// What one row attends to: keys [first_key, end_key), and what is added to their scores:
// bias[bias_of_key_0 + j] for key j. Up to keys_of_panel keys are looked up together, from their
// first one on, which is a multiple of their number; where that reaches out of [0, bias_count), the
// nearest ones inside are taken. So a table that ends because the bias is constant from there on
// (T5, Shaw) ends in keys_of_panel equal entries, and any other one has keys_of_panel entries, of
// any value, more than are needed at each end.
struct RowLimits {
  std::int64_t first_key;
  std::int64_t end_key;        // <= first_key: the row attends to nothing
  const float* bias;           // [bias_count] in units of log2, -inf allowed; unaligned; null: none
  std::int64_t bias_of_key_0;  // may be negative
  std::int64_t bias_count;     // at least keys_of_panel
  // Key j is at place_of_key_0 + j of SoftmaxState::sums_of_weights, or at the nearest place.
  std::int64_t place_of_key_0 = 0;
};

// slope * term + offset, of numbers up to `end` from where the piece before ends.
struct StraightPiece {
  double slope;
  double offset;
  std::int64_t end;
};

// Beyond what a score can be beside it in float32 a bias counts as this much.
inline constexpr float largest_piece_bias = 0x1p126F;

struct PiecesJob {
  const double* terms;  // up to lane_multiple more than the last piece has are read; unaligned
  const StraightPiece* pieces;
  std::int64_t count;
  float* values;  // likewise written; unaligned
};
// Floats of one row of SoftmaxState::sums_of_weights: lane_multiple and more before and after the
// places, whose numbers belong to the first and to the last one.
[[nodiscard]] constexpr std::int64_t sums_of_weights_size(std::int64_t places) {
  return rounded_up(places, lane_multiple) + 2 * lane_multiple;
}

// Of rows: the largest score so far, the sum of 2^(score - max), and that sum with each key's
// values. Before the first call -inf, 0 and 0. At the end, where sum > 0,
// log-sum-exp = (max + log2(sum)) * ln(2). Where they are asked for, also the sums of the weights
// that fall on each of some places (distances of key and query), 0 at first; calls then see the
// keys in rising order.
struct SoftmaxState {
  float* max;                        // [rows]
  float* sum;                        // [rows]
  float* sums_of_values;             // [rows][padded_features(features)]
  float* sums_of_weights = nullptr;  // [rows][sums_of_weights_size(places)]; null: not asked for
  std::int64_t places = 0;           // at least 1
};

// Heads that a later call reads: they are brought into the second-level cache on the way.
struct NextHeads {
  const void* const* heads = nullptr;  // [count] feature 0 of each
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // of a head
};

struct AccumulateJob {
  const float* queries;     // packed
  std::int64_t first = 0;   // of which packed row they are the first, a multiple of rows_of_group
  const RowLimits* limits;  // [rows]
  std::int64_t rows;
  std::int64_t head_dim;
  std::int64_t features;   // of values
  const float* keys;       // packed
  const float* values;     // packed
  std::int64_t first_key;  // which key the first packed one is, a multiple of keys_of_tile
  std::int64_t count;      // packed keys
  SoftmaxState state;
  float* scratch;  // [accumulate_scratch_size]
  NextHeads next = {};
};

// Keys are fetched so many before they are read, where the processor does not find them by itself.
inline constexpr std::int64_t keys_fetched_ahead = 32;

// Heads of consecutive keys in blocks of a fixed number of keys. What is not paged is one block.
struct HeadBlocks {
  const void* const* blocks;  // feature 0 of the first head of each; features are adjacent
  std::int64_t block_keys;
  std::int64_t key_stride;  // elements from one head of a block to the next
  std::int64_t first;       // which key of the first block the job's first one is
  std::int64_t known;       // keys from the job's first one on that lie in blocks: those beyond the
                            // job's own are fetched for the next job, not read
};

struct StreamJob {
  const float* queries;     // [rows][padded_features(head_dim)], loaded
  const RowLimits* limits;  // [rows]
  std::int64_t rows;        // few
  std::int64_t head_dim;
  std::int64_t features;  // of values
  HeadBlocks keys;
  HeadRotation rotation;  // of keys, a few of which are turned in scratch at a time
  HeadBlocks values;
  std::int64_t first_key;  // which key the first one is, a multiple of keys_of_tile
  std::int64_t count;
  SoftmaxState state;
  float* scratch;  // [stream_scratch_size(rows, features)]
};

// Floats of one row of DistanceScoresJob::scores.
[[nodiscard]] constexpr std::int64_t distance_scores_size(std::int64_t count) {
  return rounded_up(count, lane_multiple) + 2 * keys_of_panel;
}

// Weights of a few rows, when their softmax is known: 2^(score - max) / sum, 0 where sum is 0.
struct WeightsJob {
  const float* queries;     // packed
  std::int64_t first;       // packed row, a multiple of rows_of_group
  std::int64_t rows;        // from there on, at most rows_of_group
  const RowLimits* limits;  // [rows]
  std::int64_t head_dim;
  const float* keys;       // packed
  std::int64_t first_key;  // as in AccumulateJob
  std::int64_t count;      // at most keys_of_tile
  const float* max;        // [rows]
  const float* sum;        // [rows]
  float* weights;          // [rows][keys_of_tile], those within a row's limits; the memory is
                           // [accumulate_scratch_size]
};

// Products of queries with vectors that belong to distances (Shaw), as biases of RowLimits: that of
// vector i is number keys_of_panel + i of a row, and the first and the last one are repeated.
struct DistanceScoresJob {
  const float* queries;  // packed
  std::int64_t first;    // packed row, a multiple of rows_of_group
  std::int64_t rows;     // from there on
  std::int64_t head_dim;
  const float* vectors;  // packed as keys
  std::int64_t count;    // of them
  std::int64_t begin;    // vectors [begin, end) are met; nobody reads the other ones' products
  std::int64_t end;
  float* scores;  // [rows][distance_scores_size(count)]
};

// Adds vectors that belong to places, times the sums of weights there, to the sums of values.
struct PlaceValuesJob {
  SoftmaxState state;
  const RowLimits* limits;  // [rows]; keys are places, and others than those of a row not read
  std::int64_t rows;
  std::int64_t features;
  const float* values;  // packed, state.places of them
  float* scratch;       // [accumulate_scratch_size]
};

// Of the same rows over other keys.
struct MergeJob {
  SoftmaxState into;
  SoftmaxState from;
  std::int64_t rows;
  std::int64_t features;
};

// sums_of_values / sum, rounded once more where it is stored; 0 where sum is 0.
struct FinishJob {
  SoftmaxState state;
  std::int64_t rows;
  std::int64_t features;
  void* const* heads;  // [rows] feature 0 of each; features are adjacent
};

using Pack = void (*)(const PackJob& job);
using LoadQueries = void (*)(const QueriesJob& job);
using Accumulate = void (*)(const AccumulateJob& job);
using Stream = void (*)(const StreamJob& job);
using FillPieces = void (*)(const PiecesJob& job);
using FindWeights = void (*)(const WeightsJob& job);
using ScoreDistances = void (*)(const DistanceScoresJob& job);
using AddPlaceValues = void (*)(const PlaceValuesJob& job);
using Merge = void (*)(const MergeJob& job);
using Finish = void (*)(const FinishJob& job);

// Of one dtype, each of its own tensor: queries, cache and result may differ.
struct AttendTypeKernels {
  Pack pack_keys;
  Pack pack_values;
  LoadQueries load_queries;
  Stream stream;
  Finish finish;
};

struct AttendKernels {
  AttendTypeKernels f32;
  AttendTypeKernels bf16;
  AttendTypeKernels f16;
  Accumulate accumulate;
  FillPieces fill_pieces;
  FindWeights find_weights;
  ScoreDistances score_distances;
  AddPlaceValues add_place_values;
  Merge merge;
};

}  // namespace rotary::kernels
