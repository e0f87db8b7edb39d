// SPDX-License-Identifier: Apache-2.0
// A pair (x, y) is the number x + iy; with the angle φ between query and key it adds Re(q conj(k)
// e^iφ) to the score.
#include "reference/position_maps.hpp"

#include <cmath>
#include <complex>
#include <variant>

namespace rotary::reference {
namespace {

using Real = long double;

struct Place {
  Real i;  // of the query
  Real j;
  Real theta;
};

Real mapped(const ReRope& map, const Place& at) {
  return at.i - at.j < static_cast<Real>(map.window) ? at.i - at.j : static_cast<Real>(map.window);
}

Real mapped(const LeakyReRope& map, const Place& at) {
  const auto w = static_cast<Real>(map.window);
  const Real distance = at.i - at.j;
  return distance < w ? distance : w + (distance - w) / static_cast<Real>(map.factor);
}

Real mapped(const SelfExtend& map, const Place& at) {
  const auto w = static_cast<Real>(map.neighbors);
  const auto g = static_cast<Real>(map.group);
  if (at.i - at.j < w) return at.i - at.j;
  return (std::floor(at.i / g) + w - std::floor(w / g)) - std::floor(at.j / g);
}

// The position lists of section 3 of the paper, for chunks of s - w: those of keys, and those of
// queries against keys of their own chunk, of the one before, and of the others.
Real mapped(const DualChunk& map, const Place& at) {
  const auto s = static_cast<Real>(map.chunk);
  const Real c = s - static_cast<Real>(map.local);
  const auto chunk_of = [c](Real position) { return std::floor(position / c); };
  const auto place_of = [&](Real position) { return position - c * chunk_of(position); };
  const auto successive = [&](Real place) { return place + c < s ? place + c : s; };
  const Real key = place_of(at.j);
  if (chunk_of(at.i) == chunk_of(at.j)) return place_of(at.i) - key;
  if (chunk_of(at.i) == chunk_of(at.j) + 1) return successive(place_of(at.i)) - key;
  return successive(c - 1) - key;
}

Real mapped(const ClippedAngle& map, const Place& at) {
  const Real frequency = std::abs(at.theta);
  const Real angle = (at.i - at.j) * frequency;
  return angle < static_cast<Real>(map.max_angle) ? at.i - at.j
                                                  : static_cast<Real>(map.max_angle) / frequency;
}

struct Features {
  const double* q;
  const double* k;
};

Real product(const Features& of, const Rotary& rotary, const PositionMap& map,
             const BiasIndex& pair) {
  const HeadWindow& window = rotary.window;
  const std::size_t pairs = size_of(window.pairs());
  const std::size_t first = size_of(window.first_feature);
  Real sum = 0;
  for (std::size_t f = 0; f < size_of(window.head_dim); ++f) {
    if (f < first || f >= first + 2 * pairs) sum += Real{of.q[f]} * of.k[f];
  }
  for (std::size_t p = 0; p < pairs; ++p) {
    const bool halves = window.pairing == Pairing::half;
    const std::size_t of_block = pairs / size_of(window.blocks);
    const std::size_t before = p / of_block * of_block;  // pairs of the blocks before
    const std::size_t x = first + (halves ? before + p : 2 * p);
    const std::size_t y = halves ? x + of_block : x + 1;
    const Real angle =
        mapped_distance(map, pair.query, pair.key, rotary.inv_freq[p]) * rotary.inv_freq[p];
    const std::complex<Real> q(of.q[x], of.q[y]);
    const std::complex<Real> k(of.k[x], of.k[y]);
    const Real a = rotary.attention_factor;
    sum += a * a * (q * std::conj(k) * std::polar(Real{1}, angle)).real();
  }
  return sum;
}

}  // namespace

long double mapped_distance(const PositionMap& map, std::int64_t query, std::int64_t key,
                            double inv_freq) {
  const Place at{.i = static_cast<Real>(query), .j = static_cast<Real>(key), .theta = inv_freq};
  return std::visit([&](const auto& each) { return mapped(each, at); }, map);
}

double mapped_score(const AttentionCase& of, const PositionMap& map, const QueryIndex& at,
                    std::int64_t key) {
  const Features features{.q = of.q.values.data() + query_offset(of, at),
                          .k = of.k.values.data() + key_offset(of, of.k, at, key)};
  const Real sum =
      product(features, *of.attention.encoding.rotary, map, positions_of_pair(of, at, key));
  return static_cast<double>(of.attention.scale * sum);
}

}  // namespace rotary::reference
