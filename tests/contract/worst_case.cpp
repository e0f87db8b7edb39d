// SPDX-License-Identifier: Apache-2.0
// Searches for the inputs with the largest error relative to the published bounds and prints each
// with its witness in hex floats. The same rounds and seed find the same witness:
//     rotary_worst_case [rounds [seed]]
// One round is 64 positions x 64 pairs x 48 heads for each direction and dtype. Exit code 1: a
// bound is broken.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "reference/tensor.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using reference::RotatedHead;
using test::Tensor;

constexpr std::int64_t pairs = 64;
constexpr std::int64_t tokens = 64;
constexpr HeadWindow window{
    .head_dim = 2 * pairs, .rotary_dim = 2 * pairs, .first_feature = 0, .pairing = Pairing::half};

// The worst seen of one kind.
struct Worst {
  std::string name;
  const char* unit;
  double error = 0;  // in units
  double bound = 0;  // in units, at the witness
  std::string witness = "none";

  void consider(double units, double bound_units, const std::string& at) {
    if (bound != 0 && units / bound_units <= error / bound) return;
    error = units;
    bound = bound_units;
    witness = at;
  }
};

template <class... Values>
std::string text(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

struct Round {
  Frequencies frequencies;
  std::vector<std::int64_t> positions;
  Rotations rotations;
  reference::AngleRows exact;
};

// Angles of all sizes: slow and fast pairs, positions near and far.
Round make_round(test::Random& random, double attention_factor) {
  std::vector<double> inv_freq(pairs);
  for (double& frequency : inv_freq) {
    frequency = std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-24, 1)));
  }
  std::vector<std::int64_t> positions(tokens);
  for (std::int64_t& position : positions) {
    position = random.integer(0, std::int64_t{1} << random.integer(1, 31));
  }
  auto frequencies = test::value_of(make_frequencies(window, inv_freq, attention_factor));
  const Positions given = positions_of(std::span<const std::int64_t>(positions));
  auto rotations = test::rotations_of(frequencies, given);
  reference::AngleRows exact(given, inv_freq);
  return {std::move(frequencies), std::move(positions), std::move(rotations), std::move(exact)};
}

// What is left of a row's error beyond the half ulp of its one rounding, in units of the angle's
// share of the bound.
void search_rows(const Round& round, Worst& worst) {
  const double factor = round.frequencies.attention_factor;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t position = round.positions[static_cast<std::size_t>(t)];
    const double share = factor * angle_error_bound(position);
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
      const long double exact = factor * round.exact.at(0, t)[i].cos;
      const double half_ulp = row_error_bound(static_cast<double>(exact), factor, position) - share;
      const auto error = static_cast<double>(std::abs(round.rotations.cos(0, t)[i] - exact));
      worst.consider((error - half_ulp) / share, 1,
                     text("position %" PRId64 " inv_freq %a A %a", position,
                          round.frequencies.inv_freq[i], factor));
    }
  }
}

void search_rotated(const Round& round, Direction direction, const Tensor& src, Worst& worst) {
  Tensor dst = src;
  test::require(rotate(dst.view(), src.view(), round.rotations, {.direction = direction}));
  const double factor = round.frequencies.attention_factor;
  const auto compare = [&](const RotatedHead& head) {
    const std::int64_t position = round.positions[static_cast<std::size_t>(head.index.token)];
    const double bound = src.view().dtype == DType::bf16
                             ? rotate_bf16_error_bound(direction, factor, position)
                             : rotate_error_bound(direction, factor, position);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto [first, second] = test::features_of_pair(window, i);
      const long double x = head.exact[static_cast<std::size_t>(first)];
      const long double y = head.exact[static_cast<std::size_t>(second)];
      const long double error = std::max(std::abs(dst.at(head.index, first) - x),
                                         std::abs(dst.at(head.index, second) - y));
      const auto units = static_cast<double>(error / (0x1p-24L * std::hypot(x, y)));
      if (units / bound <= worst.error / std::max(worst.bound, 1.0)) continue;
      worst.consider(units, bound,
                     text("position %" PRId64 " inv_freq %a A %a input (%a, %a)", position,
                          round.frequencies.inv_freq[static_cast<std::size_t>(i)], factor,
                          src.at(head.index, first), src.at(head.index, second)));
    }
  };
  for_each_rotated_head(src.view(), round.exact,
                        {.window = window, .attention_factor = factor, .direction = direction},
                        compare);
}

enum class Factor { one, any };

struct Kind {
  DType dtype;
  Direction direction;
  Factor factor;
};

// 1, or anywhere between 1/2 and 2.
double attention_factor(Factor factor, test::Random& random) {
  return factor == Factor::one ? 1 : std::exp2(2 * random.unit() - 1);
}

int search(int rounds, std::uint64_t seed) {
  const std::vector<Kind> kinds = {{DType::f32, Direction::forward, Factor::one},
                                   {DType::f32, Direction::forward, Factor::any},
                                   {DType::f32, Direction::inverse, Factor::one},
                                   {DType::f32, Direction::inverse, Factor::any},
                                   {DType::f32, Direction::transpose, Factor::any},
                                   {DType::bf16, Direction::forward, Factor::any},
                                   {DType::bf16, Direction::inverse, Factor::any}};
  std::vector<Worst> worst = {{"rows beyond half an ulp", "of the angle's share"}};
  for (const Kind& kind : kinds) {
    worst.push_back({test::describe(kind.dtype, Pairing::half, kind.direction) +
                         (kind.factor == Factor::one ? ", A = 1" : ", any A"),
                     "2^-24 hypot(pair)"});
  }
  test::Random random(seed);
  for (int i = 0; i < rounds; ++i) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const Round round = make_round(random, attention_factor(kinds[k].factor, random));
      search_rows(round, worst.front());
      Tensor src({.dtype = kinds[k].dtype,
                  .extents = {.tokens = tokens, .heads = 48, .features = 2 * pairs}});
      fill(src, random);
      search_rotated(round, kinds[k].direction, src, worst[k + 1]);
    }
  }
  bool broken = false;
  for (const Worst& each : worst) {
    std::printf("%-42s %.6g %s, bound %.6g: %s\n", each.name.c_str(), each.error, each.unit,
                each.bound, each.witness.c_str());
    broken = broken || each.error > each.bound;
  }
  return broken ? 1 : 0;
}

}  // namespace
}  // namespace rotary

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto used = rotary::instruction_set();
  std::printf("instruction set %s, %d rounds, seed %" PRIu64 "\n",
              used ? std::string(*used).c_str() : used.error().message.c_str(), rounds, seed);
  return rotary::search(rounds, seed);
}
