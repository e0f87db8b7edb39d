// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/attend_plan.hpp"

#include <algorithm>
#include <utility>

namespace rotary {
namespace {

using kernels::padded_features;

// Limit on the rows of a streamed unit, over all its kv heads: their state must fit the L2 cache.
constexpr std::int64_t most_rows_of_unit = 256;

// Limit on the floats of a block for Shaw's products and weight sums, over all its rows.
constexpr std::int64_t floats_of_distances = std::int64_t{1} << 19;

// Limit on the rows of a block or of a streamed unit. Shaw's vectors lower it.
std::int64_t most_rows(const CallSizes& of) {
  return std::clamp(floats_of_distances / (1 + of.distances), rows_of_load, rows_of_block);
}

std::int64_t divided_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

BlockShape shape_of(const CallSizes& of, std::int64_t queries) {
  const bool few = queries <= most_streamed_rows && queries * of.group <= most_streamed_rows;
  const bool streamed = few && of.has_one_dtype && !of.has_weights;
  return {.queries = queries,
          .group = of.group,
          .path = streamed ? KeyPath::streamed : KeyPath::packed};
}

QueryGroup group_at(const Plan& plan, std::int64_t index, std::int64_t first_query) {
  const CallSizes& of = plan.of;
  const AttentionSequence sequence = of.sequences[index];
  QueryGroup group{.sequence = index,
                   .first_query = first_query,
                   .queries = sequence.queries - first_query,
                   .by_keys = sequence.queries <= most_queries_by_keys && !of.has_weights};
  if (group.queries == 0) return group;
  if (group.by_keys) {
    group.queries = std::min(group.queries, plan.queries_of_block);
    group.splits = key_splits(of.mask, sequence, first_query, group.queries);
  }
  group.blocks = divided_up(group.queries, plan.queries_of_block);
  group.shape = shape_of(of, std::min(group.queries, plan.queries_of_block));
  if (group.by_keys && group.shape.path == KeyPath::streamed) group.heads = plan.heads_of_unit;
  group.parts = divided_up(of.kv_heads, group.heads);
  const std::int64_t splits = group.by_keys ? group.splits.count() : 1;
  if (splits > 1)
    group.partial_rows = bounded_product(splits, bounded_product(group.shape.rows(), of.kv_heads));
  return group;
}

template <class Visit>
void for_each_different_group(const Plan& plan, const Visit& visit) {
  for (std::int64_t index = 0; index < plan.of.sequences.different(); ++index) {
    const std::int64_t queries = plan.of.sequences[index].queries;
    for (std::int64_t first = 0; first < queries;) {
      const QueryGroup group = group_at(plan, index, first);
      visit(group);
      first += group.queries;
    }
  }
}

// Number of kv heads in a unit that streams its keys: so few that each thread of the executor gets
// two units, if possible.
std::int64_t heads_of_streamed_unit(const Plan& plan, std::int64_t alike) {
  const CallSizes& of = plan.of;
  std::int64_t units = 0;
  std::int64_t rows = 1;
  for_each_different_group(plan, [&](const QueryGroup& group) {
    if (!group.by_keys) return;
    units = std::min(units + group.splits.count(), beyond_count);
    rows = std::max(rows, group.shape.rows());
  });
  units = std::max<std::int64_t>(bounded_product(units, alike), 1);
  const std::int64_t heads = std::max<std::int64_t>(of.kv_heads, 1);
  const std::int64_t threads = std::max<std::int64_t>(of.executor.concurrency, 1);
  const std::int64_t wanted = of.executor.run == nullptr ? 1 : bounded_product(2, threads);
  const std::int64_t parts = std::clamp<std::int64_t>(divided_up(wanted, units), 1, heads);
  const std::int64_t most = std::min(most_rows_of_unit, most_rows(of)) / rows;
  return std::clamp<std::int64_t>(most, 1, divided_up(heads, parts));
}

// Floats for the weight sums of one row; 0 without Shaw's value vectors.
std::int64_t weights_of_row(std::int64_t distances) {
  return distances == 0 ? 0 : kernels::sums_of_weights_size(distances);
}

std::size_t partial_bytes(const Plan& plan) {
  const std::int64_t of_row =
      4 * (2 + padded_features(plan.sizes.features) + weights_of_row(plan.sizes.value_distances));
  const std::int64_t rows = kernels::rounded_up(plan.partial_rows, kernels::lane_multiple);
  return static_cast<std::size_t>(bounded_product(rows, of_row)) +
         static_cast<std::size_t>(bounded_product(plan.partial_blocks, 4));
}

void enlarge(ScratchSizes& sizes, const QueryGroup& group, const Plan& plan) {
  const std::int64_t block = plan.queries_of_block;
  for (const std::int64_t queries :
       {std::min(block, group.queries), (group.queries - 1) % block + 1}) {
    const BlockShape shape{.queries = queries, .group = plan.of.group};
    sizes.rows = std::max(sizes.rows, shape.rows());
    sizes.rows_of_heads = std::max(sizes.rows_of_heads, group.heads * shape.rows());
  }
}

// The largest block of the group, for sizing its bias tables.
BiasedBlock biased_block(const CallSizes& of, const QueryGroup& group) {
  const AttentionSequence sequence = of.sequences[group.sequence];
  const std::int64_t keys = group.by_keys ? std::min(sequence.keys, keys_of_split) : sequence.keys;
  return {.sequence = sequence,
          .mask = of.mask,
          .keys = {0, keys},
          .first_query = group.first_query,
          .queries = group.shape.queries,
          .first_head = 0,
          .heads = group.heads * of.group};
}

CallSizes sizes_of(const AttendCall& call) {
  CallSizes sizes{.sequences = call.sequences(),
                  .mask = call.options.mask,
                  .executor = call.options.executor,
                  .group = call.group(),
                  .kv_heads = call.k.extents.heads,
                  .has_weights = call.weights() != nullptr,
                  .has_one_dtype = call.k.dtype == call.v.dtype};
  for (const ShawTable* shaw : {call.options.encoding.shaw_keys, call.options.encoding.shaw_values})
    sizes.distances += shaw == nullptr ? 0 : shaw->window.rows();
  return sizes;
}

}  // namespace

Plan plan_of(const AttendCall& call, const ScoreBias* bias, const ShawOfCall& shaw) noexcept {
  Plan plan;
  plan.of = sizes_of(call);
  const CallSizes& of = plan.of;
  const std::int64_t different = of.sequences.different();
  const std::int64_t alike = different == 0 ? 0 : of.sequences.count() / different;
  const std::int64_t queries = most_rows(of) / std::max<std::int64_t>(of.group, 1);
  plan.queries_of_block =
      std::max<std::int64_t>(queries / kernels::rows_of_group * kernels::rows_of_group, 1);
  plan.heads_of_unit = heads_of_streamed_unit(plan, alike);
  plan.sizes.head_dim = call.q.extents.features;
  plan.sizes.features = call.v.extents.features;
  plan.sizes.key_distances = shaw.keys.count;
  plan.sizes.value_distances = shaw.values.count;
  plan.sizes.has_scales = call.k.quantized();
  plan.sizes.has_changes = call.options.softcap.has_value() || call.masks_pairs();
  for_each_different_group(plan, [&](const QueryGroup& group) {
    const auto add = [&](std::int64_t& sum, std::int64_t count) {
      sum = std::min(sum + bounded_product(count, alike), beyond_count);
    };
    add(plan.units, group.units());
    add(plan.partial_rows, group.partial_rows);
    add(plan.partial_blocks, group.partial_blocks());
    enlarge(plan.sizes, group, plan);
    if (bias == nullptr) return;
    const BiasSizes sizes = bias_sizes(*bias, biased_block(of, group), rows_of_bias);
    plan.sizes.bias = largest(plan.sizes.bias, sizes);
  });
  if (plan.units == 0) return plan;
  const std::int64_t most = of.executor.run == nullptr ? 1 : of.executor.concurrency;
  plan.workers = std::clamp<std::int64_t>(std::min(most, plan.units), 1, 1 << 16);
  const auto floats = static_cast<std::int64_t>(packed_floats(call, shaw));
  plan.shaw_bytes =
      static_cast<std::size_t>(4 * kernels::rounded_up(floats, kernels::lane_multiple));
  plan.worker_bytes = scratch_bytes(plan.sizes);
  plan.partial_bytes = partial_bytes(plan);
  return plan;
}

std::size_t Plan::bytes() const noexcept {
  const auto of_workers = bounded_product(workers, static_cast<std::int64_t>(worker_bytes));
  return shaw_bytes + static_cast<std::size_t>(of_workers) + partial_bytes;
}

PartialStates partial_states_in(std::byte* memory, const Plan& plan) noexcept {
  const std::int64_t rows = kernels::rounded_up(plan.partial_rows, kernels::lane_multiple);
  const std::int64_t places = plan.sizes.value_distances;
  auto* next = reinterpret_cast<float*>(plan.worker_in(memory, plan.workers));
  const auto take = [&](std::int64_t floats) { return std::exchange(next, next + floats); };
  PartialStates partial;
  partial.states = {.max = take(rows),
                    .sum = take(rows),
                    .sums_of_values = take(rows * padded_features(plan.sizes.features)),
                    .sums_of_weights = places == 0 ? nullptr : take(rows * weights_of_row(places)),
                    .places = places};
  partial.finished = reinterpret_cast<std::int32_t*>(next);
  std::fill_n(partial.finished, plan.partial_blocks, 0);
  return partial;
}

UnitCursor::UnitCursor(const Plan& plan) : plan_(plan), group_(group_at(plan, 0, 0)) {}

QueryBlock UnitCursor::at(std::int64_t index) {
  while (index - first_ >= group_.units()) {
    first_ += group_.units();
    first_partial_row_ += group_.partial_rows;
    first_partial_block_ += group_.partial_blocks();
    const std::int64_t end = group_.first_query + group_.queries;
    const bool more = end < plan_.of.sequences[group_.sequence].queries;
    group_ = group_at(plan_, group_.sequence + (more ? 0 : 1), more ? end : 0);
  }
  const std::int64_t in_group = index - first_;
  if (!group_.by_keys) {
    // Consecutive units are the blocks of one head, which share bias tables.
    const std::int64_t first = in_group % group_.blocks * plan_.queries_of_block;
    return {.sequence = group_.sequence,
            .first_query = first,
            .first_kv_head = in_group / group_.blocks,
            .shape = shape_of(plan_.of, std::min(plan_.queries_of_block, group_.queries - first)),
            .keys = {0, plan_.of.sequences[group_.sequence].keys}};
  }
  const std::int64_t splits = group_.splits.count();
  const std::int64_t part = in_group / splits;
  const std::int64_t split = in_group % splits;
  const std::int64_t first_kv_head = part * group_.heads;
  return {.sequence = group_.sequence,
          .first_query = group_.first_query,
          .first_kv_head = first_kv_head,
          .kv_heads = std::min(group_.heads, plan_.of.kv_heads - first_kv_head),
          .shape = group_.shape,
          .keys = group_.splits.keys(split),
          .split = split,
          .splits = splits,
          .first_partial_row = first_partial_row_ + first_kv_head * splits * group_.shape.rows(),
          .partial_block = first_partial_block_ + part};
}

}  // namespace rotary
