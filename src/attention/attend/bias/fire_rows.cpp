// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/bias/fire_rows.hpp"

#include <algorithm>
#include <numbers>
#include <span>

namespace rotary {

FireRows::FireRows(const relative::FireEvaluator& evaluator, kernels::FillPieces fill_pieces,
                   const FireMemory& memory) noexcept
    : evaluator_(evaluator), fill_pieces_(fill_pieces), memory_(memory) {
  const std::size_t breaks = evaluator.breaks().size();
  before_ = {.sign = -1, .bounds = memory.bounds};
  after_ = {.sign = 1, .bounds = memory.bounds + breaks};
  std::fill_n(memory.bounds, 2 * breaks, 0);
}

void FireRows::set_terms(const double* terms, std::int64_t first) noexcept {
  terms_ = terms;
  first_ = first;
}

// Finds the piece that holds the term, searching from `piece`.
std::size_t FireRows::piece_from(std::size_t piece, double term,
                                 double denominator) const noexcept {
  const std::span<const double> breaks = evaluator_.breaks();
  while (piece < breaks.size() && breaks[piece] * denominator < term) ++piece;
  while (piece > 0 && !(breaks[piece - 1] * denominator < term)) --piece;
  return piece;
}

// The first distance whose term is beyond the end of `piece`. The search starts at the previous
// row's bound. Requires that the nearest distance is within the end and the farthest beyond it.
std::int64_t FireRows::bound_from(const Side& side, std::size_t piece, const Reach& reach,
                                  double denominator) const noexcept {
  const double end = evaluator_.breaks()[piece] * denominator;
  const auto is_beyond = [&](std::int64_t distance) { return end < term(side, distance); };
  std::int64_t within = reach.nearest;
  std::int64_t beyond = reach.farthest;
  const std::int64_t guess = side.bounds[piece];
  // Any guess leads to the same bound. Terms exist only within the reach.
  if (within < guess && guess < beyond) {
    if (is_beyond(guess)) {
      if (!is_beyond(guess - 1)) return guess;
      beyond = guess - 1;
    } else {
      if (is_beyond(guess + 1)) return guess + 1;
      within = guess + 1;
    }
  }
  while (beyond - within > 1) {
    const std::int64_t middle = within + (beyond - within) / 2;
    (is_beyond(middle) ? beyond : within) = middle;
  }
  return beyond;
}

void FireRows::find(Side& side, const Reach& reach, double denominator) const noexcept {
  side.nearest = piece_from(side.nearest, term(side, reach.nearest), denominator);
  side.farthest = piece_from(side.farthest, term(side, reach.farthest), denominator);
  for (std::size_t piece = side.nearest; piece < side.farthest; ++piece)
    side.bounds[piece] = bound_from(side, piece, reach, denominator);
}

// Appends a piece that ends at key `end` of the row.
void FireRows::add(const FireRow& row, std::size_t piece, std::int64_t end) noexcept {
  const relative::StraightPiece of_x = evaluator_.piece(row.head, piece);
  memory_.pieces[count_++] = {.slope = of_x.slope * (std::numbers::log2e / row.denominator),
                              .offset = of_x.offset * std::numbers::log2e,
                              .end = end};
}

void FireRows::add_before(const FireRow& row, const Reach& reach) noexcept {
  find(before_, reach, row.denominator);
  for (std::size_t piece = before_.farthest; piece > before_.nearest; --piece)
    add(row, piece, reach.farthest - before_.bounds[piece - 1] + 1);
  add(row, before_.nearest, reach.farthest - reach.nearest + 1);
}

void FireRows::add_after(const FireRow& row, const Reach& reach) noexcept {
  find(after_, reach, row.denominator);
  for (std::size_t piece = after_.nearest; piece < after_.farthest; ++piece)
    add(row, piece, after_.bounds[piece] - row.keys.first);
  add(row, after_.farthest, row.keys.count());
}

void FireRows::fill(const FireRow& row) noexcept {
  count_ = 0;
  if (row.keys.first <= 0) {
    add_before(row,
               {.nearest = std::max<std::int64_t>(-row.keys.last, 0), .farthest = -row.keys.first});
  }
  if (row.keys.last > 0) {
    add_after(row,
              {.nearest = std::max<std::int64_t>(row.keys.first, 1), .farthest = row.keys.last});
  }
  fill_pieces_({.terms = terms_ + (row.keys.first - first_),
                .pieces = memory_.pieces,
                .count = count_,
                .values = row.values});
}

}  // namespace rotary
