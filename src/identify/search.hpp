// SPDX-License-Identifier: Apache-2.0
// Compares mistakes, and pairs of mistakes, with the sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "identify/edits.hpp"
#include "identify/operation.hpp"

namespace rotary::identification {

// Up to two mistakes, as indices into the edits of a search.
using Combination = std::vector<std::size_t>;

// A candidate nearly explains the sample if its residual is at most this many times its tolerance.
inline constexpr double near = 4;

struct Candidate {
  Combination edits;
  double residual = 0;
  double tolerance = 0;  // the residual that rounding explains
  FoundArithmetic arithmetic = FoundArithmetic::exact;
  double bit_equal = 0;

  [[nodiscard]] bool explains() const noexcept { return residual <= tolerance; }
  [[nodiscard]] bool is_near() const noexcept { return residual <= near * tolerance; }
};

class Search {
 public:
  Search(Start start, std::int64_t most_causes);

  // Runs the search and sorts the candidates, the best first.
  void run();

  [[nodiscard]] const std::vector<Candidate>& candidates() const noexcept { return candidates_; }
  [[nodiscard]] std::size_t tied() const noexcept { return tied_; }
  [[nodiscard]] const std::vector<Edit>& edits() const noexcept { return edits_; }
  [[nodiscard]] std::size_t pairs() const noexcept { return pairs_; }
  [[nodiscard]] Operation operation_of(const Combination& combination) const;

 private:
  [[nodiscard]] const Turning* turning_of_edit(std::size_t edit);
  [[nodiscard]] std::optional<Turning> turning_of_combination(const Combination& combination,
                                                              const Operation& operation);
  [[nodiscard]] std::optional<Candidate> tried(const Combination& combination);
  [[nodiscard]] bool changes(std::size_t edit, std::size_t beside) const;
  void try_singles(std::size_t from);
  void try_pairs(std::uint32_t aspects);
  void add_base();
  void add_positions_beside_edits();
  void add_shifts();
  [[nodiscard]] std::optional<std::vector<double>> positions_beside(const Combination& combination);
  [[nodiscard]] bool add_token_positions(const Combination& combination,
                                         const std::vector<double>& positions);
  [[nodiscard]] bool add_beside(Combination combination, Edit edit);
  [[nodiscard]] bool explained() const noexcept;
  [[nodiscard]] bool explained_to_the_bit();
  void find_arithmetic(Candidate& candidate);
  void find_arithmetics();
  [[nodiscard]] double causes_of(const Candidate& candidate) const;
  void merge_equal();
  void rank();

  Start start_;
  std::int64_t most_causes_;
  std::vector<Edit> edits_;
  std::vector<Candidate> candidates_;
  std::size_t pairs_ = 0;
  std::size_t tied_ = 0;
  // The Turning of each single edit. The outer optional is empty until it is needed; the inner one
  // is empty if there is no such rotation.
  std::vector<std::optional<std::optional<Turning>>> turnings_;
  std::vector<double> predicted_;  // memory of find_arithmetic()
};

// The base that fits the sample best, with the structure from norms. It need not be a common base.
[[nodiscard]] std::optional<double> fitted_base(const Start& start, const Operation& operation);

// An edit of the offset if this gives `positions`, else of the factor that fits them best.
[[nodiscard]] std::optional<Edit> rule_of_positions(const Start& start,
                                                    const std::vector<double>& positions);

// Sorts stably by key(item), which is computed once for each item. Throws if memory is short, where
// std::stable_sort would go on slowly.
template <class Item, class Key>
void sort_by(std::vector<Item>& items, const Key& key) {
  std::vector<std::pair<decltype(key(items.front())), std::size_t>> order;
  order.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) order.emplace_back(key(items[i]), i);
  std::ranges::sort(order);
  std::vector<Item> sorted;
  sorted.reserve(items.size());
  for (const auto& each : order) sorted.push_back(std::move(items[each.second]));
  items = std::move(sorted);
}

}  // namespace rotary::identification
