// SPDX-License-Identifier: Apache-2.0
// Each pair adds Re(q conj(k) e^iφ) to the score, with its features as the complex numbers q and k.
// φ is the mapped distance times the frequency.
#include "reference/position_maps.hpp"

#include <cmath>
#include <complex>
#include <variant>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

struct Place {
  long double i;  // position of the query
  long double j;  // position of the key
  long double theta;
};

long double mapped(const ReRope& map, const Place& at) {
  return at.i - at.j < static_cast<long double>(map.window) ? at.i - at.j
                                                            : static_cast<long double>(map.window);
}

long double mapped(const LeakyReRope& map, const Place& at) {
  const auto w = static_cast<long double>(map.window);
  const long double distance = at.i - at.j;
  return distance < w ? distance : w + (distance - w) / static_cast<long double>(map.factor);
}

long double mapped(const SelfExtend& map, const Place& at) {
  const auto w = static_cast<long double>(map.neighbors);
  const auto g = static_cast<long double>(map.group);
  if (at.i - at.j < w) return at.i - at.j;
  return (std::floor(at.i / g) + w - std::floor(w / g)) - std::floor(at.j / g);
}

// An et al. 2024 (arXiv 2402.17463), section 3, with chunks of c positions. A query's position
// differs for keys of its own chunk, of the previous chunk and of earlier chunks.
long double mapped(const DualChunk& map, const Place& at) {
  const auto s = static_cast<long double>(map.chunk);
  const long double c = s - static_cast<long double>(map.local);
  const auto chunk_of = [c](long double position) { return std::floor(position / c); };
  const auto place_of = [&](long double position) { return position - c * chunk_of(position); };
  const auto successive = [&](long double place) { return place + c < s ? place + c : s; };
  const long double key = place_of(at.j);
  if (chunk_of(at.i) == chunk_of(at.j)) return place_of(at.i) - key;
  if (chunk_of(at.i) == chunk_of(at.j) + 1) return successive(place_of(at.i)) - key;
  return successive(c - 1) - key;
}

long double mapped(const ClippedAngle& map, const Place& at) {
  const long double frequency = std::abs(at.theta);
  const long double angle = (at.i - at.j) * frequency;
  return angle < static_cast<long double>(map.max_angle)
             ? at.i - at.j
             : static_cast<long double>(map.max_angle) / frequency;
}

struct Features {
  const double* q;
  const double* k;
};

long double product(const Features& of, const Rotary& rotary, const PositionMap& map,
                    const BiasIndex& pair) {
  const HeadWindow& window = rotary.window;
  const std::size_t pairs = size_of(window.pairs());
  const std::size_t first = size_of(window.first_feature);
  long double sum = 0;
  for (std::size_t f = 0; f < size_of(window.head_dim); ++f) {
    if (f < first || f >= first + 2 * pairs) sum += static_cast<long double>(of.q[f]) * of.k[f];
  }
  for (std::size_t p = 0; p < pairs; ++p) {
    const bool neighbours = reads_neighbours(window.pairing);
    const std::size_t of_block = pairs / size_of(window.blocks);
    const std::size_t before = p / of_block * of_block;  // pairs in earlier blocks
    const std::size_t x = first + (neighbours ? 2 * p : before + p);
    const std::size_t y = neighbours ? x + 1 : x + of_block;
    const long double angle =
        mapped_distance(map, pair.query, pair.key, rotary.inv_freq[p]) * rotary.inv_freq[p];
    const std::complex<long double> q(of.q[x], of.q[y]);
    const std::complex<long double> k(of.k[x], of.k[y]);
    const long double a = rotary.attention_factor;
    sum += a * a * (q * std::conj(k) * std::polar(1.0L, angle)).real();
  }
  return sum;
}

}  // namespace

long double mapped_distance(const PositionMap& map, std::int64_t query, std::int64_t key,
                            double inv_freq) {
  const Place at{
      .i = static_cast<long double>(query), .j = static_cast<long double>(key), .theta = inv_freq};
  return std::visit([&](const auto& each) { return mapped(each, at); }, map);
}

double mapped_score(const AttentionCase& of, const PositionMap& map, const QueryIndex& at,
                    std::int64_t key) {
  const Features features{.q = of.q.values.data() + query_offset(of, at),
                          .k = of.k.values.data() + key_offset(of, of.k, at, key)};
  const long double sum =
      product(features, *of.attention.encoding.rotary, map, positions_of_pair(of, at, key));
  return static_cast<double>(of.attention.scale * sum);
}

}  // namespace rotary::reference
