// SPDX-License-Identifier: Apache-2.0
// Sinusoidal encodings and learned tables.
#include <array>
#include <cstdint>

#include "public_calls/cases.hpp"
#include "public_calls/elements.hpp"
#include "rotary/absolute.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

constexpr std::int64_t row_features = 8;
constexpr std::array<std::int64_t, 3> token_places = {2, 0, 1};
constexpr std::array<std::int64_t, 3> places_outside = {2, 0, 9};

// The same tokens, and then others than the positions have: refused.
constexpr std::array token_extents = {TokenExtents{.tokens = 3, .features = row_features},
                                      TokenExtents{.tokens = 2, .features = row_features}};

void add_sinusoidal_cases(std::vector<Case>& cases) {
  for (const std::int64_t dim : {std::int64_t{8}, std::int64_t{0}}) {
    cases.push_back(case_of("rotary::make_sinusoidal(", std::to_string(dim),
                            [dim] { return make_sinusoidal(transformer_sinusoidal(dim)); }));
  }
  const Sinusoidal sinusoidal = value_of(make_sinusoidal(transformer_sinusoidal(row_features)));
  for (const TokenExtents& extents : token_extents) {
    const std::string what = std::to_string(extents.tokens) + " tokens";
    const SharedElements dst = elements(3 * row_features);
    const std::vector<std::span<std::byte>> outputs = {dst->bytes()};
    cases.push_back(case_of(
        "rotary::fill_sinusoidal(", what,
        [=] {
          return fill_sinusoidal(dst->tokens(extents), sinusoidal, positions_of(token_places));
        },
        outputs));
    cases.push_back(case_of(
        "rotary::add_sinusoidal(", what,
        [=] {
          return add_sinusoidal(dst->tokens(extents), dst->tokens(extents), sinusoidal,
                                positions_of(token_places));
        },
        outputs));
    cases.push_back(case_of(
        "rotary::shift_sinusoidal(", what,
        [=] {
          return shift_sinusoidal(dst->tokens(extents), dst->tokens(extents), sinusoidal,
                                  positions_of(token_places));
        },
        outputs));
  }
}

void add_learned_cases(std::vector<Case>& cases) {
  for (const auto& indices : {token_places, places_outside}) {
    const std::string what = std::to_string(indices.back());
    const SharedElements dst = elements(3 * row_features);
    const SharedElements table = elements(3 * row_features);
    const TokenExtents extents = token_extents.front();
    const auto rows = std::make_shared<std::array<std::int64_t, 3>>(indices);
    const auto lookup = [=]() -> Lookup {
      return {.table = table->table(3, row_features), .rows = {.indices = positions_of(*rows)}};
    };
    cases.push_back(
        case_of("rotary::add_learned(", what,
                [=] { return add_learned(dst->tokens(extents), dst->tokens(extents), lookup()); },
                {dst->bytes()}));
    cases.push_back(case_of("rotary::sum_embeddings(", what,
                            [=] {
                              const std::array lookups = {lookup(), lookup()};
                              return sum_embeddings(dst->tokens(extents), lookups);
                            },
                            {dst->bytes()}));
    cases.push_back(case_of("rotary::add_table_gradient(", what,
                            [=] {
                              return add_table_gradient(table->table(3, row_features),
                                                        lookup().rows, dst->tokens(extents));
                            },
                            {table->bytes()}));
  }
  for (const std::int64_t batch : {2, 3}) {
    const auto positions = std::make_shared<std::vector<std::int64_t>>(4);
    cases.push_back(case_of("rotary::positions_from_mask(", std::to_string(batch),
                            [=] {
                              constexpr std::array<std::uint8_t, 4> mask = {1, 1, 0, 1};
                              return positions_from_mask(*positions, mask, batch);
                            },
                            {bytes_of(*positions)}));
  }
}

void add_interpolations(std::vector<Case>& cases) {
  constexpr std::array<TableInterpolation, 3> interpolations = {
      LinearInterpolation{}, LinearInterpolation{.kept_rows = 7},
      BicubicInterpolation{.from = {.rows = 2, .columns = 2}, .to = {.rows = 3, .columns = 2}}};
  for (const TableInterpolation& interpolation : interpolations) {
    const std::string what = std::to_string(interpolation.index());
    const SharedElements small = elements(4 * row_features);
    const SharedElements large = elements(6 * row_features);
    cases.push_back(case_of("rotary::interpolate_table(", what,
                            [=] {
                              return interpolate_table(large->table(6, row_features),
                                                       small->table(4, row_features),
                                                       interpolation);
                            },
                            {large->bytes()}));
    cases.push_back(case_of("rotary::add_interpolation_gradient(", what,
                            [=] {
                              return add_interpolation_gradient(small->table(4, row_features),
                                                                large->table(6, row_features),
                                                                interpolation);
                            },
                            {small->bytes()}));
  }
}

}  // namespace

std::vector<Case> absolute_cases() {
  std::vector<Case> cases = {
      cannot_fail("rotary::to_string(rotary::SinusoidalLayout)",
                  [] { return to_string(SinusoidalLayout::interleaved); }),
      cannot_fail("rotary::to_string(rotary::SinusoidalSpacing)",
                  [] { return to_string(SinusoidalSpacing::ends); }),
  };
  add_sinusoidal_cases(cases);
  add_learned_cases(cases);
  add_interpolations(cases);
  return cases;
}

}  // namespace rotary::test
