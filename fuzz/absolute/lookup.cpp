// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "fuzz/absolute/absolute_cases.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/heap.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/tokens_case.hpp"
#include "rotary/absolute.hpp"

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

// Keeps -2^63, which has no positive counterpart.
std::int64_t negated(std::int64_t number) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(number));
}

// Usually rows of the table; one may be any number.
std::vector<long double> decode_indices(Bytes& input, const LookupCase& lookup) {
  const auto small = [](std::int64_t extent) { return std::clamp<std::int64_t>(extent, 0, 16); };
  const std::int64_t rows = std::max<std::int64_t>(small(lookup.table.rows), 1);
  std::vector<long double> numbers;
  const std::int64_t first = input.byte();
  const std::int64_t count =
      small(lookup.indices.counts.batch) * small(lookup.indices.counts.tokens);
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
  const std::array<std::int64_t*, 2> each = {&lookup.table.rows, &lookup.table.features};
  disturb(input, each);
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
  const std::array<std::int64_t*, 3> each = {&n.batch, &n.tokens, &n.features};
  disturb(input, each);
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
    const auto of_gradient = places.place(input, strided(lookup.table));
    const auto of_upstream = places.place(input, strided(one.dst));
    if (!of_gradient || !of_upstream) return {};
    lookup.table.data = *of_gradient;
    one.dst.data = *of_upstream;
    const Strided upstream = strided(one.dst);
    if (!is_empty(upstream) && !is_small(upstream)) return {};
  }
  fill(buffers.buffer(), one.dst.dtype, input.once_in(3) ? Noise::any : Noise::activations,
       one.seed);
  for (const LookupCase& lookup : one.lookups) write_numbers(lookup.indices, lookup.numbers);
  return one;
}

// True if the table has the row of every token of the view. Checks only the first and last of
// consecutive indices, and one of an array with a stride of 0: counts may be huge.
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

// Indices of tokens without elements need not be rows.
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
  if (one.operation == Operation::add && !are_in_place(one.dst, one.src)) {
    if (!is_well_formed(strided(one.src)) || one.src.dtype != one.dst.dtype ||
        one.src.extents != one.dst.extents) {
      return Answer::refuse;
    }
    read.push_back(strided(one.src));
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
  const std::size_t allocated = allocated_bytes();
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
  if (status && allocated_bytes() != allocated) fail("success must allocate nothing");
  return status;
}

// Element (row, feature) of the table, for the row of token (index).
const std::byte* row_element(const LookupCase& lookup, const std::byte* bytes, const Memory& memory,
                             const Axes& index) {
  const auto row =
      static_cast<std::int64_t>(number_at(lookup.indices, index[0], index[1])) + lookup.offset;
  return bytes + place_of(strided(lookup.table), memory.after.data(), {0, row, 0, index[3]});
}

void check_tokens(const TokensCase& one, const Memory& memory) {
  const Strided dst = strided(one.dst);
  const std::byte* const buffer = memory.after.data();
  for_each_element(dst, [&](const Axes& index) {
    double sum = 0;
    bool is_first = true;
    const auto add = [&](const std::byte* element) {
      const double value = value_at(one.dst.dtype, element);
      sum = is_first ? value : sum + value;
      is_first = false;
    };
    if (one.operation == Operation::add) {
      add(memory.before.data() + place_of(strided(one.src), buffer, index));
    }
    for (const LookupCase& lookup : one.lookups) {
      add(row_element(lookup, memory.before.data(), memory, index));
    }
    if (!is_rounded(one.dst.dtype, buffer + place_of(dst, buffer, index), sum)) {
      fail("embeddings must be added in double and rounded once");
    }
  });
  put_back(dst, memory);
  check_unchanged(memory, "bytes that belong to no token must stay");
}

// Repeats the sums one by one, on the table's contents from before the call.
void check_gradient(const TokensCase& one, const Memory& memory) {
  const LookupCase& lookup = one.lookups.front();
  std::vector<std::byte> expected(memory.before.begin(), memory.before.end());
  const Strided upstream = strided(one.dst);
  const auto size = static_cast<std::size_t>(size_in_bytes(lookup.table.dtype));
  for_each_element(upstream, [&](const Axes& index) {
    const auto row =
        static_cast<std::int64_t>(number_at(lookup.indices, index[0], index[1])) + lookup.offset;
    if (row == lookup.padding_row) return;
    std::byte* const to = expected.data() + place_of(strided(lookup.table), memory.after.data(),
                                                     {0, row, 0, index[3]});
    const double more = value_at(
        one.dst.dtype, memory.before.data() + place_of(upstream, memory.after.data(), index));
    const std::uint64_t bits = bits_of(lookup.table.dtype, value_at(lookup.table.dtype, to) + more);
    std::memcpy(to, &bits, size);
  });
  for_each_element(strided(lookup.table), [&](const Axes& index) {
    const std::size_t at = place_of(strided(lookup.table), memory.after.data(), index);
    const double wanted = value_at(lookup.table.dtype, expected.data() + at);
    if (!is_rounded(lookup.table.dtype, memory.after.data() + at, wanted)) {
      fail("a gradient must be summed in order");
    }
  });
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
