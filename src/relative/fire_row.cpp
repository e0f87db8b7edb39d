// SPDX-License-Identifier: Apache-2.0
#include "relative/fire_row.hpp"

#include <algorithm>
#include <cmath>

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

namespace {

double sign(double value) noexcept { return value > 0 ? 1 : (value < 0 ? -1 : 0); }

// Start of each parameter's gradients in the array of all gradients.
struct Places {
  std::size_t hidden_weight = 2;  // after c and threshold
  std::size_t hidden_bias = 0;
  std::size_t output_weight = 0;
  std::size_t output_bias = 0;
};

Places places_of(const Fire& fire) noexcept {
  Places places;
  places.hidden_bias = places.hidden_weight + fire.hidden_weight.size();
  places.output_weight = places.hidden_bias + fire.hidden_bias.size();
  places.output_bias = places.output_weight + fire.output_weight.size();
  return places;
}

}  // namespace

FireGradient::FireGradient(const FireEvaluator& evaluate, std::int64_t keys)
    : evaluate_(evaluate),
      sums_(evaluate.fire().output_bias.size() * evaluate.piece_count()),
      d_x_(to_size(keys)) {}

void FireGradient::add(const FireRow& row, std::int64_t head, std::span<const double> d_bias) {
  const auto x = row.terms();
  std::size_t key = 0;
  for (const FireRow::Stretch& stretch : row.stretches()) {
    StraightPiece& sum = sums_[to_size(head) * evaluate_.piece_count() + stretch.piece];
    const double slope = evaluate_.piece(head, stretch.piece).slope;
    for (; key < stretch.end; ++key) {
      sum.slope += d_bias[key] * x[key];
      sum.offset += d_bias[key];
      d_x_[key] += d_bias[key] * slope;
    }
  }
}

// Here x = numerator / denominator, as in FireEvaluator.
void FireGradient::finish_row(std::span<double> sums, const FireRow& row,
                              const PairPositions& positions, std::int64_t query) {
  const Fire& fire = evaluate_.fire();
  const double c = std::abs(fire.c);
  const std::int64_t position = positions.query(query);
  const double reach = evaluate_.reach(position);
  const double denominator = evaluate_.denominator(position);
  double d_c = 0;
  double d_denominator = 0;
  for (std::size_t i = 0; i < d_x_.size(); ++i) {
    const double distance = positions.at(query, static_cast<std::int64_t>(i)).distance();
    const double d_numerator = d_x_[i] / denominator;
    d_c += d_numerator * distance / (1 + c * distance);
    d_denominator -= d_numerator * row.terms()[i];
  }
  d_c += d_denominator * reach / (1 + c * reach);
  sums[0] += sign(fire.c) * d_c;
  if (std::abs(fire.threshold) > static_cast<double>(position))
    sums[1] += sign(fire.threshold) * d_denominator * c / (1 + c * reach);
  std::ranges::fill(d_x_, 0.0);
}

void FireGradient::finish(std::span<double> sums) const {
  const Fire& fire = evaluate_.fire();
  const Places places = places_of(fire);
  const std::size_t width = fire.hidden_weight.size();
  for (std::size_t head = 0; head < fire.output_bias.size(); ++head) {
    const auto of_head =
        std::span(sums_).subspan(head * evaluate_.piece_count(), evaluate_.piece_count());
    for (std::size_t unit = 0; unit < width; ++unit) {
      StraightPiece counted;
      const PieceRange on = evaluate_.pieces_of(unit);
      for (const StraightPiece& piece : of_head.subspan(on.begin, on.end - on.begin))
        counted = sum_of(counted, piece);
      const std::size_t output = head * width + unit;
      sums[places.output_weight + output] +=
          fire.hidden_weight[unit] * counted.slope + fire.hidden_bias[unit] * counted.offset;
      sums[places.hidden_weight + unit] += fire.output_weight[output] * counted.slope;
      sums[places.hidden_bias + unit] += fire.output_weight[output] * counted.offset;
    }
    for (const StraightPiece& piece : of_head) sums[places.output_bias + head] += piece.offset;
  }
}

}  // namespace rotary::relative
