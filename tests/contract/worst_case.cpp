// SPDX-License-Identifier: Apache-2.0
// Searches for the largest errors relative to the published bounds, and prints each with its input
// in hex floats. The same rounds and seed find the same inputs:
//     rotary_worst_case [rounds [seed]]
// One round is 64 positions x 64 pairs x 48 heads for each of `kinds`. Exit code 1: a broken bound.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "contract/search.hpp"
#include "reference/tensor.hpp"
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

// The worst error found for one kind.
struct Worst {
  std::string name;
  const char* unit;
  double error = 0;  // in units of `unit`
  double bound = 0;  // for the same input, in the same units
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

enum class Factor { one, any };
enum class Size { activations, subnormals };  // subnormals: of f16, and numbers near them

struct Kind {
  DType dtype;
  Direction direction;
  Factor factor;
  Size size = Size::activations;
  int position_bits = 31;  // positions are below 2^position_bits
};

constexpr Kind kinds[] = {
    {DType::f32, Direction::forward, Factor::one},
    {DType::f32, Direction::forward, Factor::any},
    {DType::f32, Direction::inverse, Factor::one},
    {DType::f32, Direction::inverse, Factor::any},
    {DType::f32, Direction::transpose, Factor::any},
    {DType::bf16, Direction::forward, Factor::any},
    {DType::bf16, Direction::inverse, Factor::any},
    {DType::f16, Direction::forward, Factor::any},
    {DType::f16, Direction::inverse, Factor::any},
    {DType::f16, Direction::forward, Factor::any, Size::subnormals},
    {DType::f64, Direction::forward, Factor::one},
    {DType::f64, Direction::forward, Factor::any},
    {DType::f64, Direction::inverse, Factor::any},
    {DType::f64, Direction::forward, Factor::any, Size::activations, 6},
    {DType::f64, Direction::inverse, Factor::any, Size::activations, 6},
};

// 1, or random in [1/2, 2).
double attention_factor(Factor factor, test::Random& random) {
  return factor == Factor::one ? 1 : std::exp2(2 * random.unit() - 1);
}

struct Round {
  Frequencies frequencies;
  std::vector<std::int64_t> positions;
  Rotations rotations;
  reference::AngleRows exact;
};

// Angles of all sizes: slow and fast pairs, near and distant positions.
Round make_round(const Kind& kind, test::Random& random) {
  std::vector<double> inv_freq(pairs);
  for (double& frequency : inv_freq) {
    frequency = std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-24, 1)));
  }
  std::vector<std::int64_t> positions(tokens);
  for (std::int64_t& position : positions) {
    position = random.integer(0, std::int64_t{1} << random.integer(1, kind.position_bits));
  }
  auto frequencies =
      test::value_of(make_frequencies(window, inv_freq, attention_factor(kind.factor, random)));
  const Positions given = positions_of(std::span<const std::int64_t>(positions));
  auto rotations = test::rotations_of(frequencies, given, test::rows_for(kind.dtype));
  reference::AngleRows exact(given, inv_freq);
  return {std::move(frequencies), std::move(positions), std::move(rotations), std::move(exact)};
}

// Measures errors of cos rows in units of row_f64_error_bound(), the angle's share of the bound.
// For f32 rows, first subtracts the share of rounding, half an ulp.
void search_rows(const Round& round, Worst& worst) {
  const double factor = round.frequencies.attention_factor;
  const bool is_f64 = round.rotations.row_dtype() == RowDType::f64;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t position = round.positions[static_cast<std::size_t>(t)];
    const double share = row_f64_error_bound(factor, position);
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
      const long double exact = factor * round.exact.at(0, t)[i].cos;
      const long double row = is_f64 ? round.rotations.cos<double>(0, t)[i]
                                     : static_cast<double>(round.rotations.cos(0, t)[i]);
      const double half_ulp =
          is_f64 ? 0 : row_error_bound(static_cast<double>(exact), factor, position) - share;
      const auto error = static_cast<double>(std::abs(row - exact));
      worst.consider((error - half_ulp) / share, 1,
                     text("position %" PRId64 " inv_freq %a A %a", position,
                          round.frequencies.inv_freq[i], factor));
    }
  }
}

