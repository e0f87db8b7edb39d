// SPDX-License-Identifier: Apache-2.0
// Does one random rotation with every instruction set of this machine. Each set must keep the
// contract and give equal bits for any split. With rows of the simplest set, the bound is doubled.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/target.hpp"
#include "fuzz/turned.hpp"
#include "rotary/rotate.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::int64_t most_elements = 256;
constexpr std::size_t tensor_bytes = std::size_t{2} * 8 * most_elements + 64;
constexpr std::size_t rows_bytes = std::size_t{1} << 16;

alignas(64) std::array<std::byte, tensor_bytes> source;
alignas(64) std::array<std::byte, tensor_bytes> whole;
alignas(64) std::array<std::byte, tensor_bytes> parts;
alignas(64) std::array<std::byte, tensor_bytes> checked;  // the last result that was checked
alignas(64) std::array<std::byte, rows_bytes> row_memory;

struct Case {
  HeadWindow window;
  std::int64_t spec_kind = 0;
  Direction direction = Direction::forward;
  DType dtype = DType::f32;
  Extents extents = {};
  Strides strides = {};
  std::int64_t shift = 0;  // elements from the start of memory; vectors need no alignment
  std::int64_t first_position = 0;
  std::int64_t split = 0;  // tokens in the first part
  Noise noise = Noise::activations;
  std::uint64_t seed = 0;
};

HeadWindow decode_window(Bytes& input) {
  const std::int64_t pairs = input.number(1, 72);
  const std::int64_t first = input.once_in(3) ? input.number(0, 9) : 0;
  const std::int64_t rest = input.once_in(3) ? input.number(0, 9) : 0;
  return {.head_dim = first + 2 * pairs + rest,
          .rotary_dim = 2 * pairs,
          .first_feature = first,
          .pairing = input.one_of(all_pairings)};
}

Strides decode_strides(Bytes& input, const Extents& extents) {
  Strides strides = input.once_in(2) ? strides_bhtd(extents) : strides_bthd(extents);
  if (!input.once_in(4)) return strides;
  return {.batch = 2 * strides.batch,
          .token = 2 * strides.token,
          .head = 2 * strides.head,
          .feature = 2 * strides.feature};
}

Case decode(Bytes& input) {
  Case one{.window = decode_window(input)};
  one.spec_kind = input.number(0, spec_kinds - 1);
  one.direction = static_cast<Direction>(input.number(1, 3));
  one.dtype = static_cast<DType>(input.number(1, 4));
  Extents& n = one.extents;
  n = {.batch = input.number(1, 2), .heads = input.number(1, 4), .features = one.window.head_dim};
  const std::int64_t most_tokens = most_elements / (n.batch * n.heads * n.features);
  if (most_tokens == 0) n.batch = n.heads = 1;
  n.tokens = 1 + input.number(0, 255) % std::clamp<std::int64_t>(most_tokens, 1, 96);
  one.strides = decode_strides(input, n);
  one.shift = input.number(0, 7);
  one.first_position = input.integer();
  const std::int64_t last = std::numeric_limits<std::int64_t>::max() - n.tokens;
  if (one.first_position > last) one.first_position = last;
  one.split = input.number(0, 255) % (n.tokens + 1);
  one.noise = decode_noise(input);
  one.seed = input.bits();
  return one;
}

struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

HeadsView view_of(const Case& one, std::span<std::byte> memory, const TokenRange& tokens) {
  HeadsView view{.dtype = one.dtype, .extents = one.extents, .strides = one.strides};
  view.extents.tokens = tokens.end - tokens.begin;
  view.data =
      memory.data() + (one.shift + tokens.begin * one.strides.token) * size_in_bytes(one.dtype);
  return view;
}

// Allocates if memory is empty.
Rotations make_rows(const Case& one, const TokenRange& tokens, std::span<std::byte> memory) {
  const ConsecutivePositions positions{.first = one.first_position + tokens.begin,
                                       .tokens = tokens.end - tokens.begin};
  const RowDType rows = one.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
  auto rotations = make_rotations(frequencies_of(one.window, one.spec_kind), positions,
                                  {.rows = rows, .memory = memory});
  if (!rotations) fail("rotations must be made", rotations.error().message);
  return *std::move(rotations);
}

Rotations rotations_of(const Case& one, const TokenRange& tokens) {
  return make_rows(one, tokens, row_memory);
}

void rotate_tokens(const Case& one, std::span<std::byte> memory, const TokenRange& tokens,
                   const Executor& executor) {
  const auto status =
      rotate(view_of(one, memory, tokens), view_of(one, source, tokens), rotations_of(one, tokens),
             {.direction = one.direction, .executor = executor});
  if (!status) fail("a legal call must succeed", status.error().message);
}

bool same_element(DType dtype, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<std::size_t>(size_in_bytes(dtype))) == 0) return true;
  return std::isnan(value_at(dtype, a)) && std::isnan(value_at(dtype, b));
}

// Any NaN equals any other NaN.
void check_same_bits(const Case& one) {
  if (std::memcmp(whole.data(), parts.data(), whole.size()) == 0) return;
  const auto size = static_cast<std::size_t>(size_in_bytes(one.dtype));
  for (std::size_t i = 0; i + size <= whole.size(); i += size) {
    if (!same_element(one.dtype, whole.data() + i, parts.data() + i)) {
      fail("a split must not change a bit");
    }
  }
}

void check_splits(const Case& one) {
  const std::int64_t tokens = one.extents.tokens;
  parts = source;
  rotate_tokens(one, parts, {.begin = 0, .end = one.split}, {});
  rotate_tokens(one, parts, {.begin = one.split, .end = tokens}, {});
  check_same_bits(one);
  if (one.extents.batch * tokens < 64) return;
  parts = source;
  test::CountingExecutor backwards(test::run_backwards, 3);
  rotate_tokens(one, parts, {.begin = 0, .end = tokens}, backwards.executor());
  check_executor(backwards, 1);
  check_same_bits(one);
}

// Compares every pair with the rows of this set, and with the rows of the simplest set.
void check_pairs(const Case& one, const Rotations& simplest) {
  const TokenRange all{.begin = 0, .end = one.extents.tokens};
  const HeadsView view = view_of(one, whole, all);
  const Memory memory{.before = source, .after = whole};
  check_turned(view, view, {.rotations = rotations_of(one, all), .direction = one.direction},
               memory);
  check_turned(
      view, view,
      {.rotations = simplest, .direction = one.direction, .first_position = one.first_position},
      memory);
}

// Checks pairs only if bits differ from the last checked result. Most sets give equal bits.
void check_instruction_set(const Case& one, const Rotations& simplest) {
  const TokenRange all{.begin = 0, .end = one.extents.tokens};
  whole = source;
  rotate_tokens(one, whole, all, {});
  check_splits(one);
  if (std::memcmp(whole.data(), checked.data(), whole.size()) == 0) return;
  check_pairs(one, simplest);
  checked = whole;
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  const Case one = decode(input);
  fill(source, one.dtype, one.noise, one.seed);
  const auto sets = rotary::supported_instruction_sets();
  use_instruction_set(sets.back());
  const auto simplest = make_rows(one, {.begin = 0, .end = one.extents.tokens}, {});
  checked = source;
  for (std::size_t i = sets.size(); i > 0; --i) {
    use_instruction_set(sets[i - 1]);
    check_instruction_set(one, simplest);
  }
  return 0;
}
