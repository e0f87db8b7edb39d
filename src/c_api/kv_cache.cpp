// SPDX-License-Identifier: Apache-2.0
#include "rotary/kv_cache.hpp"

#include "c_api/handles.hpp"
#include "c_api/kv_cache_values.hpp"
#include "c_api/status.hpp"
#include "c_api/values.hpp"

namespace c_api = rotary::c_api;

namespace {

// cache: a rotary_kv or a rotary_int8_kv.
template <class Cache>
rotary_status append(const Cache* cache, const rotary_kv* heads, const rotary_slots* slots,
                     const rotary_rotations* rotations, const rotary_append_options* options) {
  const auto rotated = [](const auto& to, const auto& from, const auto& where, const auto& how,
                          const rotary::Rotations& turned) {
    return rotary::append(to, from, where, turned, how);
  };
  return c_api::run([&] {
    return c_api::with(rotated, c_api::kv_cache(cache), c_api::kv_heads(heads), c_api::slots(slots),
                       c_api::append_options(options), c_api::held_by("rotations", rotations));
  });
}

template <class Cache>
rotary_status append_unrotated(const Cache* cache, const rotary_kv* heads,
                               const rotary_slots* slots, const rotary_append_options* options) {
  const auto as_it_is = [](const auto&... call) { return rotary::append(call...); };
  return c_api::run([&] {
    return c_api::with(as_it_is, c_api::kv_cache(cache), c_api::kv_heads(heads),
                       c_api::slots(slots), c_api::append_options(options));
  });
}

}  // namespace

rotary_status rotary_append(const rotary_kv* cache, const rotary_kv* heads,
                            const rotary_slots* slots, const rotary_rotations* rotations,
                            const rotary_append_options* options) {
  return append(cache, heads, slots, rotations, options);
}

rotary_status rotary_append_unrotated(const rotary_kv* cache, const rotary_kv* heads,
                                      const rotary_slots* slots,
                                      const rotary_append_options* options) {
  return append_unrotated(cache, heads, slots, options);
}

rotary_status rotary_append_int8(const rotary_int8_kv* cache, const rotary_kv* heads,
                                 const rotary_slots* slots, const rotary_rotations* rotations,
                                 const rotary_append_options* options) {
  return append(cache, heads, slots, rotations, options);
}

rotary_status rotary_append_int8_unrotated(const rotary_int8_kv* cache, const rotary_kv* heads,
                                           const rotary_slots* slots,
                                           const rotary_append_options* options) {
  return append_unrotated(cache, heads, slots, options);
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
