// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "fuzz/absolute/absolute_cases.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/tokens_case.hpp"
#include "rotary/absolute.hpp"
#include "tests/support/counted_new.hpp"

namespace rotary::fuzz {
namespace {

enum class Operation { add, sum, gradient };

// A table, and the row that each token reads.
struct LookupCase {
  TableView table = {};
  NumbersCase indices = {};
  std::vector<long double> numbers = {};  // written to the indices
  std::int64_t offset = 0;
  std::optional<std::int64_t> padding_row = {};

  [[nodiscard]] TableRows rows() const {
    return {.indices = positions_of(indices), .offset = offset, .padding_row = padding_row};
  }
};

struct TokensCase {
  Operation operation = Operation::add;
  TokensView dst = {};  // for a gradient: upstream
  ConstTokensView src = {};
  std::vector<LookupCase> lookups = {};  // for a gradient: one
  std::uint64_t seed = 0;
};

// Negates a number, but keeps -2^63, which has no positive counterpart.
std::int64_t negated(std::int64_t number) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(number));
}

// Returns rows of the table as indices. Rarely, one index is any number.
std::vector<long double> decode_indices(Bytes& input, const LookupCase& lookup) {
  const std::int64_t rows = std::max<std::int64_t>(clamped(lookup.table.rows, 16), 1);
  std::vector<long double> numbers;
  const std::int64_t first = input.byte();
  const auto& [batch, tokens] = lookup.indices.counts;
  const std::int64_t count = clamped(batch, 16) * clamped(tokens, 16);
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<long double>((first + i * 3) % rows) -
                      static_cast<long double>(lookup.offset));
  }
  if (count > 0 && input.once_in(8)) {
    numbers[input.byte() % numbers.size()] = static_cast<long double>(input.integer());
  }
  return numbers;
}

bool decode_lookup(Bytes& input, Places& places, const TokensView& dst, LookupCase& lookup) {
  lookup.table.dtype = input.once_in(32) ? decode_dtype(input) : dst.dtype;
  lookup.table.rows = input.number(1, 6);
  lookup.table.features = dst.extents.features;
  disturb(input, {&lookup.table.rows, &lookup.table.features});
  const auto kind = static_cast<NumberKind>(input.once_in(32) ? 3 : input.number(0, 2));
  const TokenExtents& n = dst.extents;
  const NumberCounts counts{.batch = input.once_in(2) ? n.batch : 1, .tokens = n.tokens};
  const auto indices = decode_numbers(input, places, kind, counts);
  if (!indices || !decode_view(input, places, lookup.table)) return false;
  lookup.indices = *indices;
  lookup.offset = input.once_in(4) ? input.integer() : input.number(0, 2);
  lookup.indices.first = input.once_in(8) ? input.integer() : negated(lookup.offset);
  if (input.once_in(2)) lookup.padding_row = input.number(0, 5);
  lookup.numbers = decode_indices(input, lookup);
  return true;
}

std::optional<TokensCase> decode(Bytes& input, Buffers& buffers) {
  Places places(buffers.buffer());
  TokensCase one;
  one.operation = static_cast<Operation>(input.number(0, 2));
  one.seed = input.bits();
  one.dst.dtype = decode_dtype(input);
  TokenExtents& n = one.dst.extents;
  n = {.batch = input.number(1, 3), .tokens = input.number(1, 4), .features = input.number(1, 6)};
  if (input.once_in(8)) n = {.batch = 1, .tokens = 2, .features = input.number(120, 300)};
  disturb(input, n);
  if (!decode_view(input, places, one.dst)) return {};
  if (!decode_source(input, places, one.dst, one.src)) return {};
  const std::int64_t lookups = one.operation == Operation::sum ? input.number(0, 3) : 1;
  for (std::int64_t i = 0; i < lookups; ++i) {
    if (!decode_lookup(input, places, one.dst, one.lookups.emplace_back())) return {};
  }
  if (one.operation == Operation::gradient) {
    LookupCase& lookup = one.lookups.front();
    if (!input.once_in(8)) lookup.table.dtype = input.once_in(2) ? DType::f64 : DType::f32;
    if (input.once_in(4)) one.dst.dtype = decode_dtype(input);
    if (!place_view(input, places, lookup.table)) return {};
    if (!place_view(input, places, one.dst)) return {};
    const Strided upstream = strided(one.dst);
    if (!is_empty(upstream) && !is_small(upstream)) return {};
  }
  fill(buffers.buffer(), one.dst.dtype, decode_noise(input), one.seed);
  for (const LookupCase& lookup : one.lookups) write_numbers(lookup.indices, lookup.numbers);
  return one;
}

