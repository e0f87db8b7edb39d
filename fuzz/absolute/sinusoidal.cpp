// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "fuzz/absolute/absolute_cases.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/tokens_case.hpp"
#include "reference/absolute.hpp"
#include "rotary/absolute.hpp"
#include "rotary/numeric_contract.hpp"
#include "tests/support/counted_new.hpp"

namespace rotary::fuzz {
namespace {

enum class Operation { fill, add, shift };

struct SinusoidalCase {
  Operation operation = Operation::fill;
  Sinusoidal sinusoidal;
  TokensView dst = {};
  ConstTokensView src = {};
  NumbersCase positions = {};
  double embedding_scale = 1;
  std::uint64_t seed = 0;
};

double decode_base(Bytes& input) {
  constexpr std::array bases = {10000.0,
                                2.0,
                                1 + 0x1p-52,
                                0x1p1023,
                                500000.0,
                                1.5,
                                30.0,
                                1e20,
                                1.0,
                                0.0,
                                -3.0,
                                std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
  const std::size_t legal = 8;
  return bases[input.byte() % (input.once_in(16) ? bases.size() : legal)];
}

SinusoidalSpec decode_spec(Bytes& input) {
  const auto layout = static_cast<SinusoidalLayout>(input.once_in(64) ? 4 : input.number(1, 3));
  const auto spacing = static_cast<SinusoidalSpacing>(input.once_in(64) ? 0 : input.number(1, 2));
  SinusoidalSpec spec{
      .dim = input.number(1, 12), .base = decode_base(input), .layout = layout, .spacing = spacing};
  if (input.once_in(16)) spec.dim = input.number(100, 300);
  if (input.once_in(64)) spec.dim = input.integer();
  if (input.once_in(2)) spec.position_offset = input.integer();
  if (input.once_in(2)) spec.zero_position = input.number(-2, 2);
  return spec;
}

bool is_valid(const SinusoidalSpec& spec) {
  const auto layout = static_cast<std::int32_t>(spec.layout.get());
  const bool ends = spec.spacing == SinusoidalSpacing::ends;
  if (layout < 1 || layout > 3 || !(ends || spec.spacing == SinusoidalSpacing::even)) return false;
  return spec.dim >= (ends ? 4 : 1) && spec.dim <= std::int64_t{1} << 20 &&
         std::isfinite(spec.base.get()) && spec.base > 1;
}

constexpr std::int64_t largest_dim = 512;  // larger ones are not checked in detail

// inv_freq is base^x. An error of x is multiplied by ln(base); pow and exp add a few roundings.
void check_frequencies(const Sinusoidal& sinusoidal) {
  if (sinusoidal.spec.dim > largest_dim) return;
  const auto exact = reference::sinusoidal_inv_freq(sinusoidal.spec);
  if (sinusoidal.inv_freq.size() != exact.size() || sinusoidal.turns.size() != exact.size()) {
    fail("there must be one frequency for each pair");
  }
  const long double bound =
      (4 + std::log(static_cast<long double>(sinusoidal.spec.base.get()))) * 0x1p-52L;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    if (!(std::abs(sinusoidal.inv_freq[k] / exact[k] - 1) <= bound))
      fail("inv_freq must be base^-x");
  }
}

std::optional<Sinusoidal> make(const SinusoidalSpec& spec) {
  auto sinusoidal = make_sinusoidal(spec);
  if (sinusoidal.has_value() != is_valid(spec)) {
    fail("a spec must be accepted exactly if it is valid");
  }
  if (!sinusoidal) {
    check_error(sinusoidal.error());
    return {};
  }
  check_frequencies(*sinusoidal);
  return *std::move(sinusoidal);
}

std::vector<long double> decode_positions(Bytes& input, const NumbersCase& positions) {
  std::vector<long double> numbers;
  const std::int64_t first = input.once_in(2) ? input.integer() : input.number(-4, 60);
  const auto part = std::ldexp(static_cast<long double>(input.byte()), -4);
  const auto& [batch, tokens] = positions.counts;
  for (std::int64_t i = 0; i < clamped(batch, 16) * clamped(tokens, 16); ++i) {
    numbers.push_back(static_cast<long double>(first) + static_cast<long double>(i) * (1 + part));
  }
  if (!numbers.empty() && input.once_in(32)) numbers.back() = std::nanl("");
  return numbers;
}

std::optional<SinusoidalCase> decode(Bytes& input, Buffers& buffers) {
  auto sinusoidal = make(decode_spec(input));
  if (!sinusoidal) return {};
  if (sinusoidal->spec.dim > largest_dim) return {};
  Places places(buffers.buffer());
  SinusoidalCase one{.sinusoidal = *std::move(sinusoidal)};
  one.operation = static_cast<Operation>(input.number(0, 2));
  one.seed = input.bits();
  one.dst.dtype = decode_dtype(input);
  TokenExtents& n = one.dst.extents;
  n = {.batch = input.number(1, 3),
       .tokens = input.number(1, 4),
       .features = one.sinusoidal.spec.dim};
  if (n.features > 12) n.batch = n.tokens = 1;
  const NumberCounts counts{.batch = input.once_in(2) ? n.batch : 1, .tokens = n.tokens};
  disturb(input, n);
  const auto positions =
      decode_numbers(input, places, static_cast<NumberKind>(input.number(0, 3)), counts);
  if (!positions || !decode_view(input, places, one.dst)) return {};
  if (!decode_source(input, places, one.dst, one.src)) return {};
  one.positions = *positions;
  one.positions.first = input.integer();
  constexpr std::array scales = {1.0,
                                 0.0,
                                 -2.5,
                                 22.627416997969522,
                                 0x1p1000,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  if (input.once_in(2)) one.embedding_scale = scales[input.byte() % scales.size()];
  fill(buffers.buffer(), one.dst.dtype, decode_noise(input), one.seed);
  write_numbers(one.positions, decode_positions(input, one.positions));
  return one;
}

Answer expected_answer(const SinusoidalCase& one, const std::byte* buffer) {
  const SinusoidalSpec& spec = one.sinusoidal.spec;
  const bool reads = one.operation != Operation::fill;
  if (one.operation == Operation::shift && spec.dim % 2 != 0 &&
      spec.spacing == SinusoidalSpacing::even) {
    return Answer::refuse;
  }
  const Strided dst = strided(one.dst);
  if (!is_well_formed(dst) || one.dst.extents.features != spec.dim) return Answer::refuse;
  if (!are_of_tokens(one.positions, one.dst.extents)) return Answer::refuse;
  if (one.operation == Operation::add && !std::isfinite(one.embedding_scale)) return Answer::refuse;
  std::vector<Strided> read = {strided(one.positions)};
  if (reads && !add_source(one.dst, one.src, read)) return Answer::refuse;
  return expected_of_sharing(std::array{dst}, read, buffer);
}

Status run(const SinusoidalCase& one) {
  const Positions positions = positions_of(one.positions);
  switch (one.operation) {
    case Operation::fill:
      return fill_sinusoidal(one.dst, one.sinusoidal, positions);
    case Operation::add:
      return add_sinusoidal(one.dst, one.src, one.sinusoidal, positions,
                            {.embedding_scale = one.embedding_scale});
    case Operation::shift:
      return shift_sinusoidal(one.dst, one.src, one.sinusoidal, positions);
  }
  fail("an operation must be known");
}

std::vector<double> token_before(const ConstTokensView& view, Axes index, const Memory& memory) {
  std::vector<double> features;
  for (index[3] = 0; index[3] < view.extents.features; ++index[3])
    features.push_back(number_before(view, index, memory));
  return features;
}

std::vector<reference::CosSin> angles_at(const Sinusoidal& sinusoidal, const NumbersCase& positions,
                                         const Axes& index) {
  const long double position = number_at(positions, index[0], index[1]);
  if (positions.kind == NumberKind::f64) {
    return reference::sinusoidal_angles(sinusoidal, static_cast<double>(position));
  }
  return reference::sinusoidal_angles(sinusoidal, static_cast<std::int64_t>(position));
}

// True if neither the number in its dtype nor its products in double are near overflow.
bool is_ordinary(DType dtype, long double number) {
  return std::abs(number) < (dtype == DType::f16 ? f16_overflow * (1 - 0x1p-10) : 0x1p120);
}

void check_encoded(const SinusoidalCase& one, const Axes& index, const std::vector<double>& in,
                   const std::vector<double>& out) {
  const SinusoidalSpec& spec = one.sinusoidal.spec;
  const long double position = number_at(one.positions, index[0], index[1]);
  const bool is_zero =
      spec.zero_position && position == static_cast<long double>(*spec.zero_position);
  auto row = reference::sinusoidal_row(spec, angles_at(one.sinusoidal, one.positions, index));
  if (is_zero) std::fill(row.begin(), row.end(), 0);
  const auto bound_position =
      static_cast<double>(std::abs(position)) + std::abs(static_cast<double>(spec.position_offset));
  const bool adds = one.operation == Operation::add;
  for (std::size_t f = 0; f < row.size(); ++f) {
    const long double scaled = adds ? static_cast<long double>(one.embedding_scale) * in[f] : 0;
    const auto exact = static_cast<double>(scaled + row[f]);
    if (!is_ordinary(one.dst.dtype, scaled) || !is_ordinary(one.dst.dtype, exact)) continue;
    const double bound =
        adds ? add_sinusoidal_error_bound(one.dst.dtype, exact, static_cast<double>(scaled),
                                          bound_position)
             : sinusoidal_error_bound(one.dst.dtype, exact, bound_position);
    if (!(std::abs(out[f] - (scaled + row[f])) <= bound)) {
      fail("an encoding must be within the bound");
    }
  }
}

// The features that hold sin and cos of a pair.
struct PairPlaces {
  std::size_t sin = 0;
  std::size_t cos = 0;
};

PairPlaces places_of(const Sinusoidal& sinusoidal, std::size_t k) {
  const std::size_t half = sinusoidal.inv_freq.size();
  switch (sinusoidal.spec.layout) {
    case SinusoidalLayout::interleaved:
      return {2 * k, 2 * k + 1};
    case SinusoidalLayout::sin_then_cos:
      return {k, half + k};
    case SinusoidalLayout::cos_then_sin:
      return {half + k, k};
  }
  fail("a layout must be known");
}

void check_shifted(const SinusoidalCase& one, const Axes& index, const std::vector<double>& in,
                   const std::vector<double>& out) {
  Sinusoidal without_offset = one.sinusoidal;
  without_offset.spec.position_offset = 0;
  const auto angles = angles_at(without_offset, one.positions, index);
  const auto distance = static_cast<double>(number_at(one.positions, index[0], index[1]));
  const auto check = [&](double got, long double exact, double largest) {
    const double bound =
        shift_sinusoidal_error_bound(one.dst.dtype, static_cast<double>(exact), largest, distance);
    if (!(std::abs(got - exact) <= bound)) fail("a shifted encoding must be within the bound");
  };
  for (std::size_t k = 0; k < angles.size(); ++k) {
    const PairPlaces at = places_of(one.sinusoidal, k);
    const long double sin = in[at.sin];
    const long double cos = in[at.cos];
    const auto largest = static_cast<double>(std::max(std::abs(sin), std::abs(cos)));
    if (!is_ordinary(one.dst.dtype, 2 * sin) || !is_ordinary(one.dst.dtype, 2 * cos)) continue;
    check(out[at.sin], sin * angles[k].cos + cos * angles[k].sin, largest);
    check(out[at.cos], cos * angles[k].cos - sin * angles[k].sin, largest);
  }
}

// Checks only the first and the last token: multiple precision takes most of the time.
void check_written(const SinusoidalCase& one, const Memory& memory) {
  const TokenExtents& n = one.dst.extents;
  if (!is_empty(strided(one.dst))) {
    for (const Axes& index : {Axes{0, 0, 0, 0}, Axes{n.batch - 1, n.tokens - 1, 0, 0}}) {
      const bool reads = one.operation != Operation::fill;
      const auto in = token_before(reads ? one.src : one.dst, index, memory);
      const auto out = token_before(one.dst, index, {memory.after, memory.after});
      if (one.operation == Operation::shift) {
        check_shifted(one, index, in, out);
      } else {
        check_encoded(one, index, in, out);
      }
    }
  }
  put_back(strided(one.dst), memory);
  check_unchanged(memory, "bytes that belong to no token must stay");
}

}  // namespace

void fuzz_sinusoidal(Bytes& input, Buffers& buffers) {
  const auto one = decode(input, buffers);
  if (!one) return;
  const Memory memory = buffers.keep();
  const Answer expected = expected_answer(*one, memory.after.data());
  const std::size_t allocations = test::allocation_count();
  const auto status = run(*one);
  if (!is_accepted(status, expected, memory)) return;
  if (test::allocation_count() != allocations) fail("success must allocate nothing");
  check_written(*one, memory);
}

}  // namespace rotary::fuzz
