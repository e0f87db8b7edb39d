// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::relative {
namespace {

// The x >= 0 for which a hidden unit is active: its output is above 0, so it contributes.
enum class Active { never, always, above, below };

Active active(const Fire& fire, std::size_t unit) noexcept {
  const double weight = fire.hidden_weight[unit];
  const double bias = fire.hidden_bias[unit];
  if (weight <= 0 && bias <= 0) return Active::never;
  if (weight >= 0 && bias > 0) return Active::always;
  return weight > 0 ? Active::above : Active::below;
}

// An x where a hidden unit starts or stops contributing. A unit with Active::above contributes for
// greater x, a unit with Active::below up to x.
struct Break {
  double x = 0;
  std::size_t unit = 0;
};

std::vector<Break> breaks_of(const Fire& fire) {
  std::vector<Break> breaks;
  for (std::size_t unit = 0; unit < fire.hidden_weight.size(); ++unit) {
    const double zero = std::abs(fire.hidden_bias[unit] / fire.hidden_weight[unit]);
    const Active when = active(fire, unit);
    if (when == Active::above) breaks.push_back({.x = zero, .unit = unit});
    if (when == Active::below) breaks.push_back({.x = std::nextafter(zero, 0.0), .unit = unit});
  }
  std::ranges::sort(breaks, [](const Break& a, const Break& b) {
    return a.x < b.x || (a.x == b.x && a.unit < b.unit);
  });
  return breaks;
}

// Adds a contributing hidden unit's straight line to a piece of one head.
void add_unit(StraightPiece& to, const Fire& fire, std::size_t head, std::size_t unit) noexcept {
  const double weight = fire.output_weight[head * fire.hidden_weight.size() + unit];
  to.slope += weight * fire.hidden_weight[unit];
  to.offset += weight * fire.hidden_bias[unit];
}

// Sets the straight pieces of one head, one more than there are breaks. Each piece sums only the
// units that contribute there: subtracting units would leave rounding errors. Units that start are
// summed from the first piece up, units that stop from the last piece down.
void set_pieces(std::span<StraightPiece> pieces, const Fire& fire, std::size_t head,
                std::span<const Break> breaks) noexcept {
  StraightPiece always{.offset = fire.output_bias[head]};
  for (std::size_t unit = 0; unit < fire.hidden_weight.size(); ++unit) {
    if (active(fire, unit) == Active::always) add_unit(always, fire, head, unit);
  }
  StraightPiece begun;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && active(fire, breaks[i - 1].unit) == Active::above)
      add_unit(begun, fire, head, breaks[i - 1].unit);
    pieces[i] = sum_of(always, begun);
  }
  StraightPiece to_end;
  for (std::size_t i = breaks.size(); i-- > 0;) {
    if (active(fire, breaks[i].unit) == Active::below) add_unit(to_end, fire, head, breaks[i].unit);
    pieces[i] = sum_of(pieces[i], to_end);
  }
}

}  // namespace

Status check(const Fire& bias) {
  const std::size_t width = bias.hidden_weight.size();
  const std::size_t heads = bias.output_bias.size();
  if (width == 0 || heads == 0 || bias.hidden_bias.size() != width ||
      bias.output_weight.size() != heads * width) {
    return invalid_argument(
        "hidden_weight and hidden_bias must have one number for each hidden unit, output_bias one "
        "for each head and output_weight one for each of both, at least one; got ",
        width, ", ", bias.hidden_bias.size(), ", ", heads, " and ", bias.output_weight.size());
  }
  return check_numbers(bias);
}

FireEvaluator::FireEvaluator(const Fire& bias) : bias_(bias) {
  const std::vector<Break> breaks = breaks_of(bias);
  const std::size_t count = breaks.size() + 1;
  for (std::size_t unit = 0; unit < bias.hidden_weight.size(); ++unit)
    ranges_.push_back({.begin = 0, .end = active(bias, unit) == Active::always ? count : 0});
  for (const Break& each : breaks) {
    breaks_.push_back(each.x);
    if (active(bias, each.unit) == Active::above)
      ranges_[each.unit] = {.begin = breaks_.size(), .end = count};
    else
      ranges_[each.unit] = {.begin = 0, .end = breaks_.size()};
  }
  pieces_.resize(bias.output_bias.size() * count);
  for (std::size_t head = 0; head < bias.output_bias.size(); ++head)
    set_pieces(std::span(pieces_).subspan(head * count, count), bias, head, breaks);
}

double FireEvaluator::reach(std::int64_t query) const noexcept {
  return std::fmax(static_cast<double>(query), std::abs(bias_.threshold));
}

double FireEvaluator::numerator(double distance) const noexcept {
  return std::log1p(std::abs(bias_.c) * distance);
}

double FireEvaluator::denominator(std::int64_t query) const noexcept {
  return std::log1p(std::abs(bias_.c) * reach(query)) + bias_.epsilon;
}

double FireEvaluator::shared_term(const PairOfPositions& pair) const noexcept {
  return numerator(pair.distance()) / denominator(pair.query);
}

std::size_t FireEvaluator::piece_of(double x) const noexcept {
  return static_cast<std::size_t>(std::ranges::lower_bound(breaks_, x) - breaks_.begin());
}

StraightPiece FireEvaluator::piece(std::int64_t head, std::size_t piece) const noexcept {
  return pieces_[to_size(head) * (breaks_.size() + 1) + piece];
}

double FireEvaluator::value(std::int64_t head, double term) const noexcept {
  const StraightPiece on = piece(head, piece_of(term));
  return on.slope * term + on.offset;
}

}  // namespace rotary::relative
