// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/bias/bias_tables.hpp"

#include <algorithm>

#include "attention/attend/bounded_count.hpp"

namespace rotary {
namespace {

bool contains(const Distances& range, const Distances& part) noexcept {
  return range.first <= part.first && part.last <= range.last;
}

// Range of key - query that the mask allows for queries up to last_query. If the mask allows no
// pair, the range still holds one distance.
Distances seen_distances(const BiasedBlock& block, std::int64_t last_query) noexcept {
  const AttentionSequence& sequence = block.sequence;
  const AttentionMask& mask = block.mask;
  Distances seen{.first = sequence.key_position + block.keys.begin - last_query,
                 .last = sequence.key_position + block.keys.end - 1 - sequence.query_position};
  if (mask.order == AttentionOrder::causal) seen.last = std::min<std::int64_t>(seen.last, 0);
  if (mask.sinks == 0) {
    if (mask.left) seen.first = std::max(seen.first, -*mask.left);
    if (mask.right) seen.last = std::min(seen.last, *mask.right);
  }
  seen.last = std::max(seen.first, seen.last);
  return seen;
}

std::int64_t last_position(const AttentionSequence& sequence) noexcept {
  return sequence.query_position + sequence.queries - 1;
}

Distances all_distances(const ScoreBias& bias, const BiasedBlock& block) noexcept {
  return bias.distinct(seen_distances(block, last_position(block.sequence)));
}

// FIRE's queries up to its threshold share one divisor.
bool is_below_threshold(const relative::FireEvaluator& fire, std::int64_t query) noexcept {
  return query <= static_cast<std::int64_t>(std::min(fire.reach(0), 0x1p60));
}

// Distances for the queries that use tables; empty if none do.
Distances table_distances(const ScoreBias& bias, const BiasedBlock& block) noexcept {
  const relative::FireEvaluator* const fire = bias.fire();
  const Distances all = all_distances(bias, block);
  if (fire == nullptr) return all;
  if (!is_below_threshold(*fire, block.sequence.query_position)) return {};
  const std::int64_t last = last_position(block.sequence);
  if (is_below_threshold(*fire, last)) return all;
  // Queries up to the threshold may see no key. seen_distances() then returns one distance,
  // possibly outside `all`.
  const Distances low = seen_distances(block, static_cast<std::int64_t>(fire->reach(0)));
  return {.first = std::min(low.first, all.last), .last = std::min(low.last, all.last)};
}

std::int64_t stride_of(const Distances& range) noexcept {
  return range.count() == 0 ? 0 : range.count() + 2 * bias_margin;
}

}  // namespace

BiasSizes largest(const BiasSizes& a, const BiasSizes& b) noexcept {
  return {.terms = std::max(a.terms, b.terms),
          .tables = std::max(a.tables, b.tables),
          .rows = std::max(a.rows, b.rows),
          .breaks = std::max(a.breaks, b.breaks),
          .denominators = std::max(a.denominators, b.denominators)};
}

BiasSizes bias_sizes(const ScoreBias& bias, const BiasedBlock& block, std::int64_t rows) noexcept {
  // A block with all keys of its sequence needs one entry for each distinct distance. For a block
  // with fewer keys, the sizes suffice for any `keys` consecutive keys.
  const std::int64_t keys = block.keys.end - block.keys.begin;
  const std::int64_t some = keys + block.sequence.queries;
  const bool all = keys == block.sequence.keys;
  BiasSizes sizes;
  if (bias.keeps_terms())
    sizes.terms = (all ? all_distances(bias, block).count() : some) + kernels::lane_multiple;
  const Distances tables = all ? table_distances(bias, block) : Distances{.first = 1, .last = some};
  sizes.tables = bounded_product(block.heads, stride_of(tables));
  if (bias.fire() == nullptr) return sizes;
  sizes.rows = rows * row_bias_stride;
  sizes.breaks = static_cast<std::int64_t>(bias.fire()->breaks().size());
  sizes.denominators = block.queries;
  return sizes;
}

BiasTables::BiasTables(const ScoreBias* bias, const kernels::BiasKernels& kernels,
                       const BiasMemory& memory) noexcept
    : bias_(bias), kernels_(kernels), memory_(memory) {
  if (bias_ != nullptr && bias_->fire() != nullptr)
    fire_.emplace(*bias_->fire(), kernels_.fill_pieces, memory_.fire);
}

void BiasTables::begin(const BiasedBlock& block) noexcept {
  if (bias_ == nullptr) return;
  make_terms(block);
  make_tables(block);
  for (std::int64_t query = 0; query < block.queries; ++query) {
    const std::int64_t position = block.sequence.query_position + block.first_query + query;
    if (has_rows(position)) memory_.denominators[query] = bias_->fire()->denominator(position);
  }
}

void BiasTables::make_terms(const BiasedBlock& block) noexcept {
  const Distances range = all_distances(*bias_, block);
  if (contains(range_, range)) return;
  range_ = range;
  if (!bias_->keeps_terms()) return;
  bias_->fill_terms(range_, memory_.terms);
  std::fill_n(memory_.terms + range_.count(), kernels::lane_multiple, 0.0);
  if (fire_) fire_->set_terms(memory_.terms, range_.first);
}

void BiasTables::make_tables(const BiasedBlock& block) noexcept {
  const Distances range = table_distances(*bias_, block);
  if (range.count() == 0) return;
  const bool same_heads = block.first_head == first_head_ && block.heads == heads_;
  if (same_heads && contains(table_range_, range)) return;
  first_head_ = block.first_head;
  heads_ = block.heads;
  table_range_ = range;
  table_stride_ = stride_of(range);
  fire_ ? fill_fire_tables(block.sequence.query_position) : fill_tables();
}

void BiasTables::fill_tables() noexcept {
  const double* const terms =
      bias_->keeps_terms() ? memory_.terms + (table_range_.first - range_.first) : nullptr;
  const DistanceTables tables{.tables = memory_.tables,
                              .stride = table_stride_,
                              .first_head = first_head_,
                              .heads = heads_,
                              .range = table_range_,
                              .margin = bias_margin,
                              .terms = terms};
  bias_->fill(tables, kernels_);
}

// All queries that use tables have the divisor of the first query.
void BiasTables::fill_fire_tables(std::int64_t query_position) noexcept {
  for (std::int64_t head = 0; head < heads_; ++head) {
    float* const table = memory_.tables + head * table_stride_;
    std::fill_n(table, table_stride_, 0.0F);
    fire_->fill({.denominator = bias_->fire()->denominator(query_position),
                 .head = first_head_ + head,
                 .keys = table_range_,
                 .values = table + bias_margin});
  }
}

bool BiasTables::has_rows(std::int64_t position) const noexcept {
  return fire_ && !is_below_threshold(*bias_->fire(), position);
}

void BiasTables::set_table(kernels::RowLimits& limits, std::int64_t head,
                           std::int64_t key_0) const noexcept {
  limits.bias = memory_.tables + (head - first_head_) * table_stride_;
  limits.bias_of_key_0 = bias_margin + key_0 - table_range_.first;
  limits.bias_count = table_stride_;
}

void BiasTables::make_row(kernels::RowLimits& limits, const Row& row) noexcept {
  float* const values = memory_.rows + row.row * row_bias_stride;
  limits.bias = values;
  limits.bias_of_key_0 = bias_margin - row.keys.begin;
  limits.bias_count = row_bias_stride;
  const std::int64_t begin = std::max(limits.first_key, row.keys.begin);
  const std::int64_t end = std::min(limits.end_key, row.keys.end);
  if (begin >= end) return;
  fire_->fill({.denominator = memory_.denominators[row.query],
               .head = row.head,
               .keys = {.first = row.key_0 + begin, .last = row.key_0 + end - 1},
               .values = values + bias_margin + (begin - row.keys.begin)});
}

}  // namespace rotary
