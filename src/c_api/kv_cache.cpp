// SPDX-License-Identifier: Apache-2.0
#include "rotary/kv_cache.hpp"

#include "c_api/handles.hpp"
#include "c_api/kv_cache_values.hpp"
#include "c_api/status.hpp"
#include "c_api/values.hpp"

namespace c_api = rotary::c_api;

namespace {

// cache: a rotary_kv or a rotary_int8_kv. rotations: one, or none for unrotated keys.
template <class Cache, class... Handles>
rotary_status append(const Cache* cache, const rotary_kv* heads, const rotary_slots* slots,
                     const rotary_append_options* options, const Handles*... rotations) {
  const auto store = [](const auto& to, const auto& from, const auto& where,
                        rotary::AppendOptions how, const auto&... turned) {
    ((how.rotations = &turned.get()), ...);
    return rotary::append(to, from, where, how);
  };
  return c_api::run([&] {
    return c_api::with(store, c_api::kv_cache(cache), c_api::kv_heads(heads), c_api::slots(slots),
                       c_api::append_options(options), c_api::held_by("rotations", rotations)...);
  });
}

}  // namespace

rotary_status rotary_append(const rotary_kv* cache, const rotary_kv* heads,
                            const rotary_slots* slots, const rotary_rotations* rotations,
                            const rotary_append_options* options) {
  return append(cache, heads, slots, options, rotations);
}

rotary_status rotary_append_unrotated(const rotary_kv* cache, const rotary_kv* heads,
                                      const rotary_slots* slots,
                                      const rotary_append_options* options) {
  return append(cache, heads, slots, options);
}

rotary_status rotary_append_int8(const rotary_int8_kv* cache, const rotary_kv* heads,
                                 const rotary_slots* slots, const rotary_rotations* rotations,
                                 const rotary_append_options* options) {
  return append(cache, heads, slots, options, rotations);
}

rotary_status rotary_append_int8_unrotated(const rotary_int8_kv* cache, const rotary_kv* heads,
                                           const rotary_slots* slots,
                                           const rotary_append_options* options) {
  return append(cache, heads, slots, options);
}

rotary_status rotary_normalize_heads(const rotary_heads_view* dst, const rotary_heads_view* src,
                                     const rotary_head_norm* norm,
                                     const rotary_executor* executor) {
  return c_api::run([&] {
    return c_api::with(rotary::normalize_heads, c_api::heads_view("dst", dst),
                       c_api::heads_view("src", src), c_api::head_norm("norm", norm),
                       c_api::executor("executor", executor));
  });
}
