// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/attend_scratch.hpp"

#include <algorithm>

#include "runtime/arena.hpp"

namespace rotary {
namespace {

static_assert(Arena::alignment == kernels::attend_alignment);

std::int64_t kernel_floats(const ScratchSizes& sizes) {
  const std::int64_t longest = std::max(sizes.head_dim, sizes.features);
  return std::max({kernels::pack_scratch_size(longest), kernels::accumulate_scratch_size,
                   kernels::stream_scratch_size(most_streamed_rows, longest)});
}

BiasMemory take(Arena& arena, const BiasSizes& sizes) noexcept {
  BiasMemory memory;
  memory.terms = arena.take<double>(sizes.terms);
  memory.tables = arena.take<float>(sizes.tables);
  memory.rows = arena.take<float>(sizes.rows);
  memory.denominators = arena.take<double>(sizes.denominators);
  memory.fire.bounds = arena.take<std::int64_t>(2 * sizes.breaks);
  memory.fire.pieces = arena.take<kernels::StraightPiece>(2 * (sizes.breaks + 1));
  return memory;
}

Scratch take(Arena& arena, const ScratchSizes& sizes) noexcept {
  Scratch s;
  s.sinks = arena.take<KeyRun>(sizes.rows);
  s.windows = arena.take<KeyRun>(sizes.rows);
  s.limits = arena.take<kernels::RowLimits>(sizes.rows);
  if (sizes.has_changes) {
    s.changes = arena.take<kernels::RowChange>(sizes.rows);
    s.seen = arena.take<std::uint64_t>(rows_of_bias * kernels::words_of_tile);
  }
  s.queries = arena.take<const void*>(rows_of_load);
  s.results = arena.take<void*>(rows_of_load);
  s.scales = arena.take<float>(rows_of_load);
  s.loaded = arena.take<float>(
      kernels::loaded_queries_size(std::max(rows_of_load, sizes.rows_of_heads), sizes.head_dim));
  s.packed_queries = arena.take<float>(kernels::packed_queries_size(sizes.rows, sizes.head_dim));
  s.state.max = arena.take<float>(sizes.rows_of_heads);
  s.state.sum = arena.take<float>(sizes.rows_of_heads);
  s.state.sums_of_values =
      arena.take<float>(sizes.rows_of_heads * kernels::padded_features(sizes.features));
  s.keys = arena.take<const void*>(blocks_of_tile);
  s.values = arena.take<const void*>(blocks_of_tile);
  if (sizes.has_scales) {
    s.key_scales = arena.take<float>(kernels::keys_of_tile);
    s.value_scales = arena.take<float>(kernels::keys_of_tile);
  }
  s.next = arena.take<const void*>(2 * kernels::keys_of_tile);
  s.packed_keys =
      arena.take<float>(kernels::packed_keys_size(kernels::keys_of_tile, sizes.head_dim));
  s.packed_values =
      arena.take<float>(kernels::packed_values_size(kernels::keys_of_tile, sizes.features));
  s.of_kernels = arena.take<float>(kernel_floats(sizes));
  s.bias = take(arena, sizes.bias);
  if (sizes.key_distances > 0)
    s.distance_scores =
        arena.take<float>(sizes.rows_of_heads * kernels::distance_scores_size(sizes.key_distances));
  s.state.places = sizes.value_distances;
  if (sizes.value_distances > 0)
    s.state.sums_of_weights = arena.take<float>(
        sizes.rows_of_heads * kernels::sums_of_weights_size(sizes.value_distances));
  return s;
}

}  // namespace

Scratch scratch_in(std::byte* memory, const ScratchSizes& sizes) noexcept {
  Arena arena(memory);
  return take(arena, sizes);
}

std::size_t scratch_bytes(const ScratchSizes& sizes) noexcept {
  Arena arena(nullptr);
  static_cast<void>(take(arena, sizes));
  return arena.bytes();
}

}  // namespace rotary
