// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "fuzz/c_abi/memory.hpp"
#include "fuzz/c_abi/session.hpp"
#include "fuzz/check.hpp"

namespace rotary::fuzz {

std::optional<rotary_slots> Session::decode_slots(const rotary_heads_view& of) {
  rotary_slots slots = ROTARY_SLOTS_INIT;
  slots.kind = static_cast<int32_t>(input_.once_in(32) ? input_.number(0, 4) : input_.number(1, 3));
  slots.first = input_.once_in(16) ? input_.integer() : input_.number(0, 2);
  if (slots.kind == ROTARY_SLOTS_CONSECUTIVE) {
    if (input_.once_in(64)) slots.data = CMemory::buffer().data();
    return slots;
  }
  if (!input_.once_in(32)) slots.first = 0;
  slots.batch = of.extents[0];
  slots.tokens = of.extents[1];
  slots.batch_stride = input_.once_in(16) ? input_.number(-2, 2) : slots.tokens;
  const std::int64_t bytes = slots.kind == ROTARY_SLOTS_INT32 ? 4 : 8;
  const Strided map{.element_bytes = bytes,
                    .counts = {slots.batch, slots.tokens, 1, 1},
                    .strides = {slots.batch_stride, slots.token_stride, 0, 0}};
  if (!is_empty(map) && !is_small(map)) return {};
  const auto data = place(input_, CMemory::buffer().last(largest_buffer / 2), map);
  if (!data) return {};
  slots.data = *data;
  // Usually writes consecutive slots to both buffers if strides are dense. Else keeps the contents.
  const auto extent = [](std::int64_t count) { return std::max<std::int64_t>(count, 0); };
  const std::int64_t count = std::min<std::int64_t>(extent(slots.batch) * extent(slots.tokens), 16);
  if (*data == nullptr || slots.batch_stride != slots.tokens || input_.once_in(16)) return slots;
  std::int64_t first = input_.number(-1, 3);
  for (std::int64_t i = 0; i < count; ++i, ++first) {
    std::memcpy(*data + i * bytes, &first, static_cast<std::size_t>(bytes));
    std::memcpy(in_shadow(*data) + i * bytes, &first, static_cast<std::size_t>(bytes));
  }
  CMemory::keep();
  return slots;
}

std::optional<Slots> Session::value_of(const Passed<rotary_slots>& slots) {
  const auto given = slots.value(ROTARY_SLOTS_INIT);
  if (!given) return {};
  const auto map = [&]<class Number>(Number /*like*/) -> std::optional<Slots> {
    if (given->first != 0) return {};
    return TokenArray<Number>{.data = in_shadow(static_cast<const Number*>(given->data)),
                              .batch = given->batch,
                              .tokens = given->tokens,
                              .batch_stride = given->batch_stride,
                              .token_stride = given->token_stride};
  };
  switch (given->kind) {
    case ROTARY_SLOTS_CONSECUTIVE:
      if (given->data != nullptr) return {};
      return ConsecutiveSlots{.first = given->first};
    case ROTARY_SLOTS_INT32:
      return map(std::int32_t{});
    case ROTARY_SLOTS_INT64:
      return map(std::int64_t{});
    default:
      return {};
  }
}

namespace {

// The C types and functions, and the C++ type, of a float or int8 cache.
struct InFloats {
  using View = rotary_heads_view;
  using Kv = rotary_kv;
  using Cache = KvCache;
  static constexpr Kv none = ROTARY_KV_INIT;
  static constexpr auto append = rotary_append;
  static constexpr auto append_unrotated = rotary_append_unrotated;
};
struct InInt8 {
  using View = rotary_int8_view;
  using Kv = rotary_int8_kv;
  using Cache = QuantizedKvCache;
  static constexpr Kv none = ROTARY_INT8_KV_INIT;
  static constexpr auto append = rotary_append_int8;
  static constexpr auto append_unrotated = rotary_append_int8_unrotated;
};

// The C++ value of the cache, or nullopt if C must refuse it. View: value_of's result for a view.
template <class Kind, class View>
std::optional<typename Kind::Cache> kv_of(const Passed<typename Kind::Kv>& kv, const View& k,
                                          const View& v) {
  const auto given = kv.value(Kind::none);
  if (!given || given->k == nullptr || !k) return {};
  if (given->v == nullptr) return typename Kind::Cache{.k = *k};
  if (!v) return {};
  return typename Kind::Cache{.k = *k, .v = *v};
}

}  // namespace

std::optional<AppendOptions> Session::value_of(const Passed<rotary_append_options>& options,
                                               const Passed<rotary_executor>& executor,
                                               const Passed<rotary_head_norm>& norm) {
  const auto given = options.value_or_defaults(ROTARY_APPEND_OPTIONS_INIT);
  if (!given) return {};
  AppendOptions value;
  if (given->executor != nullptr) {
    const auto running = value_of(executor);
    if (!running) return {};
    value.executor = *running;
  }
  if (given->k_norm == nullptr) {
    return given->k_norm_order == 0 ? std::optional(value) : std::nullopt;
  }
  const auto of_norm = value_of(norm);
  if (!of_norm) return {};
  value.k_norm = KeyNorm{.norm = *of_norm, .order = static_cast<NormOrder>(given->k_norm_order)};
  return value;
}

// A view of a cache for these heads, in a dtype that may store them.
std::optional<rotary_heads_view> Session::decode_cache(const rotary_heads_view& heads) {
  rotary_heads_view cache = heads;
  if (cache.extents[1] < 100) cache.extents[1] += input_.number(0, 2);
  if (heads.dtype == ROTARY_F32) cache.dtype = static_cast<int32_t>(input_.number(1, 3));
  const Axes counts = {cache.extents[0], cache.extents[1], cache.extents[2], cache.extents[3]};
  const Axes strides = decode_strides(input_, counts, Features::adjacent);
  std::copy(strides.begin(), strides.end(), cache.strides);
  const auto data = place(input_, CMemory::buffer().first(largest_buffer / 2),
                          {.element_bytes = size_in_bytes(static_cast<DType>(cache.dtype)),
                           .counts = counts,
                           .strides = strides});
  if (!data) return {};
  cache.data = *data;
  return cache;
}

template <class Kind>
void Session::append_to() {
  const RotationsTwin& rotations = any_of(rotations_);
  const bool is_rotated = !input_.once_in(3);
  const Rotations* const by = is_rotated && rotations.twin ? &*rotations.twin : nullptr;
  const auto of_k = decode_heads(by, Features::adjacent);
  if (!of_k) return;
  const auto decode_view = [&]() -> std::optional<typename Kind::View> {
    const auto view = decode_cache(*of_k);
    if constexpr (std::is_same_v<Kind, InFloats>) {
      return view;
    } else {
      return view ? decode_int8(*view) : std::nullopt;
    }
  };
  const auto of_cached_k = decode_view();
  const auto of_cached_v = decode_view();
  const auto of_slots = decode_slots(*of_k);
  if (!of_cached_k || !of_cached_v || !of_slots) return;
  const Passed<rotary_heads_view> k(input_, *of_k);
  const Passed<rotary_heads_view> v(input_, *of_k, 2);
  const Passed<typename Kind::View> cached_k(input_, *of_cached_k);
  const Passed<typename Kind::View> cached_v(input_, *of_cached_v);
  const bool has_v = (v.pointer() != nullptr) != input_.once_in(64);
  const Passed<rotary_kv> heads(input_, {sizeof(rotary_kv), k.pointer(), v.pointer()});
  const Passed<typename Kind::Kv> cache(input_, {sizeof(typename Kind::Kv), cached_k.pointer(),
                                                 has_v ? cached_v.pointer() : nullptr});
  const Passed<rotary_slots> slots(input_, *of_slots);
  const Passed<rotary_executor> executor(input_, decode_executor(), optional);
  const Passed<rotary_head_norm> norm(input_, decode_head_norm(*of_k), 2);
  rotary_append_options options = ROTARY_APPEND_OPTIONS_INIT;
  options.executor = executor.pointer();
  options.k_norm = norm.pointer();
  options.k_norm_order = static_cast<int32_t>(options.k_norm == nullptr ? 0 : input_.number(1, 2));
  if (input_.once_in(32)) options.k_norm_order = static_cast<int32_t>(input_.number(0, 3));
  if (input_.once_in(64)) options.reserved = 1;
  const Passed<rotary_append_options> passed(input_, options, optional);
  const rotary_status status = is_rotated
                                   ? Kind::append(cache.pointer(), heads.pointer(), slots.pointer(),
                                                  rotations.handle(), passed.pointer())
                                   : Kind::append_unrotated(cache.pointer(), heads.pointer(),
                                                            slots.pointer(), passed.pointer());
  const auto to = kv_of<Kind>(cache, value_of(cached_k), value_of(cached_v));
  const auto from = kv_of<InFloats>(heads, value_of(k), value_of(v));
  const auto where = value_of(slots);
  auto how = value_of(passed, executor, norm);
  if (!to || !from || !where || !how || (is_rotated && by == nullptr)) return check(status, {});
  KvHeads stored{.k = from->k};
  if (from->v) stored.v = *from->v;
  how->rotations = by;
  check(status, append(*to, stored, *where, *how));
}

void Session::append_heads() { append_to<InFloats>(); }

void Session::append_int8() { append_to<InInt8>(); }

}  // namespace rotary::fuzz