// True if the table has the row of every token. Counts may be huge, so this checks only the first
// and last of consecutive indices, and one index of an array with a stride of 0.
bool have_rows(const LookupCase& lookup, const TokenExtents& n) {
  const bool is_array = lookup.indices.kind != NumberKind::consecutive;
  const std::int64_t tokens = is_array && lookup.indices.token_stride == 0 ? 1 : n.tokens;
  const std::int64_t step = is_array ? 1 : std::max<std::int64_t>(tokens - 1, 1);
  for (std::int64_t b = 0; b < std::min(n.batch, lookup.indices.counts.batch); ++b) {
    for (std::int64_t t = 0; t<tokens; t = tokens - t> step ? t + step : tokens) {
      const long double row =
          number_at(lookup.indices, b, t) + static_cast<long double>(lookup.offset);
      if (row < 0 || row >= static_cast<long double>(lookup.table.rows)) return false;
    }
  }
  return true;
}

// Without tokens, any index is accepted. For tokens without features, any index may be accepted.
Answer expected_of_indices(const LookupCase& lookup, const TokenExtents& n) {
  if (lookup.indices.kind == NumberKind::f64 || !are_of_tokens(lookup.indices, n)) {
    return Answer::refuse;
  }
  const bool has_tokens = n.batch > 0 && n.tokens > 0;
  if (!has_tokens) return Answer::accept;
  if (have_rows(lookup, n)) return Answer::accept;
  return n.features == 0 ? Answer::either : Answer::refuse;
}

Answer expected_of_lookups(const TokensCase& one, const std::byte* buffer) {
  const Strided dst = strided(one.dst);
  if (!is_well_formed(dst)) return Answer::refuse;
  Answer answer = Answer::accept;
  std::vector<Strided> read;
  if (one.operation == Operation::add && !add_source(one.dst, one.src, read)) {
    return Answer::refuse;
  }
  for (const LookupCase& lookup : one.lookups) {
    if (!is_well_formed(strided(lookup.table)) || lookup.table.dtype != one.dst.dtype ||
        lookup.table.features != one.dst.extents.features) {
      return Answer::refuse;
    }
    answer = stricter(answer, expected_of_indices(lookup, one.dst.extents));
    if (answer == Answer::refuse) return answer;
    read.push_back(strided(lookup.table));
    read.push_back(strided(lookup.indices));
  }
  return stricter(answer, expected_of_sharing(std::array{dst}, read, buffer));
}

Answer expected_of_gradient(const TokensCase& one, const std::byte* buffer) {
  const LookupCase& lookup = one.lookups.front();
  const Strided gradient = strided(lookup.table);
  const Strided upstream = strided(one.dst);
  if (!is_well_formed(gradient) || !is_well_formed(upstream)) return Answer::refuse;
  const DType dtype = lookup.table.dtype;
  if (dtype != DType::f64 && (dtype != DType::f32 || one.dst.dtype == DType::f64)) {
    return Answer::refuse;
  }
  if (lookup.table.features != one.dst.extents.features) return Answer::refuse;
  const Answer of_indices = expected_of_indices(lookup, one.dst.extents);
  if (of_indices == Answer::refuse) return of_indices;
  const std::array read = {upstream, strided(lookup.indices)};
  return stricter(of_indices, expected_of_sharing(std::array{gradient}, read, buffer));
}

Status run(const TokensCase& one) {
  std::vector<Lookup> lookups;
  for (const LookupCase& lookup : one.lookups) {
    lookups.push_back({.table = lookup.table, .rows = lookup.rows()});
  }
  const std::size_t allocations = test::allocation_count();
  Status status;
  switch (one.operation) {
    case Operation::add:
      status = add_learned(one.dst, one.src, lookups.front());
      break;
    case Operation::sum:
      status = sum_embeddings(one.dst, lookups);
      break;
    case Operation::gradient:
      status = add_table_gradient(one.lookups.front().table, lookups.front().rows, one.dst);
      break;
  }
  if (status && test::allocation_count() != allocations) fail("success must allocate nothing");
  return status;
}

// The table element that a token reads.
Axes in_table(const LookupCase& lookup, const Axes& index) {
  const auto row = static_cast<std::int64_t>(number_at(lookup.indices, index[0], index[1]));
  return {0, row + lookup.offset, 0, index[3]};
}

