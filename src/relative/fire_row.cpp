// SPDX-License-Identifier: Apache-2.0
#include "relative/fire_row.hpp"

#include "relative/checks.hpp"

namespace rotary::relative {

FireRow::FireRow(const FireEvaluator& evaluate, const PairPositions& positions,
                 const ScoresExtents& n)
    : evaluate_(evaluate),
      positions_(positions),
      distances_(positions.distances(n)),
      terms_(to_size(n.keys)),
      values_(to_size(n.keys)),
      stretches_(to_size(n.keys)) {
  if (!distances_) return;
  numerators_.reserve(to_size(distances_->count));
  for (std::int64_t i = 0; i < distances_->count; ++i)
    numerators_.push_back(evaluate.numerator(distances_->pair(i).distance()));
}

double FireRow::numerator(std::int64_t query, std::int64_t column) const noexcept {
  const PairOfPositions pair = positions_.at(query, column);
  return distances_ ? numerators_[to_size(distances_->index_of(pair))]
                    : evaluate_.numerator(pair.distance());
}

void FireRow::read(std::int64_t query) {
  const double denominator = evaluate_.denominator(positions_.query(query));
  for (std::size_t i = 0; i < terms_.size(); ++i)
    terms_[i] = numerator(query, static_cast<std::int64_t>(i)) / denominator;
  stretch_count_ = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (stretch_count_ > 0 && evaluate_.is_on(stretches_[stretch_count_ - 1].piece, terms_[i])) {
      stretches_[stretch_count_ - 1].end = i + 1;
      continue;
    }
    stretches_[stretch_count_++] = {.end = i + 1, .piece = evaluate_.piece_of(terms_[i])};
  }
}

std::span<const double> FireRow::values(std::int64_t head) noexcept {
  std::size_t key = 0;
  for (const Stretch& stretch : stretches()) {
    const StraightPiece piece = evaluate_.piece(head, stretch.piece);
    for (; key < stretch.end; ++key) values_[key] = piece.slope * terms_[key] + piece.offset;
  }
  return values_;
}

}  // namespace rotary::relative
