// SPDX-License-Identifier: Apache-2.0
#include "rotary/cope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/relative/bias_case.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/strided.hpp"
#include "reference/relative.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

struct CopeCase {
  bool is_gradient = false;
  ScoresView scores = {};  // read and written by add_cope; read by the gradient
  ConstHeadsView q = {};
  ConstTableView table = {};
  BiasRange range = {};
  // Only the gradient uses the members below.
  ConstScoresView d_scores = {};
  ScoresView of_scores = {};
  HeadsView of_q = {};
  std::span<double> of_table = {};
};

bool decode_gradients(Bytes& input, Places& places, CopeCase& cope) {
  const auto dtype = [&input](DType other) {
    return input.once_in(2) ? decode_dtype(input) : other;
  };
  cope.d_scores = cope.scores;
  cope.of_scores = cope.scores;
  cope.d_scores.dtype = dtype(cope.scores.dtype);
  cope.of_scores.dtype = dtype(cope.scores.dtype);
  cope.of_q = {.dtype = dtype(cope.q.dtype), .extents = cope.q.extents};
  if (input.once_in(32)) cope.d_scores.extents.keys = input.number(0, 6);
  if (input.once_in(32)) cope.of_scores.extents.queries = input.number(0, 4);
  if (input.once_in(32)) cope.of_q.extents.features = input.number(0, 4);
  std::int64_t count = clamped(cope.table.rows, 64) * clamped(cope.table.features, 64);
  if (input.once_in(32)) count = input.number(0, 8);
  const auto numbers = decode_array<double>(input, places, count);
  if (!numbers) return false;
  cope.of_table = *numbers;
  return decode_view(input, places, cope.d_scores) && decode_view(input, places, cope.of_scores) &&
         decode_view(input, places, cope.of_q);
}

std::optional<CopeCase> decode(Bytes& input, Buffers& buffers) {
  Places places(buffers.buffer());
  CopeCase cope;
  cope.is_gradient = input.once_in(2);
  const std::uint64_t seed = input.bits();
  cope.scores.dtype = decode_dtype(input);
  cope.q.dtype = decode_dtype(input);
  ScoresExtents& n = cope.scores.extents;
  n = {.batch = input.number(1, 2),
       .heads = input.number(1, 2),
       .queries = input.number(1, 4),
       .keys = input.number(1, 8)};
  cope.q.extents = {
      .batch = n.batch, .tokens = n.queries, .heads = n.heads, .features = input.number(1, 4)};
  disturb(input, n);
  cope.table = {.dtype = decode_dtype(input),
                .rows = input.number(1, 6),
                .features = cope.q.extents.features};
  disturb(input, {&cope.table.rows, &cope.table.features});
  if (!decode_view(input, places, cope.scores) || !decode_view(input, places, cope.q)) return {};
  if (!decode_view(input, places, cope.table)) return {};
  if (cope.is_gradient && !decode_gradients(input, places, cope)) return {};
  for (const Strided& view : {strided(cope.scores), strided(cope.q), strided(cope.table)}) {
    if (!is_empty(view) && !is_small(view)) return {};
  }
  cope.range.first_query = input.once_in(16) ? input.integer() : input.number(0, 7);
  cope.range.first_key = input.once_in(16) ? input.integer() : input.number(0, 7);
  fill(buffers.buffer(), cope.scores.dtype, decode_noise(input), seed);
  return cope;
}

bool is_bad(const CopeCase& cope) {
  const ScoresExtents& n = cope.scores.extents;
  const Extents& h = cope.q.extents;
  if (!is_countable(strided(cope.scores)) || !is_countable(strided(cope.q))) return true;
  if (n.batch != h.batch || n.queries != h.tokens || n.heads != h.heads) return true;
  if (cope.table.rows < 1 || cope.table.features != h.features) return true;
  if (!is_countable(strided(cope.table))) return true;
  if (n.queries == 0 || n.keys == 0) return false;
  if (expected_of({.range = cope.range}, n) != Answer::accept) return false;
  return cope.range.first_key + (n.keys - 1) < cope.range.first_query + (n.queries - 1);
}

bool are_bad_gradients(const CopeCase& cope) {
  const auto wanted = static_cast<int128>(cope.table.rows) * cope.table.features;
  return !is_countable(strided(cope.d_scores)) || !is_countable(strided(cope.of_scores)) ||
         !is_countable(strided(cope.of_q)) || cope.d_scores.extents != cope.scores.extents ||
         cope.of_scores.extents != cope.scores.extents || cope.of_q.extents != cope.q.extents ||
         static_cast<int128>(cope.of_table.size()) != wanted;
}

Answer expected_answer(const CopeCase& cope, const std::byte* buffer) {
  const Answer of_places = expected_of({.range = cope.range}, cope.scores.extents);
  if (is_bad(cope) || of_places == Answer::refuse) return Answer::refuse;
  const std::array of_inputs = {strided(cope.scores), strided(cope.q), strided(cope.table)};
  if (!cope.is_gradient) {
    const std::span all(of_inputs);
    return stricter(of_places, expected_of_sharing(all.first(1), all.last(2), buffer));
  }
  if (are_bad_gradients(cope)) return Answer::refuse;
  const std::array written = {strided(cope.of_scores), strided(cope.of_q), strided(cope.of_table)};
  const std::array read = {of_inputs[0], of_inputs[1], of_inputs[2], strided(cope.d_scores)};
  return stricter(of_places, expected_of_sharing(written, read, buffer));
}

