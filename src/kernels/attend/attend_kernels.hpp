// SPDX-License-Identifier: Apache-2.0
// The contract of the attention kernels, which extends kernels.hpp. Kernels take plain pointers,
// sizes and scratch memory, and neither allocate nor fail. They compute in float32. Scores are in
// units of log2: the caller multiplies the softmax scale and every bias by log2(e).
//
// A query row is one token of one query head. A tile of rows attends to the keys and values of one
// kv head in one of two ways, and may switch between them at any key:
//   accumulate: keys and values are packed once for many rows, then multiplied as matrices;
//   stream: keys and values are read in place, once, for few rows (a decode step).
// Both leave a row's softmax unfinished in a SoftmaxState. A row's keys can thus come in several
// calls, such as one for sinks and one for a window. States over different keys can be merged.
//
// Keys are counted from 0; calls begin at a multiple of keys_of_tile. A row's summation order
// depends only on its limits, its bias and the keys of each call, not on the call's other rows. A
// key beyond a row's limits does not affect the row, even if the key holds NaN. Float pointers in
// this header are aligned to attend_alignment bytes unless a comment says "unaligned".
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "kernels/key_fetching.hpp"

namespace rotary::kernels {

inline constexpr std::size_t attend_alignment = 64;
inline constexpr std::int64_t keys_of_tile = 256;
inline constexpr std::int64_t keys_of_stream_tile = 64;
inline constexpr std::int64_t keys_of_panel = 32;  // the most keys of one register tile
inline constexpr std::int64_t rows_of_group = 12;  // the most rows of one register tile

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Floats in one row of SoftmaxState::sums_of_values and of QueriesJob::loaded.
[[nodiscard]] constexpr std::int64_t padded_features(std::int64_t features) {
  return rounded_up(features, lane_multiple);
}

// Floats of packed keys, values or queries.
[[nodiscard]] constexpr std::int64_t packed_keys_size(std::int64_t keys, std::int64_t head_dim) {
  return rounded_up(keys, keys_of_panel) * head_dim;
}
[[nodiscard]] constexpr std::int64_t packed_values_size(std::int64_t keys, std::int64_t features) {
  return rounded_up(keys, keys_of_tile) * padded_features(features);
}
[[nodiscard]] constexpr std::int64_t packed_queries_size(std::int64_t rows, std::int64_t head_dim) {
  return rounded_up(rows, rows_of_group) / 3 * 4 * head_dim;
}

// Floats in QueriesJob::loaded. Packing reads a few rows at a time, hence the extra rows.
[[nodiscard]] constexpr std::int64_t loaded_queries_size(std::int64_t rows, std::int64_t head_dim) {
  return (rows + lane_multiple) * padded_features(head_dim);
}

// Floats of scratch memory for packing.
[[nodiscard]] constexpr std::int64_t pack_scratch_size(std::int64_t features) {
  return keys_of_panel * padded_features(features);
}
inline constexpr std::int64_t accumulate_scratch_size =
    rows_of_group * (keys_of_tile + 2 * lane_multiple);
// Floats for scores of two tiles and for loaded heads. features: the larger of a key and a value.
[[nodiscard]] constexpr std::int64_t stream_scratch_size(std::int64_t rows, std::int64_t features) {
  return 2 * rows * (keys_of_stream_tile + lane_multiple) +
         keys_of_panel * padded_features(features);
}

// Which features of a block form pair i: (i, i + pairs) or (2i, 2i + 1). No order permutes
// features, because the same permutation of queries and keys leaves scores unchanged.
enum class PairOrder { none, half, interleaved };

// Rotates the heads as they are loaded, in float32, with the same bits as the f32 Rotate kernels.
// Rows are as in RotateJob.
struct HeadRotation {
  PairOrder order = PairOrder::none;  // none: no rotation
  const float* rows = nullptr;        // for the first head: [lane_stride] cos, [lane_stride] sin
  std::int64_t row_stride = 0;        // elements from one head's row to the next; 0: one for all
  std::int64_t lane_stride = 0;
  std::int64_t first_feature = 0;
  std::int64_t blocks = 1;  // one after the other; each uses the next pairs of the row
  std::int64_t pairs = 0;   // of a block
  float cos_scale = 1;
  float sin_scale = 1;
};

struct PackJob {
  const void* const* heads;  // [count] feature 0 of each; features are adjacent
  std::int64_t first;  // index of heads[0] among all packed heads, a multiple of keys_of_panel
  std::int64_t count;  // a multiple of keys_of_panel, except in the last call
  std::int64_t features;
  HeadRotation rotation;          // keys only
  float* packed;                  // start of the pack, where key 0 is
  float* scratch;                 // [pack_scratch_size(features)]
  const float* scales = nullptr;  // [count] of int8 heads, multiplied in before rotation
};

// Queries of one tile, to be loaded.
struct QueriesJob {
  const void* const* heads;  // [rows] feature 0 of each; features are adjacent
  std::int64_t rows;
  std::int64_t head_dim;
  HeadRotation rotation;
  const float* scales;     // [rows] softmax scale * log2(e) * temperature of the row; unaligned
  float* loaded;           // [loaded_queries_size(rows, head_dim)]; stream reads it as
                           // [rows][padded_features(head_dim)]
  float* packed;           // start of the pack, where row 0 is, for accumulate; null: not packed
  std::int64_t first = 0;  // index of heads[0] among all packed rows, a multiple of rows_of_group
};

// Keys [first_key, end_key) that a row attends to. The bias of key j's score is bias[bias_of_key_0
// + j]. Kernels read the entries of n <= keys_of_panel consecutive keys at once; the first key is a
// multiple of n. A read outside [0, bias_count) is moved to the nearest entries inside.
// A table whose last bias serves all farther keys (T5, Shaw) must thus end in keys_of_panel equal
// entries. Any other table needs keys_of_panel extra entries, of any value, at each end.
struct RowLimits {
  std::int64_t first_key;
  std::int64_t end_key;        // <= first_key: no keys
  const float* bias;           // [bias_count] in units of log2, -inf allowed; unaligned; null: none
  std::int64_t bias_of_key_0;  // may be negative
  std::int64_t bias_count;     // at least keys_of_panel
  // The weight of key j is added to sums_of_weights[place_of_key_0 + j], clamped to the places.
  std::int64_t place_of_key_0 = 0;
};

// A row's bias, read like the bias of RowLimits.
struct BiasTable {
  const float* values = nullptr;
  std::int64_t of_key_0 = 0;
  std::int64_t count = 0;
};

// Loads mask numbers times log2(e). Finite results are clamped to ±largest_bias.
struct MaskNumbersJob {
  const void* first;    // of the kernel's type
  std::int64_t stride;  // elements
  std::int64_t count;
  float* to;  // [count]; unaligned
};
using LoadMask = void (*)(const MaskNumbersJob& job);

// Numbers added to a row's scores after the cap. The row does not see a key whose number is -inf or
// whose boolean is 0, even if the key holds NaN.
struct RowChange {
  BiasTable bias;
  const void* numbers = nullptr;           // from key 0 on; null: none
  const std::uint8_t* booleans = nullptr;  // from key 0 on; null: none
};

// Number of 64-bit words with a bit for each key of a tile.
inline constexpr std::int64_t words_of_tile = keys_of_tile / 64;

// Changes to scores before the softmax. The scores already include the bias of RowLimits.
struct ScoreChanges {
  const RowChange* rows = nullptr;  // [rows] of the job; null: no change, and no cost
  float cap = 0;                    // scores become cap * tanh(score / cap); units of log2; 0: none
  float inverse_cap = 0;
  LoadMask load_numbers = nullptr;
  std::int64_t number_bytes = 0;
  std::int64_t numbers_stride = 0;  // elements from one key to the next
  std::int64_t booleans_stride = 0;
  std::uint64_t* seen = nullptr;  // [rows at a time][words_of_tile], scratch; null: no mask
};

// The bias is slope * term + offset, from the end of the previous piece to entry `end`.
struct StraightPiece {
  double slope;
  double offset;
  std::int64_t end;
};

// Largest magnitude of a finite bias, above any finite score. Larger biases are clamped to it.
inline constexpr float largest_bias = 0x1p126F;

struct PiecesJob {
  const double* terms;  // unaligned; up to lane_multiple beyond the last piece are read
  const StraightPiece* pieces;
  std::int64_t count;
  float* values;  // unaligned; up to lane_multiple beyond the last piece are written
};

// Gives factor * ln(1 + inner * |distance|) or factor * |distance|^inner, for distances from
// `first` on. inner > 0.
struct DistanceFormulaJob {
  std::int64_t first;
  std::int64_t count;
  double factor;
  double inner;
  float* values;  // unaligned; up to lane_multiple beyond the last one are written
};

// Floats in one row of SoftmaxState::sums_of_weights. A row has a margin of at least lane_multiple
// floats on each side of its places. Sums in a margin belong to the nearest place.
[[nodiscard]] constexpr std::int64_t sums_of_weights_size(std::int64_t places) {
  return rounded_up(places, lane_multiple) + 2 * lane_multiple;
}

// The softmax of some rows over the keys so far: the largest score (max), the sum of 2^(score -
// max), and the sum of 2^(score - max) times each key's values. They start as -inf, 0 and 0. At the
// end, if sum > 0, the log-sum-exp is (max + log2(sum)) * ln(2). On request, weights are also
// summed for each place (a distance from query to key). These sums start as 0, and calls must give
// keys in ascending order.
struct SoftmaxState {
  float* max;                        // [rows]
  float* sum;                        // [rows]
  float* sums_of_values;             // [rows][padded_features(features)]
  float* sums_of_weights = nullptr;  // [rows][sums_of_weights_size(places)]; null: not wanted
  std::int64_t places = 0;           // at least 1 with sums_of_weights
};

// Heads that a later call reads. This call prefetches them into the L2 cache.
struct NextHeads {
  const void* const* heads = nullptr;  // [count] feature 0 of each
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // per head
};

struct AccumulateJob {
  const float* queries;     // packed
  std::int64_t first = 0;   // index of row 0 among all packed rows, a multiple of rows_of_group
  const RowLimits* limits;  // [rows]
  std::int64_t rows;
  std::int64_t head_dim;
  std::int64_t features;   // of a value
  const float* keys;       // packed
  const float* values;     // packed
  std::int64_t first_key;  // index of the first packed key, a multiple of keys_of_tile
  std::int64_t count;      // packed keys
  SoftmaxState state;
  float* scratch;  // [accumulate_scratch_size]
  NextHeads next = {};
  ScoreChanges changes = {};  // seen: rows_of_group at a time
};

// Most keys that are prefetched ahead.
inline constexpr std::int64_t keys_fetched_ahead = 64;

// Heads of consecutive keys, in blocks of a fixed number of keys. Without pages, a single block.
struct HeadBlocks {
  const void* const* blocks;  // feature 0 of the first head of each; features are adjacent
  std::int64_t block_keys;
  std::int64_t key_stride;  // elements from one head of a block to the next
  std::int64_t first;       // index of the job's first key within the first block
  std::int64_t known;       // keys in blocks, from the job's first key on; those beyond the
                            // job's last are prefetched for the next job
  KeyFetching fetching = KeyFetching::lines;
};

struct StreamJob {
  const float* queries;     // [rows][padded_features(head_dim)], loaded
  const RowLimits* limits;  // [rows]
  std::int64_t rows;        // small
  std::int64_t head_dim;
  std::int64_t features;  // of a value
  HeadBlocks keys;
  HeadRotation rotation;  // of keys; a few at a time are rotated in scratch
  HeadBlocks values;
  std::int64_t first_key;  // index of the first key, a multiple of keys_of_tile
  std::int64_t count;
  SoftmaxState state;
  float* scratch;  // [stream_scratch_size(rows, max(head_dim, features))]
  // Scales of int8 heads: [rounded_up(count, keys_of_panel)]; only [count] are defined.
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;
  ScoreChanges changes = {};  // seen: all rows
};

// Floats in one row of DistanceScoresJob::scores.
[[nodiscard]] constexpr std::int64_t distance_scores_size(std::int64_t count) {
  return rounded_up(count, lane_multiple) + 2 * keys_of_panel;
}

// Writes the weights of a few rows with a known softmax: 2^(score - max) / sum, 0 if sum is 0.
struct WeightsJob {
  const float* queries;     // packed
  std::int64_t first;       // index of the first packed row, a multiple of rows_of_group
  std::int64_t rows;        // at most rows_of_group
  const RowLimits* limits;  // [rows]
  std::int64_t head_dim;
  const float* keys;       // packed
  std::int64_t first_key;  // as in AccumulateJob
  std::int64_t count;      // at most keys_of_tile
  const float* max;        // [rows]
  const float* sum;        // [rows]
  float* weights;          // [rows][keys_of_tile], defined within a row's limits; the memory must
                           // have accumulate_scratch_size floats
  ScoreChanges changes = {};
};

// Writes products of queries with Shaw's vectors of distances, as biases for RowLimits. The product
// with vector i is entry keys_of_panel + i of a row. The first and last products are repeated.
struct DistanceScoresJob {
  const float* queries;  // packed
  std::int64_t first;    // index of the first packed row, a multiple of rows_of_group
  std::int64_t rows;     // number of rows, from `first` on
  std::int64_t head_dim;
  const float* vectors;  // packed as keys
  std::int64_t count;    // number of vectors
  std::int64_t begin;    // only products with vectors [begin, end) are read later
  std::int64_t end;
  float* scores;  // [rows][distance_scores_size(count)]
};

// Adds each place's vector, times the place's sum of weights, to the sums of values.
struct PlaceValuesJob {
  SoftmaxState state;
  const RowLimits* limits;  // [rows], for places instead of keys; other places are not read
  std::int64_t rows;
  std::int64_t features;
  const float* values;  // packed; state.places of them
  float* scratch;       // [accumulate_scratch_size]
  // As in ScoreChanges. If not null, places without weight are left out, since a mask hides them.
  std::uint64_t* seen = nullptr;
};

// Merges the states of the same rows over different keys.
struct MergeJob {
  SoftmaxState into;
  SoftmaxState from;
  std::int64_t rows;
  std::int64_t features;
};

// Writes sums_of_values / sum, rounded to the kernel's dtype when stored; 0 if sum is 0.
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
using FillFormula = void (*)(const DistanceFormulaJob& job);
using FindWeights = void (*)(const WeightsJob& job);
using ScoreDistances = void (*)(const DistanceScoresJob& job);
using AddPlaceValues = void (*)(const PlaceValuesJob& job);
using Merge = void (*)(const MergeJob& job);
using Finish = void (*)(const FinishJob& job);

// Kernels for keys and values of one stored type.
struct StoredKernels {
  Pack pack_keys;
  Pack pack_values;
  Stream stream;
};

// Kernels for one dtype. Queries, cache and result may have different dtypes.
struct AttendTypeKernels {
  StoredKernels stored;
  LoadQueries load_queries;
  Finish finish;
  LoadMask load_mask;
};

// Biases in units of log2, computed in double. Each is rounded once and clamped to largest_bias.
struct BiasKernels {
  FillPieces fill_pieces;
  FillFormula fill_logarithms;
  FillFormula fill_powers;
};

struct AttendKernels {
  PerDType<AttendTypeKernels> types;
  StoredKernels int8;
  Accumulate accumulate;
  BiasKernels bias;
  FindWeights find_weights;
  ScoreDistances score_distances;
  AddPlaceValues add_place_values;
  Merge merge;
};

}  // namespace rotary::kernels
