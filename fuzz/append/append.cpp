// SPDX-License-Identifier: Apache-2.0
// Fuzzes append with caches of any strides, overlapping or separate, and slots in any order.
// Accepted calls must be right. Refused calls must give a reason and change nothing.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/keys.hpp"
#include "check/views.hpp"
#include "fuzz/append/append_case.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/target.hpp"
#include "fuzz/turned.hpp"
#include "rotary/shift.hpp"
#include "tests/support/counted_new.hpp"
#include "tests/support/tensor.hpp"

namespace rotary::fuzz {
namespace {

Buffers buffers;
alignas(64) std::array<std::byte, std::size_t{1} << 17> row_memory;

constexpr std::int64_t longest_normalized_head = 2048;

bool is_empty(const ConstHeadsView& view) { return fuzz::is_empty(strided(view)); }

bool is_conversion(DType from, DType to) {
  return from == to || (from == DType::f32 && (to == DType::bf16 || to == DType::f16));
}

// The stride of a single feature is ignored.
bool has_adjacent_features(const ConstHeadsView& view) {
  return view.extents.features <= 1 || view.strides.feature == 1;
}

// True if this cache of k or v cannot store these heads.
bool is_bad_pair(const ConstHeadsView& cache, const ConstHeadsView& heads) {
  return !is_well_formed(strided(cache)) || !is_well_formed(strided(heads)) ||
         !has_adjacent_features(cache) || !has_adjacent_features(heads) ||
         cache.extents.heads != heads.extents.heads ||
         cache.extents.features != heads.extents.features ||
         !is_conversion(heads.dtype, cache.dtype);
}

bool is_bad_pair(const QuantizedHeadsView& cache, const ConstHeadsView& heads) {
  return !is_well_formed(cache) || !is_well_formed(strided(heads)) ||
         !has_adjacent_features(heads) || cache.extents.heads != heads.extents.heads ||
         cache.extents.features != heads.extents.features || heads.dtype == DType::f64 ||
         heads.extents.features > longest_normalized_head;
}

// Cache: KvCache or QuantizedKvCache.
template <class Cache>
bool is_bad_cache(const Cache& cache, const KvHeads& heads) {
  const auto& [k, v] = heads;
  if (is_bad_pair(cache.k, k) || cache.v.has_value() != v.has_value()) return true;
  if (!v) return false;
  const Extents& blocks = cache.k.extents;
  return v->extents.batch != k.extents.batch || v->extents.tokens != k.extents.tokens ||
         cache.v->extents.batch != blocks.batch || cache.v->extents.tokens != blocks.tokens ||
         is_bad_pair(*cache.v, *v);
}

bool is_bad_cache(const AppendCase& append) {
  return append.quantized ? is_bad_cache(*append.quantized, append.heads)
                          : is_bad_cache(append.cache, append.heads);
}

bool rounds_16_bit_products(const ConstHeadsView& k, const Rotations* rotations) {
  return rotations != nullptr && k.dtype != DType::f32 &&
         rotations->numerics() == Numerics::transformers &&
         (rotations->rounding() == Rounding::every_step ||
          rotations->rounding() == Rounding::double_angle);
}

bool is_bad_weight(const HeadNorm& norm, const Extents& k) {
  const auto count = static_cast<std::int64_t>(norm.weight.size());
  if (count == 0) return norm.weight_offset != 0;
  const auto wanted =
      static_cast<int128>(k.features) * (norm.over == NormOver::all_heads ? k.heads : 1);
  return count != wanted && !(norm.over == NormOver::all_heads && k.heads == 0);
}

bool is_bad_norm(const KeyNorm& k_norm, const ConstHeadsView& k, const Rotations* rotations) {
  const HeadNorm& norm = k_norm.norm;
  if (k.dtype == DType::f64 || k.extents.features > longest_normalized_head) return true;
  if (k_norm.order != NormOrder::before_rotation && k_norm.order != NormOrder::after_rotation) {
    return true;
  }
  if (norm.over != NormOver::each_head && norm.over != NormOver::all_heads) return true;
  if (!(norm.epsilon >= 0x1p-126) || std::isinf(norm.epsilon)) return true;
  if (!(std::abs(norm.weight_offset) <= 0x1p126)) return true;
  if (rotations == nullptr && k_norm.order == NormOrder::after_rotation) return true;
  if (rounds_16_bit_products(k, rotations)) return true;
  return is_bad_weight(norm, k.extents);
}

// Consecutive slots may be out of range if the tokens have no elements, since nothing is stored.
Answer expected_of_consecutive(const AppendCase& append) {
  const Extents& k = append.heads.k.extents;
  const Extents& cache = cache_extents(append);
  if (k.batch == 0 || k.tokens == 0) return Answer::accept;
  const std::int64_t first = append.slots.first;
  const bool fit = k.batch <= cache.batch && first >= 0 && k.tokens <= cache.tokens &&
                   first <= cache.tokens - k.tokens;
  if (fit) return Answer::accept;
  const bool is_stored =
      !is_empty(append.heads.k) || (append.heads.v && !is_empty(*append.heads.v));
  return is_stored ? Answer::refuse : Answer::either;
}

Answer expected_of_map(const AppendCase& append) {
  const Extents& k = append.heads.k.extents;
  const Extents& cache = cache_extents(append);
  const auto& [batch, tokens] = append.slots.counts;
  if (batch != k.batch || tokens != k.tokens) return Answer::refuse;
  const auto slots = static_cast<int128>(cache.batch) * cache.tokens;
  if (slots >= static_cast<int128>(1) << 63) return Answer::refuse;
  const bool is_stored =
      !is_empty(append.heads.k) || (append.heads.v && !is_empty(*append.heads.v));
  if (!is_stored) return Answer::accept;
  std::set<long double> stored;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const long double slot = number_at(append.slots, b, t);
      if (slot >= static_cast<long double>(slots)) return Answer::refuse;
      if (slot >= 0 && !stored.insert(slot).second) return Answer::refuse;
    }
  }
  return Answer::accept;
}