Status run(const CopeCase& cope) {
  if (!cope.is_gradient) return add_cope(cope.scores, cope.q, {.table = cope.table}, cope.range);
  return add_cope_gradient({.scores = cope.of_scores, .q = cope.of_q, .table = cope.of_table},
                           {.scores = cope.scores, .q = cope.q}, {.table = cope.table},
                           cope.d_scores, cope.range);
}

reference::Matrix table_of(const CopeCase& cope, const Memory& memory) {
  reference::Matrix table;
  for (std::int64_t row = 0; row < cope.table.rows; ++row) {
    auto& values = table.emplace_back();
    for (std::int64_t f = 0; f < cope.table.features; ++f) {
      values.push_back(number_before(cope.table, {0, row, 0, f}, memory));
    }
  }
  return table;
}

// One query of one head, as read from memory.
struct Row {
  std::vector<long double> scores;
  std::vector<long double> q;

  // True if numbers are finite and their products stay within double.
  [[nodiscard]] bool is_ordinary() const {
    const auto is_score = [](long double score) { return !std::isnan(score); };
    const auto is_feature = [](long double feature) { return std::abs(feature) < 0x1p200L; };
    return std::all_of(scores.begin(), scores.end(), is_score) &&
           std::all_of(q.begin(), q.end(), is_feature);
  }
};

Row row_at(const CopeCase& cope, Axes index, const Memory& memory) {
  Row row;
  for (index[3] = 0; index[3] < cope.scores.extents.keys; ++index[3]) {
    row.scores.push_back(number_before(cope.scores, index, memory));
  }
  for (index[3] = 0; index[3] < cope.q.extents.features; ++index[3]) {
    row.q.push_back(number_before(cope.q, index, memory));
  }
  return row;
}

bool is_ordinary(const reference::Matrix& table) {
  return std::all_of(table.begin(), table.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(),
                       [](long double number) { return std::abs(number) < 0x1p200L; });
  });
}

// Upper bound on a product of the query with a row of the table.
long double size_of(const Row& row, const reference::Matrix& table) {
  long double size = 0;
  for (std::size_t f = 0; f < row.q.size(); ++f) {
    long double largest = 0;
    for (const auto& values : table) largest = std::max(largest, std::abs(values[f]));
    size += std::abs(row.q[f]) * largest;
  }
  return size;
}

// A position is a sum of gates, each with a few rounding errors. Between two rows of the table the
// bias changes by at most twice the size of a product.
long double error_of(const CopeCase& cope, long double size) {
  const auto keys = static_cast<long double>(cope.scores.extents.keys);
  const auto features = static_cast<long double>(cope.q.extents.features);
  return (2 * keys * (keys + 8) + features + 8) * 0x1p-53L * size;
}

void check_score(const CopeCase& cope, const Axes& index, long double before, long double added,
                 long double size, const Memory& memory) {
  const DType dtype = cope.scores.dtype;
  const long double most = dtype == DType::f16 ? f16_overflow * 0.99 : 0x1p126L;
  const long double exact = before + added;
  if (!(std::abs(before) + size < most)) return;
  const auto error = static_cast<double>(error_of(cope, size) + 0x1p-53L * std::abs(before));
  const double bound = stored_element_error(dtype, static_cast<double>(exact), error);
  const double got = number_after(cope.scores, index, memory);
  if (!(std::abs(got - exact) <= bound + 0x1p-1000)) fail("a score must get its bias");
}

void check_scores(const CopeCase& cope, const Memory& memory) {
  const Strided scores = strided(cope.scores);
  const auto table = table_of(cope, memory);
  Strided rows = scores;
  rows.counts[3] = std::min<std::int64_t>(rows.counts[3], 1);
  for_each_element(rows, [&](const Axes& first) {
    const Row row = row_at(cope, first, memory);
    if (!row.is_ordinary() || !is_ordinary(table)) return;
    const BiasRange range{.first_query = cope.range.first_query + first[1],
                          .first_key = cope.range.first_key};
    const auto added = reference::cope_bias({row.scores}, {row.q}, table, range);
    for (std::size_t key = 0; key < row.scores.size(); ++key) {
      Axes index = first;
      index[3] = static_cast<std::int64_t>(key);
      check_score(cope, index, row.scores[key], added[0][key], size_of(row, table), memory);
    }
  });
  put_back(scores, memory);
}

void put_back_gradients(const CopeCase& cope, const Memory& memory) {
  put_back(strided(cope.of_scores), memory);
  put_back(strided(cope.of_q), memory);
  put_back(strided(cope.of_table), memory);
}

}  // namespace

void fuzz_cope(Bytes& input, Buffers& buffers) {
  const auto cope = decode(input, buffers);
  if (!cope) return;
  const Memory memory = buffers.keep();
  const Answer expected = expected_answer(*cope, memory.after.data());
  const auto status = run(*cope);
  if (!is_accepted(status, expected, memory)) return;
  if (cope->is_gradient) {
    put_back_gradients(*cope, memory);
  } else {
    check_scores(*cope, memory);
  }
  check_unchanged(memory, "bytes that belong to no destination must stay");
}

}  // namespace rotary::fuzz
