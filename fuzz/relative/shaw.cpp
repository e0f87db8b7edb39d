// SPDX-License-Identifier: Apache-2.0
#include "rotary/shaw.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/relative/bias_case.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/relative/rounded_sum.hpp"
#include "fuzz/strided.hpp"
#include "reference/relative.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

enum class Operation { scores, values, gradient };

struct ShawCase {
  Operation operation = Operation::scores;
  ScoresView scores = {};  // for values: the weights
  HeadsView heads = {};    // q; for values: out
  ShawWindow window = {};
  ConstTableView table = {};
  std::span<double> gradient = {};  // instead of the table
  BiasRange range = {};
};

bool decode_table(Bytes& input, Places& places, ShawCase& shaw) {
  shaw.window = {.left = input.number(0, 5), .right = input.number(0, 5)};
  if (input.once_in(16)) shaw.window.left = input.integer();
  if (input.once_in(16)) shaw.window.right = input.integer();
  const bool is_window = shaw.window.left >= 0 && shaw.window.left <= std::int64_t{1} << 41 &&
                         shaw.window.right >= 0 && shaw.window.right <= std::int64_t{1} << 41;
  shaw.table.dtype = decode_dtype(input);
  shaw.table.rows = is_window ? shaw.window.rows() : input.number(1, 5);
  shaw.table.features = shaw.heads.extents.features;
  disturb(input, {&shaw.table.rows, &shaw.table.features});
  if (shaw.operation != Operation::gradient) return decode_view(input, places, shaw.table);
  const auto numbers = decode_array<double>(
      input, places, clamped(shaw.table.rows, 64) * clamped(shaw.table.features, 64));
  if (!numbers) return false;
  shaw.gradient = *numbers;
  return true;
}

std::optional<ShawCase> decode(Bytes& input, Buffers& buffers) {
  Places places(buffers.buffer());
  ShawCase shaw;
  shaw.operation = static_cast<Operation>(input.number(0, 2));
  const std::uint64_t seed = input.bits();
  shaw.scores.dtype = decode_dtype(input);
  shaw.heads.dtype = decode_dtype(input);
  ScoresExtents& n = shaw.scores.extents;
  n = {.batch = input.number(1, 2),
       .heads = input.number(1, 2),
       .queries = input.number(1, 4),
       .keys = input.number(1, 6)};
  shaw.heads.extents = {
      .batch = n.batch, .tokens = n.queries, .heads = n.heads, .features = input.number(1, 5)};
  disturb(input, n);
  Extents& h = shaw.heads.extents;
  if (input.once_in(8)) disturb(input, h);
  if (!decode_view(input, places, shaw.scores) || !decode_view(input, places, shaw.heads))
    return {};
  if (!decode_table(input, places, shaw)) return {};
  for (const Strided& view : {strided(shaw.scores), strided(shaw.heads)}) {
    if (!is_empty(view) && !is_small(view)) return {};
  }
  shaw.range.first_query = input.once_in(8) ? input.integer() : input.number(0, 15);
  shaw.range.first_key = input.once_in(8) ? input.integer() : input.number(0, 15);
  fill(buffers.buffer(), shaw.scores.dtype, decode_noise(input), seed);
  return shaw;
}

bool is_bad_table(const ShawCase& shaw) {
  const auto& [left, right] = shaw.window;
  const std::int64_t most = std::int64_t{1} << 40;
  if (left < 0 || left > most || right < 0 || right > most) return true;
  const std::int64_t features = shaw.heads.extents.features;
  if (shaw.operation == Operation::gradient) {
    const auto wanted = static_cast<int128>(shaw.window.rows()) * features;
    return static_cast<int128>(shaw.gradient.size()) != wanted;
  }
  return shaw.table.rows != shaw.window.rows() || shaw.table.features != features;
}

Answer expected_answer(const ShawCase& shaw, const std::byte* buffer) {
  const Strided scores = strided(shaw.scores);
  const Strided heads = strided(shaw.heads);
  const ScoresExtents& n = shaw.scores.extents;
  const Extents& h = shaw.heads.extents;
  if (!is_countable(scores) || !is_countable(heads)) return Answer::refuse;
  if (n.batch != h.batch || n.queries != h.tokens || n.heads != h.heads) return Answer::refuse;
  const Answer of_places = expected_of({.range = shaw.range}, n);
  if (is_bad_table(shaw) || of_places == Answer::refuse) return Answer::refuse;
  if (shaw.operation == Operation::gradient) {
    const std::array read = {scores, heads};
    return stricter(of_places,
                    expected_of_sharing(std::array{strided(shaw.gradient)}, read, buffer));
  }
  const Strided table = strided(shaw.table);
  const Answer of_table = stricter(of_places, expected_of_table(table));
  if (of_table == Answer::refuse) return of_table;
  const bool adds_to_scores = shaw.operation == Operation::scores;
  const std::array read = {adds_to_scores ? heads : scores, table};
  return stricter(of_table,
                  expected_of_sharing(std::array{adds_to_scores ? scores : heads}, read, buffer));
}