// The answer that the comments of kv_cache.hpp require. Checks every element and every slot.
Answer expected_answer(const AppendCase& append, const Rotations* rotations,
                       const std::byte* buffer) {
  const ConstHeadsView& k = append.heads.k;
  if (rotations != nullptr && rotations->role() == Role::query) return Answer::refuse;
  if (rotations != nullptr && !fits(k, *rotations)) return Answer::refuse;
  if (is_bad_cache(append)) return Answer::refuse;
  if (append.quantized && rounds_16_bit_products(k, rotations)) return Answer::refuse;
  if (append.k_norm && is_bad_norm(*append.k_norm, k, rotations)) return Answer::refuse;
  const AppendViews views = views_of(append);
  if (!is_well_formed(strided(append.slots))) return Answer::refuse;
  const Answer of_sharing = expected_of_sharing(views.written, views.read, buffer);
  if (of_sharing == Answer::refuse) return of_sharing;
  const bool is_map = append.slots.kind != NumberKind::consecutive;
  return stricter(of_sharing, is_map ? expected_of_map(append) : expected_of_consecutive(append));
}

// Indices of a token in the heads and in the cache. place: its slot in the block.
struct Stored {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t block = 0;
  std::int64_t place = 0;

  [[nodiscard]] Axes from(std::int64_t head) const { return {batch, token, head, 0}; }
  [[nodiscard]] Axes to(std::int64_t head) const { return {block, place, head, 0}; }
};

// Calls visit(Stored) for every token that has a slot.
template <class Visit>
void for_each_stored(const AppendCase& append, const Visit& visit) {
  const Extents& n = append.heads.k.extents;
  const std::int64_t slots = cache_extents(append).tokens;
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      const auto number = static_cast<std::int64_t>(number_at(append.slots, b, t));
      if (number < 0) continue;
      const bool is_map = append.slots.kind != NumberKind::consecutive;
      visit(Stored{.batch = b,
                   .token = t,
                   .block = is_map ? number / slots : b,
                   .place = is_map ? number % slots : number});
    }
  }
}

