// SPDX-License-Identifier: Apache-2.0
// Sinusoidal encodings and learned tables.
#include <algorithm>
#include <array>

#include "public_calls/call.hpp"
#include "rotary/absolute.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

// Positions for each batch row, for all of them, and consecutive ones. The library checks them even
// where tokens have no features.
std::vector<NamedPositions> all_positions() {
  std::vector<NamedPositions> all = {
      {"int32 for all rows",
       [](auto, auto tokens) -> Positions { return positions<std::int32_t>(1, tokens); }},
      {"double for all rows",
       [](auto, auto tokens) -> Positions { return positions<double>(1, tokens); }},
      {"consecutive",
       [](auto, auto tokens) -> Positions {
         return ConsecutivePositions{0, tokens};
       }},
  };
  all.insert(all.end(), std::begin(listed_positions), std::end(listed_positions));
  return all;
}

// Separate for each batch row if they exist, else one for all of them. Batch, tokens.
Positions at(const NamedPositions& kind, Sizes n) {
  return kind.of(n[0] > most_token_rows && n[1] > 0 ? 1 : n[0], n[1]);
}

TokensView tokens_of(Sizes n) { return tokens({n[0], n[1], n[2]}); }

// Batch, tokens, features.
Calls sinusoidal_calls() {
  static const Sinusoidal sinusoidal = value_of(make_sinusoidal(transformer_sinusoidal(8)));
  const SizeList sizes = {{2}, {3}, each(8)};
  Calls calls = {sized("rotary::make_sinusoidal(", "", {{8}},
                       [](Sizes n) { return make_sinusoidal(transformer_sinusoidal(n[0])); })};
  for (const NamedPositions& kind : all_positions()) {
    calls.push_back(sized("rotary::fill_sinusoidal(", kind.what, sizes, [kind](Sizes n) {
      return fill_sinusoidal(tokens_of(n), sinusoidal, at(kind, n));
    }));
    calls.push_back(sized("rotary::add_sinusoidal(", kind.what, sizes, [kind](Sizes n) {
      return add_sinusoidal(tokens_of(n), tokens_of(n), sinusoidal, at(kind, n));
    }));
    calls.push_back(sized("rotary::shift_sinusoidal(", kind.what, sizes, [kind](Sizes n) {
      return shift_sinusoidal(tokens_of(n), tokens_of(n), sinusoidal, at(kind, n));
    }));
  }
  return calls;
}

// Batch, tokens, features, rows of the table: also fewer than the tokens look up.
Calls learned_calls() {
  Calls calls;
  for (const std::int64_t rows : {6, 2}) {
    const SizeList sizes = {{2}, {3}, each(8), {rows}};
    for (const NamedPositions& kind : all_positions()) {
      calls.push_back(sized("rotary::add_learned(", kind.what, sizes, [kind](Sizes n) {
        return add_learned(tokens_of(n), tokens_of(n),
                           {table(n[3], n[2]), {.indices = at(kind, n)}});
      }));
      calls.push_back(sized("rotary::sum_embeddings(", kind.what, sizes, [kind](Sizes n) {
        const Lookup lookup{table(n[3], n[2]), {.indices = at(kind, n)}};
        return sum_embeddings(tokens_of(n), std::array{lookup, lookup});
      }));
      calls.push_back(sized("rotary::add_table_gradient(", kind.what, sizes, [kind](Sizes n) {
        return add_table_gradient(table(n[3], n[2]), {.indices = at(kind, n)}, tokens_of(n));
      }));
    }
  }
  calls.push_back(sized("rotary::positions_from_mask(", "", {each(4), each(4), {2}}, [](Sizes n) {
    return positions_from_mask(numbers<std::int64_t>(n[0]), numbers<std::uint8_t>(n[1]), n[2]);
  }));
  return calls;
}

// To the table of these rows from the other one, and the gradient back. Features are n[0].
template <class Interpolation>
void add_interpolating(Calls& calls, const SizeList& sizes, const Interpolation& interpolation_of) {
  calls.push_back(sized("rotary::interpolate_table(", "", sizes, [=](Sizes n) {
    const auto [from, to, interpolation] = interpolation_of(n);
    return interpolate_table(table(to, n[0]), table(from, n[0]), interpolation);
  }));
  calls.push_back(sized("rotary::add_interpolation_gradient(", "", sizes, [=](Sizes n) {
    const auto [from, to, interpolation] = interpolation_of(n);
    return add_interpolation_gradient(table(from, n[0]), table(to, n[0]), interpolation);
  }));
}

struct Interpolated {
  std::int64_t from;
  std::int64_t to;
  TableInterpolation interpolation;
};

// The number of cells of a grid; if they cannot be counted, a number that does not fit.
std::int64_t cells(std::int64_t rows, std::int64_t columns) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(rows, columns, &product) ? rows : product;
}

Calls interpolation_calls() {
  Calls calls;
  // Rows from, rows to, rows that are kept: also more than there are.
  for (const std::int64_t kept : {1, 7}) {
    add_interpolating(calls, {each(8), {4}, {6}, {kept}}, [](Sizes n) {
      return Interpolated{n[1], n[2], LinearInterpolation{.kept_rows = n[3]}};
    });
  }
  // Rows and columns from, rows and columns to.
  add_interpolating(calls, {each(8), {2}, {2}, {3}, {2}}, [](Sizes n) {
    return Interpolated{cells(n[1], n[2]), cells(n[3], n[4]),
                        BicubicInterpolation{.from = {n[1], n[2]}, .to = {n[3], n[4]}}};
  });
  return calls;
}

}  // namespace

Calls absolute_calls() {
  Calls calls = {
      without_sizes("rotary::to_string(rotary::SinusoidalLayout)", "",
                    [] { return to_string(SinusoidalLayout::interleaved); }),
      without_sizes("rotary::to_string(rotary::SinusoidalSpacing)", "",
                    [] { return to_string(SinusoidalSpacing::ends); }),
  };
  for (const auto more : {sinusoidal_calls, learned_calls, interpolation_calls}) add(calls, more());
  return calls;
}

}  // namespace rotary::test
