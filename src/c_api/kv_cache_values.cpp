// SPDX-License-Identifier: Apache-2.0
#include "c_api/kv_cache_values.hpp"

#include <string>

#include "base/message.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"

namespace rotary::c_api {
namespace {

// Reads a cache or the heads to store. view(argument, from) reads one view.
template <class Cache, class Given, class View>
Result<Cache> kv_of(std::string_view argument, const Given* from, View view) {
  const auto given = read_struct(argument, from);
  if (!given) return given.error();
  const std::string name(argument);
  const auto k = view(name + ".k", given->k);
  if (!k) return k.error();
  Cache tensors{.k = *k};
  if (given->v == nullptr) return tensors;
  const auto v = view(name + ".v", given->v);
  if (!v) return v.error();
  tensors.v = *v;
  return tensors;
}

Result<Slots> consecutive(const rotary_slots& from) {
  if (from.data == nullptr) return Slots(ConsecutiveSlots{.first = from.first});
  return invalid_argument(
      "slots.data must be NULL for kind ROTARY_SLOTS_CONSECUTIVE, got a pointer");
}

template <class Number>
Result<Slots> map_of(const rotary_slots& from) {
  if (from.first != 0) {
    return invalid_argument("slots.first must be 0 unless kind is ROTARY_SLOTS_CONSECUTIVE, got ",
                            from.first);
  }
  return Slots(token_array<Number>(from));
}

}  // namespace

Result<KvCache> kv_cache(const rotary_kv* from) {
  return kv_of<KvCache>("cache", from, heads_view);
}

Result<QuantizedKvCache> kv_cache(const rotary_int8_kv* from) {
  return kv_of<QuantizedKvCache>("cache", from, int8_view);
}

Result<KvHeads> kv_heads(const rotary_kv* from) {
  return kv_of<KvHeads>("heads", from, heads_view);
}

Result<QuantizedHeadsView> int8_view(std::string_view argument, const rotary_int8_view* from) {
  const auto given = read_struct(argument, from);
  if (!given) return given.error();
  const auto& f = given->scale_strides;
  return QuantizedHeadsView{.data = given->data,
                            .scales = given->scales,
                            .extents = extents_of(given->extents),
                            .strides = strides_of(given->strides),
                            .scale_strides = {.batch = f[0], .token = f[1], .head = f[2]}};
}

Result<Slots> slots(const rotary_slots* from) {
  const auto given = read_struct("slots", from);
  if (!given) return given.error();
  switch (given->kind) {
    case ROTARY_SLOTS_CONSECUTIVE:
      return consecutive(*given);
    case ROTARY_SLOTS_INT32:
      return map_of<std::int32_t>(*given);
    case ROTARY_SLOTS_INT64:
      return map_of<std::int64_t>(*given);
    default:
      return invalid_argument("slots.kind must be one of ROTARY_SLOTS_…, got value ", given->kind);
  }
}

Result<HeadNorm> head_norm(std::string_view argument, const rotary_head_norm* from) {
  const auto given = read_struct(argument, from);
  if (!given) return given.error();
  if ((given->weight == nullptr) != (given->weight_count == 0)) {
    return invalid_argument(argument, " must have both weight and weight_count or neither, got ",
                            given->weight == nullptr ? "NULL" : "a pointer", " and ",
                            given->weight_count);
  }
  return HeadNorm{.weight = {given->weight, given->weight_count},
                  .weight_offset = given->weight_offset,
                  .epsilon = given->epsilon,
                  .over = static_cast<NormOver>(given->over)};
}

Result<AppendOptions> append_options(const rotary_append_options* from) {
  const auto given = read_options("options", from);
  if (!given) return given.error();
  const auto running = executor("options.executor", given->executor);
  if (!running) return running.error();
  AppendOptions options{.executor = *running};
  if (given->k_norm == nullptr) {
    if (given->k_norm_order == 0) return options;
    return invalid_argument("options.k_norm_order must be 0 without k_norm, got ",
                            given->k_norm_order);
  }
  const auto norm = head_norm("options.k_norm", given->k_norm);
  if (!norm) return norm.error();
  options.k_norm = KeyNorm{.norm = *norm, .order = static_cast<NormOrder>(given->k_norm_order)};
  return options;
}

}  // namespace rotary::c_api