// Calls visit(Stored, head) for every head of every token that has a slot.
template <class Visit>
void for_each_head(const AppendCase& append, const ConstHeadsView& heads, const Visit& visit) {
  if (is_empty(heads)) return;
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < heads.extents.heads; ++h) visit(at, h);
  });
}

Head head_at(const test::Tensor& heads, const Axes& index) {
  const ConstHeadsView view = heads.view();
  return {view.dtype, check::head_at(view, {index[0], index[1], index[2]})};
}

void check_in_8_bits(const Head& from, const check::Int8Head& head) {
  const std::vector<float> numbers(from.features.begin(), from.features.end());
  if (!head.has_bits_of(check::in_int8(numbers)))
    fail("an int8 head must be z * 127/m rounded to nearest even, with scale m/127");
}

// Compares int8 keys with the float32 keys of the same call, which other cases check.
void check_quantized_keys(const AppendCase& append, const Rotations* rotations,
                          const Memory& memory) {
  const ConstHeadsView& k = append.heads.k;
  if (rotations != nullptr && rotations->tensors().value_or(DType::f32) != DType::f32) return;
  if (is_empty(k)) return;
  test::Tensor keys({DType::f32, k.extents});
  for_each_element(strided(k), [&](const Axes& index) {
    keys.set({index[0], index[1], index[2]}, index[3], number_before(k, index, memory));
  });
  test::Tensor cache({DType::f32, k.extents});
  const auto status = rotary::append({.k = cache.view()}, {.k = keys.view()}, ConsecutiveSlots{},
                                     {.rotations = rotations, .k_norm = append.k_norm});
  if (!status) fail("an f32 cache must accept what an int8 cache accepts", status.error().message);
  for_each_head(append, k, [&](const Stored& at, std::int64_t h) {
    check_in_8_bits(head_at(cache, at.from(h)),
                    head_at(append.quantized->k, memory.after.data(), memory, at.to(h)));
  });
}

// Without a norm, keys have the bits of rotate().
void check_keys(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  const ConstHeadsView& k = append.heads.k;
  if (is_empty(k)) return;
  test::Tensor rotated({k.dtype, k.extents});
  if (rotations != nullptr) {
    const auto status = rotate(rotated.view(), k, *rotations);
    if (!status) fail("keys that append takes must rotate", status.error().message);
  }
  for_each_head(append, k, [&](const Stored& at, std::int64_t h) {
    const Head from = head_before(k, at.from(h), memory);
    const Head to = head_after(append.cache.k, at.to(h), memory);
    if (rotations == nullptr) {
      check_stored(from, to, "a key must be stored as it is");
      return;
    }
    check_stored(head_at(rotated, at.from(h)), to, "a key must have the bits of rotate()");
    if (rotations->numerics() != Numerics::exact) return;
    check_turned(from, to, {.rotations = *rotations, .batch = at.batch, .token = at.token});
  });
}

void check_normalized_keys(const AppendCase& append, const Rotations* rotations,
                           const Memory& memory) {
  if (rotations != nullptr && rotations->numerics() != Numerics::exact) return;
  const ConstHeadsView& k = append.heads.k;
  if (is_empty(k)) return;
  for_each_stored(append, [&](const Stored& at) {
    std::vector<long double> token;
    std::vector<long double> stored;
    for (std::int64_t h = 0; h < k.extents.heads; ++h) {
      const Head from = head_before(k, at.from(h), memory);
      const Head to = head_after(append.cache.k, at.to(h), memory);
      token.insert(token.end(), from.features.begin(), from.features.end());
      stored.insert(stored.end(), to.features.begin(), to.features.end());
    }
    std::optional<check::KeyTurn> turn;
    if (rotations != nullptr) turn = check::turn_of(*rotations, at.batch, at.token);
    const auto exact = check::normalized(token, k.extents.heads, *append.k_norm, turn);
    const std::string fault = exact ? check::fault(*exact, stored, append.cache.k.dtype) : "";
    if (!fault.empty()) fail("a key must be normalised within the bound", fault);
  });
}

