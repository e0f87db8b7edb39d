// SPDX-License-Identifier: Apache-2.0
// Searches for the fractional positions, one below 2^12 and one beyond, at which f64 rows have the
// largest error in units of their bound. Prints them in hex floats. Equal rounds and seeds find
// equal positions: rotary_worst_fraction [rounds [seed]]
// One round is 64 positions x 64 pairs. Exit code 1: the bound is broken.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "contract/search.hpp"
#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::int64_t pairs = 64;
constexpr std::size_t tokens = 64;
constexpr HeadWindow window{
    .head_dim = 2 * pairs, .rotary_dim = 2 * pairs, .first_feature = 0, .pairing = Pairing::half};

struct Worst {
  double error = 0;  // in units of the bound
  double position = 0;
  double inv_freq = 0;
  double attention_factor = 1;

  void consider(const Worst& other) {
    if (other.error > error) *this = other;
  }
};

// Either small positions, where 2^-50 dominates the bound, or large ones, whose term dominates.
std::vector<double> make_positions(test::Random& random) {
  const bool near = random.unit() < 0.5;
  std::vector<double> positions(tokens);
  for (double& position : positions) {
    position = near ? random.magnitude(-10, 11) : random.magnitude(12, 50);
  }
  return positions;
}

Worst search_round(test::Random& random) {
  std::vector<double> inv_freq(pairs);
  for (double& frequency : inv_freq) frequency = std::abs(random.magnitude(-24, 39));
  const auto positions = make_positions(random);
  const double factor = std::exp2(2 * random.unit() - 1);
  const auto frequencies = test::value_of(make_frequencies(window, inv_freq, factor));
  const Positions given = positions_of(std::span(positions));
  const Rotations rotations = test::rotations_of(frequencies, given, RowDType::f64);
  const reference::AngleRows exact(given, inv_freq);
  Worst worst;
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto token = static_cast<std::int64_t>(t);
    const double bound = row_f64_error_bound(factor, positions[t]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
      const auto& angle = exact.at(0, token)[i];
      const long double cos = std::abs(rotations.cos<double>(0, token)[i] - factor * angle.cos);
      const long double sin = std::abs(rotations.sin<double>(0, token)[i] - factor * angle.sin);
      worst.consider({.error = static_cast<double>(std::max(cos, sin) / bound),
                      .position = positions[t],
                      .inv_freq = inv_freq[i],
                      .attention_factor = factor});
    }
  }
  return worst;
}

int search(int rounds, std::uint64_t seed) {
  test::Random random(seed);
  Worst near;
  Worst far;
  for (int i = 0; i < rounds; ++i) {
    const Worst found = search_round(random);
    (std::abs(found.position) < 0x1p12 ? near : far).consider(found);
  }
  for (const Worst& each : {near, far}) {
    std::printf("%.6g of the bound: position %a inv_freq %a A %a\n", each.error, each.position,
                each.inv_freq, each.attention_factor);
  }
  return std::max(near.error, far.error) > 1 ? 1 : 0;
}

}  // namespace
}  // namespace rotary

int main(int argc, char** argv) { return rotary::run_search(argc, argv, rotary::search); }