Status run(const ShawCase& shaw) {
  const ShawTable table{.window = shaw.window, .table = shaw.table};
  switch (shaw.operation) {
    case Operation::scores:
      return add_shaw_scores(shaw.scores, shaw.heads, table, shaw.range);
    case Operation::values:
      return add_shaw_values(shaw.heads, shaw.scores, table, shaw.range);
    case Operation::gradient:
      return add_shaw_gradient({.table = shaw.gradient, .window = shaw.window}, shaw.scores,
                               shaw.heads, shaw.range);
  }
  fail("an operation must be known");
}

std::int64_t row_of(const ShawCase& shaw, const Axes& score) {
  return reference::shaw_row(shaw.window, {.query = shaw.range.first_query + score[1],
                                           .key = shaw.range.first_key + score[3]});
}

// Each product and each sum is rounded once in double; grouped sums are rounded a few more times.
// Skips numbers that overflow, are 0, or are so small that products underflow.
void check_sum(const RoundedSum& sum, DType dtype, double got) {
  const long double most = dtype == DType::f16   ? f16_overflow * 0.99
                           : dtype == DType::f64 ? 0x1p1000L
                                                 : 0x1p127L;
  if (!(sum.size < most) || sum.size < 0x1p-900L) return;
  const long double error = static_cast<long double>(sum.terms + 4) * 0x1p-53L * sum.size;
  const double bound =
      stored_element_error(dtype, static_cast<double>(sum.value), static_cast<double>(error));
  if (!(std::abs(got - sum.value) <= bound)) fail("a sum of products must be within its roundings");
}

void check_scores(const ShawCase& shaw, const Memory& memory) {
  for_each_element(strided(shaw.scores), [&](const Axes& index) {
    RoundedSum sum(number_before(shaw.scores, index, memory));
    for (std::int64_t f = 0; f < shaw.heads.extents.features; ++f) {
      sum.add_product(number_before(shaw.heads, {index[0], index[1], index[2], f}, memory),
                      number_before(shaw.table, {0, row_of(shaw, index), 0, f}, memory));
    }
    check_sum(sum, shaw.scores.dtype, number_after(shaw.scores, index, memory));
  });
  put_back(strided(shaw.scores), memory);
}

// The call adds products to each number. Without keys it adds none.
void check_values(const ShawCase& shaw, const Memory& memory) {
  for_each_element(strided(shaw.heads), [&](const Axes& index) {
    RoundedSum sum(number_before(shaw.heads, index, memory));
    for (std::int64_t c = 0; c < shaw.scores.extents.keys; ++c) {
      const Axes score = {index[0], index[1], index[2], c};
      sum.add_product(number_before(shaw.scores, score, memory),
                      number_before(shaw.table, {0, row_of(shaw, score), 0, index[3]}, memory));
    }
    check_sum(sum, shaw.heads.dtype, number_after(shaw.heads, index, memory));
  });
  put_back(strided(shaw.heads), memory);
}

void check_gradient(const ShawCase& shaw, const Memory& memory) {
  std::vector<RoundedSum> sums;
  for (const double number : before(shaw.gradient, memory)) sums.emplace_back(number);
  const std::int64_t features = shaw.heads.extents.features;
  for_each_element(strided(shaw.scores), [&](const Axes& index) {
    for (std::int64_t f = 0; f < features; ++f) {
      sums[static_cast<std::size_t>(row_of(shaw, index) * features + f)].add_product(
          number_before(shaw.scores, index, memory),
          number_before(shaw.heads, {index[0], index[1], index[2], f}, memory));
    }
  });
  for (std::size_t i = 0; i < sums.size(); ++i) check_sum(sums[i], DType::f64, shaw.gradient[i]);
  put_back(strided(shaw.gradient), memory);
}

}  // namespace

void fuzz_shaw(Bytes& input, Buffers& buffers) {
  const auto shaw = decode(input, buffers);
  if (!shaw) return;
  const Memory memory = buffers.keep();
  const Answer expected = expected_answer(*shaw, memory.after.data());
  const auto status = run(*shaw);
  if (!is_accepted(status, expected, memory)) return;
  if (shaw->operation == Operation::scores) check_scores(*shaw, memory);
  if (shaw->operation == Operation::values) check_values(*shaw, memory);
  if (shaw->operation == Operation::gradient) check_gradient(*shaw, memory);
  check_unchanged(memory, "bytes that belong to no destination must stay");
}

}  // namespace rotary::fuzz
