// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/absolute.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

constexpr Size width{.natural = 4, .held = Held::each};

const Sinusoidal& sinusoidal() {
  static const Sinusoidal made = value_of(make_sinusoidal(transformer_sinusoidal(4)));
  return made;
}

// Positions for each batch row and for all of them. The library checks them even where tokens have
// no features.
std::vector<Positions> all_positions(Sizes n) {
  return {positions_for<std::int64_t>(n[0], n[1]), positions<std::int32_t>(1, n[1]),
          positions_for<double>(n[0], n[1]), positions<double>(1, n[1]),
          ConsecutivePositions{.first = 0, .tokens = n[1]}};
}

template <class Use>
Status for_all_positions(Sizes n, const Use& use) {
  Status last;
  for (const Positions& each : all_positions(n)) {
    if (Status status = use(each); !status) last = std::move(status);
  }
  return last;
}

// Batch, tokens, features.
Rows sinusoidal_rows() {
  const std::vector<Size> sizes = {{2}, {3}, width};
  return {
      {"rotary::fill_sinusoidal(", sizes,
       [](Sizes n) {
         return for_all_positions(n, [&](const Positions& each) {
           return fill_sinusoidal(tokens({n[0], n[1], n[2]}), sinusoidal(), each);
         });
       }},
      {"rotary::add_sinusoidal(", sizes,
       [](Sizes n) {
         const TokenExtents extents{n[0], n[1], n[2]};
         return for_all_positions(n, [&](const Positions& each) {
           return add_sinusoidal(tokens(extents), tokens(extents), sinusoidal(), each);
         });
       }},
      {"rotary::shift_sinusoidal(", sizes,
       [](Sizes n) {
         const TokenExtents extents{n[0], n[1], n[2]};
         return for_all_positions(n, [&](const Positions& each) {
           return shift_sinusoidal(tokens(extents), tokens(extents), sinusoidal(), each);
         });
       }},
  };
}

// Batch, tokens, features, rows of the table.
Rows learned_rows() {
  const std::vector<Size> sizes = {{2}, {3}, width, {5}};
  return {
      {"rotary::add_learned(", sizes,
       [](Sizes n) {
         const TokenExtents extents{n[0], n[1], n[2]};
         return for_all_positions(n, [&](const Positions& each) {
           return add_learned(tokens(extents), tokens(extents),
                              {table(n[3], n[2]), {.indices = each}});
         });
       }},
      {"rotary::sum_embeddings(", sizes,
       [](Sizes n) {
         return for_all_positions(n, [&](const Positions& each) {
           const Lookup lookup{table(n[3], n[2]), {.indices = each}};
           const Lookup lookups[] = {lookup, lookup};
           return sum_embeddings(tokens({n[0], n[1], n[2]}), lookups);
         });
       }},
      {"rotary::add_table_gradient(", sizes,
       [](Sizes n) {
         return for_all_positions(n, [&](const Positions& each) {
           return add_table_gradient(table(n[3], n[2]), {.indices = each},
                                     tokens({n[0], n[1], n[2]}));
         });
       }},
      {"rotary::positions_from_mask(",
       {{.held = Held::each}, {.held = Held::each}, {}},
       [](Sizes n) {
         return positions_from_mask(numbers<std::int64_t>(n[0]), numbers<std::uint8_t>(n[1]), n[2]);
       }},
  };
}

// The number of cells of a grid; if they cannot be counted, a number that does not fit.
std::int64_t cells(std::int64_t rows, std::int64_t columns) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(rows, columns, &product) ? rows : product;
}

// Rows from, rows to, features, rows that are kept.
Rows linear_rows_of_tables() {
  const std::vector<Size> sizes = {{2}, {3}, width, {5}};
  return {
      {"rotary::interpolate_table(", sizes,
       [](Sizes n) {
         return interpolate_table(table(n[1], n[2]), table(n[0], n[2]),
                                  LinearInterpolation{.kept_rows = n[3]});
       }},
      {"rotary::add_interpolation_gradient(", sizes,
       [](Sizes n) {
         return add_interpolation_gradient(table(n[0], n[2]), table(n[1], n[2]),
                                           LinearInterpolation{.kept_rows = n[3]});
       }},
  };
}

// Rows and columns from, rows and columns to, features.
Rows bicubic_rows() {
  const std::vector<Size> sizes = {{}, {}, {}, {}, width};
  const auto grids = [](Sizes n) {
    return BicubicInterpolation{.from = {n[0], n[1]}, .to = {n[2], n[3]}};
  };
  return {
      {"rotary::interpolate_table(", sizes,
       [=](Sizes n) {
         return interpolate_table(table(cells(n[2], n[3]), n[4]), table(cells(n[0], n[1]), n[4]),
                                  grids(n));
       }},
      {"rotary::add_interpolation_gradient(", sizes,
       [=](Sizes n) {
         return add_interpolation_gradient(table(cells(n[0], n[1]), n[4]),
                                           table(cells(n[2], n[3]), n[4]), grids(n));
       }},
  };
}

}  // namespace

Rows absolute_rows() {
  Rows all;
  for (Rows& rows :
       std::array{sinusoidal_rows(), learned_rows(), linear_rows_of_tables(), bicubic_rows()})
    for (Row& row : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace rotary::test