void search_rotated(const Round& round, Direction direction, const Tensor& src, Worst& worst) {
  Tensor dst = src;
  test::require(rotate(dst.view(), src.view(), round.rotations, {.direction = direction}));
  check::Rotated by{.dtype = src.view().dtype,
                    .direction = direction,
                    .attention_factor = round.frequencies.attention_factor};
  const auto compare = [&](const RotatedHead& head) {
    const std::int64_t position = round.positions[static_cast<std::size_t>(head.index.token)];
    by.position = static_cast<long double>(position);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto [first, second] = test::features_read(window, direction, i);
      const auto [units, bound] =
          check::pair_error(by, {dst.at(head.index, first), dst.at(head.index, second)},
                            {head.exact[static_cast<std::size_t>(first)],
                             head.exact[static_cast<std::size_t>(second)]});
      if (units == 0 || units / bound <= worst.error / std::max(worst.bound, 1.0)) continue;
      worst.consider(
          units, bound,
          text("position %" PRId64 " inv_freq %a A %a input (%a, %a)", position,
               round.frequencies.inv_freq[static_cast<std::size_t>(i)], by.attention_factor,
               src.at(head.index, first), src.at(head.index, second)));
    }
  };
  for_each_rotated_head(
      src.view(), round.exact,
      {.window = window, .attention_factor = by.attention_factor, .direction = direction}, compare);
}

std::string name_of(const Kind& kind) {
  return test::describe(kind.dtype, Pairing::half, kind.direction) +
         (kind.factor == Factor::one ? ", A = 1" : ", any A") +
         (kind.size == Size::subnormals ? ", subnormals" : "") +
         (kind.position_bits == 6 ? ", near" : "");
}

Tensor make_input(const Kind& kind, test::Random& random) {
  Tensor src(
      {.dtype = kind.dtype, .extents = {.tokens = tokens, .heads = 48, .features = 2 * pairs}});
  if (kind.size == Size::activations) {
    fill(src, random);
    return src;
  }
  test::for_each_element(src.extents(), [&](const test::HeadIndex& index, std::int64_t f) {
    src.set(index, f, random.magnitude(-24, -13));
  });
  return src;
}

bool report(const Worst& worst) {
  std::printf("%-40s %.6g %s, bound %.6g: %s\n", worst.name.c_str(), worst.error, worst.unit,
              worst.bound, worst.witness.c_str());
  return worst.error <= worst.bound;
}

int search(int rounds, std::uint64_t seed) {
  Worst f32_rows{"f32 rows beyond half an ulp", "of the angle's share"};
  Worst f64_rows{"f64 rows", "of the angle's share"};
  Worst near_f64_rows{"f64 rows, near", "of the angle's share"};
  const auto rows_of = [&](const Kind& kind) -> Worst& {
    if (kind.dtype != DType::f64) return f32_rows;
    return kind.position_bits == 6 ? near_f64_rows : f64_rows;
  };
  bool held = true;
  for (std::size_t k = 0; k < std::size(kinds); ++k) {
    const Kind& kind = kinds[k];
    // Each kind has a separate stream, so that a new kind changes no result.
    test::Random random(seed * 1000 + k);
    Worst worst{name_of(kind),
                kind.dtype == DType::f64 ? "2^-53 hypot(pair)" : "2^-24 hypot(pair)"};
    for (int i = 0; i < rounds; ++i) {
      const Round round = make_round(kind, random);
      search_rows(round, rows_of(kind));
      search_rotated(round, kind.direction, make_input(kind, random), worst);
    }
    held = report(worst) && held;
  }
  for (const Worst* rows : {&f32_rows, &f64_rows, &near_f64_rows}) held = report(*rows) && held;
  return held ? 0 : 1;
}

}  // namespace
}  // namespace rotary

int main(int argc, char** argv) { return rotary::run_search(argc, argv, rotary::search); }