void check_tokens(const TokensCase& one, const Memory& memory) {
  const Strided dst = strided(one.dst);
  for_each_element(dst, [&](const Axes& index) {
    std::vector<double> terms;
    if (one.operation == Operation::add) terms.push_back(number_before(one.src, index, memory));
    for (const LookupCase& lookup : one.lookups)
      terms.push_back(number_before(lookup.table, in_table(lookup, index), memory));
    // Starts at -0, because -0 + x is x even if x is -0.
    const double sum = terms.empty() ? 0 : std::accumulate(terms.begin(), terms.end(), -0.0);
    if (!is_rounded(one.dst.dtype, number_after(one.dst, index, memory), sum)) {
      fail("embeddings must be added in double and rounded once");
    }
  });
  put_back(dst, memory);
  check_unchanged(memory, "bytes that belong to no token must stay");
}

// Repeats the sums one by one, on the table's contents from before the call.
void check_gradient(const TokensCase& one, const Memory& memory) {
  const LookupCase& lookup = one.lookups.front();
  const DType dtype = lookup.table.dtype;
  std::map<Axes, double> sums;
  for_each_element(strided(lookup.table), [&](const Axes& index) {
    sums[index] = number_before(lookup.table, index, memory);
  });
  for_each_element(strided(one.dst), [&](const Axes& index) {
    const Axes to = in_table(lookup, index);
    if (to[1] == lookup.padding_row) return;
    sums[to] = check::rounded(dtype, sums[to] + number_before(one.dst, index, memory));
  });
  for (const auto& [index, sum] : sums) {
    if (!is_rounded(dtype, number_after(lookup.table, index, memory), sum))
      fail("a gradient must be summed in order");
  }
  put_back(strided(lookup.table), memory);
  check_unchanged(memory, "bytes that belong to no gradient must stay");
}

// positions and mask may overlap, or have other sizes than the batch allows.
void fuzz_mask(Bytes& input, Buffers& buffers) {
  const auto buffer = buffers.buffer();
  fill(buffer, DType::f32, Noise::any, input.bits());
  const std::size_t size = input.byte() % std::size_t{24};
  const std::size_t mask_size = input.once_in(8) ? input.byte() % std::size_t{24} : size;
  const std::int64_t batch = input.once_in(16) ? input.integer() : input.number(0, 6);
  auto* const positions = reinterpret_cast<std::int64_t*>(buffer.data() + 512);
  const std::size_t at = input.once_in(4) ? input.byte() * std::size_t{4} : 2048;
  auto* const mask = reinterpret_cast<std::uint8_t*>(buffer.data() + at);
  bool is_mask = true;
  for (std::size_t i = 0; i < mask_size; ++i) {
    mask[i] = input.mask_element(64);
    is_mask = is_mask && mask[i] <= 1;
  }
  const Memory memory = buffers.keep();
  const bool are_apart =
      size == 0 || mask_size == 0 || at >= 512 + 8 * size || at + mask_size <= 512;
  const auto count = static_cast<std::int64_t>(size);
  const bool is_batch = batch > 0 ? count % batch == 0 : batch == 0 && count == 0;
  const bool is_legal = is_mask && are_apart && is_batch && size == mask_size;
  const auto status = positions_from_mask({positions, size}, {mask, mask_size}, batch);
  if (!is_accepted(status, is_legal ? Answer::accept : Answer::refuse, memory)) return;
  const std::int64_t tokens = batch > 0 ? std::max<std::int64_t>(count / batch, 1) : 1;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<std::int64_t>(i) % tokens == 0) next = 0;
    if (positions[i] != (mask[i] == 1 ? next++ : -1)) fail("a position must count the tokens");
  }
  std::memcpy(positions, memory.before.data() + 512, 8 * size);
  check_unchanged(memory, "bytes that belong to no position must stay");
}

}  // namespace

void fuzz_lookup(Bytes& input, Buffers& buffers) {
  if (input.once_in(8)) {
    fuzz_mask(input, buffers);
    return;
  }
  const auto one = decode(input, buffers);
  if (!one) return;
  const Memory memory = buffers.keep();
  const bool is_gradient = one->operation == Operation::gradient;
  const Answer expected = is_gradient ? expected_of_gradient(*one, memory.after.data())
                                      : expected_of_lookups(*one, memory.after.data());
  const auto status = run(*one);
  if (!is_accepted(status, expected, memory)) return;
  is_gradient ? check_gradient(*one, memory) : check_tokens(*one, memory);
}

}  // namespace rotary::fuzz
