// SPDX-License-Identifier: Apache-2.0
// attend_mapped() by the definition of each map: the angle of every pair of features of every query
// with every key.
#include <algorithm>
#include <cmath>

#include "fuzz/attention/checked_row.hpp"
#include "fuzz/attention/mapped_case.hpp"
#include "fuzz/check.hpp"
#include "reference/position_maps.hpp"

namespace rotary::fuzz {
namespace {

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

// Positions farther out have angles that are not known well enough to be compared.
constexpr std::int64_t farthest = std::int64_t{1} << 24;

reference::Attention attention_of(const MappedCase& of, const AttentionSequence& s) {
  return {.scale = of.options.attend.scale,
          .mask = {.order = reference::Order::causal, .left = of.options.attend.mask.left},
          .encoding = {.rotary =
                           reference::Rotary{.window = of.frequencies.window,
                                             .inv_freq = of.frequencies.inv_freq,
                                             .attention_factor = of.frequencies.attention_factor}},
          .query_positions = positions_from(s.query_position, s.queries),
          .key_positions = positions_from(s.key_position, s.keys),
          .query_factors = factors_of(of.options.attend.q_temperature, s)};
}

bool is_near(const reference::AttentionCase& of, const reference::QueryIndex& at,
             const test::ExactRow& exact) {
  const auto near = [](std::int64_t position) { return std::abs(position) <= farthest; };
  return near(of.query_positions[size(at.query)]) &&
         std::ranges::all_of(exact.keys(), [&](const test::SeenKey& seen) {
           return near(of.key_positions[size(seen.key)]);
         });
}

void check_all(const MappedCase& of, const AttentionSequence& s) {
  const auto place = [&](std::int64_t first) {
    return [=](std::int64_t token, std::int64_t head) {
      return HeadPlace{s.batch, first + token, head};
    };
  };
  const reference::AttentionInputs inputs{.q = gathered(of.q, s.queries, place(s.first_query)),
                                          .k = gathered(of.k, s.keys, place(s.first_key)),
                                          .v = gathered(of.v, s.keys, place(s.first_key))};
  const reference::Attention attention = attention_of(of, s);
  const reference::AttentionCase exact = reference::case_of(inputs, attention);
  const test::RowBounds bounds =
      test::attend_mapped_bounds(of.options.map, of.frequencies.window.pairs());
  // Rows are made for positions up to these, moved by as much as a map moves them.
  const double rotation =
      2 * rotate_error_bound(Direction::forward, of.frequencies.attention_factor, 64 * farthest);
  reference::for_each_query(exact, [&](const reference::QueryIndex& at) {
    const test::ExactRow row = test::exact_row(exact, at, rotation, [&](std::int64_t key) {
      return test::KeyScore{.score = reference::mapped_score(exact, of.options.map, at, key)};
    });
    if (!is_near(exact, at, row)) return;
    const HeadPlace out{s.batch, s.first_query + at.query, at.head};
    check_row_of(row, read_row(of.out, out, of.options.attend.log_sum_exp, {}), 0, bounds);
  });
}

}  // namespace

void check_mapped(const MappedCase& of) {
  const std::int64_t queries = of.q.extents.tokens;
  const std::int64_t keys = of.k.extents.tokens;
  if (of.sequences.empty()) {
    for (std::int64_t batch = 0; batch < of.q.extents.batch; ++batch) {
      check_all(
          of, {.batch = batch, .queries = queries, .keys = keys, .query_position = keys - queries});
    }
    return;
  }
  for (const AttentionSequence& s : of.sequences) {
    if (s.batch < 0 || s.batch >= of.q.extents.batch || s.first_query < 0 || s.queries < 0 ||
        s.first_query + s.queries > queries || s.first_key < 0 || s.first_key + s.keys > keys)
      fail("queries and keys of a sequence must be tokens");
    check_all(of, s);
  }
}

}  // namespace rotary::fuzz
