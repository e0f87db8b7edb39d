// SPDX-License-Identifier: Apache-2.0

#include "lab/data/pair_batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"

namespace rotary::lab {

std::vector<Pair> pairs_of(std::string_view text) {
  std::vector<Pair> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
      throw cli::Failure(cli::ExitCode::malformed_input,
                         fmt::format("line {} of the pairs must have one tab", pairs.size() + 1));
    }
    pairs.push_back({.source = line.substr(0, tab), .target = line.substr(tab + 1)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

namespace {

constexpr std::size_t batches_of_pool = 50;

// Fisher and Yates 1938; std::shuffle differs between standard libraries.
void shuffle(std::span<std::size_t> items, Random& random) {
  for (std::size_t n = items.size(); n > 1; --n) {
    std::swap(items[n - 1],
              items[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)))]);
  }
}

// Appends the tokens and then padding up to `size`.
void append_row(std::vector<std::int64_t>& to, std::span<const std::int64_t> tokens,
                std::int64_t size) {
  to.insert(to.end(), tokens.begin(), tokens.end());
  to.insert(to.end(), static_cast<std::size_t>(size - std::ssize(tokens)), padding_piece);
}

}  // namespace

std::vector<TokenPair> tokenize_pairs(std::string_view text, const Pieces& pieces,
                                      std::int64_t tokens) {
  const std::vector<Pair> pairs = pairs_of(text);
  std::vector<std::string_view> sources;
  std::vector<std::string_view> targets;
  for (const Pair& pair : pairs) {
    sources.push_back(pair.source);
    targets.push_back(pair.target);
  }
  auto of_sources = pieces.encode(sources);
  auto of_targets = pieces.encode(targets);
  std::vector<TokenPair> tokenized;
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    if (std::max(std::ssize(of_sources[n]), std::ssize(of_targets[n])) >= tokens) continue;
    tokenized.push_back(
        {.text = pairs[n], .source = std::move(of_sources[n]), .target = std::move(of_targets[n])});
  }
  return tokenized;
}

PairBatch batch_of(const std::vector<TokenPair>& pairs, std::span<const std::size_t> indices) {
  PairBatch batch{.rows = std::ssize(indices)};
  for (const std::size_t index : indices) {
    batch.source_tokens = std::max(batch.source_tokens, std::ssize(pairs[index].source) + 1);
    batch.target_tokens = std::max(batch.target_tokens, std::ssize(pairs[index].target) + 1);
  }
  for (const std::size_t index : indices) {
    std::vector<std::int64_t> source = pairs[index].source;
    source.push_back(end_piece);
    append_row(batch.sources, source, batch.source_tokens);
    std::vector<std::int64_t> target = pairs[index].target;
    target.push_back(end_piece);
    append_row(batch.targets, target, batch.target_tokens);
    std::ranges::rotate(target, target.end() - 1);
    target.front() = begin_piece;
    append_row(batch.inputs, target, batch.target_tokens);
    batch.target_count += std::ssize(target);
  }
  return batch;
}

std::vector<std::size_t> by_length(const std::vector<TokenPair>& pairs,
                                   std::vector<std::size_t> indices) {
  std::ranges::stable_sort(indices, {}, [&](std::size_t index) {
    return std::pair(pairs[index].target.size(), pairs[index].source.size());
  });
  return indices;
}

PairOrder::PairOrder(const std::vector<TokenPair>& pairs, std::int64_t rows, std::uint64_t seed)
    : pairs_(pairs), rows_(static_cast<std::size_t>(rows)), seed_(seed) {
  batches_ = std::ssize(pairs) / rows;
  if (batches_ > 0) return;
  throw cli::Failure(
      cli::ExitCode::usage,
      fmt::format("a batch of {} pairs needs as many to train on, got {}", rows, pairs.size()));
}

std::span<const std::size_t> PairOrder::at(std::int64_t step) {
  if (step / batches_ != epoch_) arrange(step / batches_);
  const auto batch = static_cast<std::size_t>(step % batches_);
  return std::span(order_).subspan(batch * rows_, rows_);
}

void PairOrder::arrange(std::int64_t epoch) {
  Random random(seed_, static_cast<std::uint64_t>(epoch));
  std::vector<std::size_t> all(pairs_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  shuffle(all, random);
  const auto batches = static_cast<std::size_t>(batches_);
  std::vector<std::size_t> sorted;
  for (std::size_t first = 0; first < batches; first += batches_of_pool) {
    const std::size_t end = std::min(batches, first + batches_of_pool);
    const auto pool = std::span(all).subspan(first * rows_, (end - first) * rows_);
    const auto of_pool = by_length(pairs_, {pool.begin(), pool.end()});
    sorted.insert(sorted.end(), of_pool.begin(), of_pool.end());
  }
  std::vector<std::size_t> turns(batches);
  std::iota(turns.begin(), turns.end(), std::size_t{0});
  shuffle(turns, random);
  order_.clear();
  for (const std::size_t turn : turns) {
    const auto of_turn = std::span(sorted).subspan(turn * rows_, rows_);
    order_.insert(order_.end(), of_turn.begin(), of_turn.end());
  }
  epoch_ = epoch;
}

}  // namespace rotary::lab