void check_values(const AppendCase& append, const Memory& memory) {
  const ConstHeadsView& v = *append.heads.v;
  for_each_head(append, v, [&](const Stored& at, std::int64_t h) {
    const Head from = head_before(v, at.from(h), memory);
    if (append.quantized) {
      check_in_8_bits(from, head_at(*append.quantized->v, memory.after.data(), memory, at.to(h)));
    } else {
      check_stored(from, head_after(*append.cache.v, at.to(h), memory),
                   "a value must be stored as it is");
    }
  });
}

void put_back_slot(Strided cache, const Stored& at, const Memory& memory) {
  if (is_empty(cache)) return;
  cache.data = memory.after.data() + place_of(cache, memory.after.data(), at.to(0));
  cache.counts[0] = cache.counts[1] = 1;
  put_back(cache, memory);
}

// Each token's slot must hold the required values of its k and v. Every other byte must be
// unchanged.
void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  const auto check_k = append.quantized ? check_quantized_keys
                       : append.k_norm  ? check_normalized_keys
                                        : check_keys;
  check_k(append, rotations, memory);
  if (append.heads.v) check_values(append, memory);
  if (is_empty(append.heads.k) && (!append.heads.v || is_empty(*append.heads.v))) {
    check_unchanged(memory, "a call with nothing to store must write nothing");
    return;
  }
  const AppendViews views = views_of(append);
  for_each_stored(append, [&](const Stored& at) {
    for (const Strided& cache : views.written) put_back_slot(cache, at, memory);
  });
  check_unchanged(memory, "bytes that belong to no slot of a token must stay");
}

// Without a shift, each batch row is 1000 positions away from the previous batch row.
Rotations rows_of(const AppendRotations& made) {
  RotationsOptions options = made.options;
  options.memory = row_memory;
  const Frequencies& frequencies = frequencies_of(made.window, made.spec_kind);
  const std::int64_t far = made.first_position > 0 ? -1000 : 1000;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < made.batch * made.tokens; ++i) {
    positions.push_back(made.first_position + i / made.tokens * far + i % made.tokens);
  }
  auto rotations =
      made.moved
          ? make_shift({frequencies, ConsecutivePositions{.first = 5, .tokens = made.tokens}},
                       {frequencies,
                        ConsecutivePositions{.first = made.first_position, .tokens = made.tokens}},
                       options)
          : make_rotations(frequencies,
                           TokenArray<std::int64_t>{.data = positions.data(),
                                                    .batch = made.batch,
                                                    .tokens = made.tokens,
                                                    .batch_stride = made.tokens},
                           options);
  if (!rotations) fail("rotations must be made", rotations.error().message);
  return *std::move(rotations);
}

Status run(const AppendCase& append, const Rotations* rotations) {
  test::CountingExecutor backwards(test::run_backwards, 3);
  const AppendOptions options{.rotations = rotations,
                              .executor = append.has_executor ? backwards.executor() : Executor{},
                              .k_norm = append.k_norm};
  const Slots slots = slots_of(append.slots);
  const std::size_t allocations = test::allocation_count();
  auto status = append.quantized ? rotary::append(*append.quantized, append.heads, slots, options)
                                 : rotary::append(append.cache, append.heads, slots, options);
  if (status && test::allocation_count() != allocations) fail("success must allocate nothing");
  const Extents& n = append.heads.k.extents;
  const bool is_cut = status && static_cast<int128>(n.batch) * n.tokens >= 64;
  check_executor(backwards, is_cut ? 1 : 0);  // a call of fewer than 64 tokens is not split
  return status;
}

void run_case(const AppendCase& append, const Memory& memory) {
  const auto rotations =
      append.rotations ? std::optional(rows_of(*append.rotations)) : std::nullopt;
  const Rotations* const by = rotations ? &*rotations : nullptr;
  const Answer expected = expected_answer(append, by, memory.after.data());
  const auto status = run(append, by);
  if (!is_accepted(status, expected, memory)) return;
  check_written(append, by, memory);
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  const auto append = decode_append(input, buffers.buffer());
  if (!append) return 0;
  fill(buffers.buffer(), append->heads.k.dtype, append->noise, append->seed);
  write_numbers(append->slots, append->slot_numbers);
  run_case(*append, buffers.keep());
  return 0;
}
