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
#include "fuzz/tokens_case.hpp"
#include "reference/relative.hpp"

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
  const std::array<std::int64_t*, 2> each = {&shaw.table.rows, &shaw.table.features};
  disturb(input, each);
  if (shaw.operation != Operation::gradient) return decode_view(input, places, shaw.table);
  const auto small = [](std::int64_t count) { return std::clamp<std::int64_t>(count, 0, 64); };
  const std::int64_t count = small(shaw.table.rows) * small(shaw.table.features);
  const auto numbers = decode_array<double>(input, places, count);
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
  const std::array<std::int64_t*, 4> each = {&n.batch, &n.queries, &n.heads, &n.keys};
  disturb(input, each);
  Extents& h = shaw.heads.extents;
  const std::array<std::int64_t*, 4> of_heads = {&h.batch, &h.tokens, &h.heads, &h.features};
  if (input.once_in(8)) disturb(input, of_heads);
  if (!decode_view(input, places, shaw.scores) || !decode_view(input, places, shaw.heads))
    return {};
  if (!decode_table(input, places, shaw)) return {};
  for (const Strided& view : {strided(shaw.scores), strided(shaw.heads)}) {
    if (!is_empty(view) && !is_small(view)) return {};
  }
  shaw.range.first_query = input.once_in(8) ? input.integer() : input.number(0, 15);
  shaw.range.first_key = input.once_in(8) ? input.integer() : input.number(0, 15);
  fill(buffers.buffer(), shaw.scores.dtype, input.once_in(3) ? Noise::any : Noise::activations,
       seed);
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

// Elements from before the call.
struct Read {
  const Memory& memory;

  [[nodiscard]] double operator()(const ConstScoresView& view, const Axes& index) const {
    return at(view.dtype, strided(view), index);
  }
  [[nodiscard]] double operator()(const ConstHeadsView& view, const Axes& index) const {
    return at(view.dtype, strided(view), index);
  }
  [[nodiscard]] double operator()(const ConstTableView& view, std::int64_t row,
                                  std::int64_t column) const {
    return at(view.dtype, strided(view), {0, row, 0, column});
  }

 private:
  [[nodiscard]] double at(DType dtype, const Strided& view, const Axes& index) const {
    return value_at(dtype, memory.before.data() + place_of(view, memory.after.data(), index));
  }
};

void check_scores(const ShawCase& shaw, const Memory& memory) {
  const Read read{memory};
  for_each_element(strided(shaw.scores), [&](const Axes& index) {
    RoundedSum sum(read(shaw.scores, index));
    for (std::int64_t f = 0; f < shaw.heads.extents.features; ++f) {
      sum.add_product(read(shaw.heads, {index[0], index[1], index[2], f}),
                      read(shaw.table, row_of(shaw, index), f));
    }
    check_sum(sum, shaw.scores.dtype,
              memory.after.data() + place_of(strided(shaw.scores), memory.after.data(), index));
  });
  put_back(strided(shaw.scores), memory);
}

// Without keys nothing is added.
void check_values(const ShawCase& shaw, const Memory& memory) {
  const Read read{memory};
  for_each_element(strided(shaw.heads), [&](const Axes& index) {
    RoundedSum sum(read(shaw.heads, index));
    for (std::int64_t c = 0; c < shaw.scores.extents.keys; ++c) {
      const Axes score = {index[0], index[1], index[2], c};
      sum.add_product(read(shaw.scores, score), read(shaw.table, row_of(shaw, score), index[3]));
    }
    check_sum(sum, shaw.heads.dtype,
              memory.after.data() + place_of(strided(shaw.heads), memory.after.data(), index));
  });
  put_back(strided(shaw.heads), memory);
}

void check_gradient(const ShawCase& shaw, const Memory& memory) {
  const Read read{memory};
  const Strided gradient = strided(shaw.gradient);
  const std::byte* const buffer = memory.after.data();
  std::vector<RoundedSum> sums;
  for_each_element(gradient, [&](const Axes& index) {
    sums.emplace_back(
        value_at(DType::f64, memory.before.data() + place_of(gradient, buffer, index)));
  });
  const std::int64_t features = shaw.heads.extents.features;
  for_each_element(strided(shaw.scores), [&](const Axes& index) {
    for (std::int64_t f = 0; f < features; ++f) {
      sums[static_cast<std::size_t>(row_of(shaw, index) * features + f)].add_product(
          read(shaw.scores, index), read(shaw.heads, {index[0], index[1], index[2], f}));
    }
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Axes index = {0, 0, 0, static_cast<std::int64_t>(i)};
    check_sum(sums[i], DType::f64, buffer + place_of(gradient, buffer, index));
  }
  put_back(gradient, memory);
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
