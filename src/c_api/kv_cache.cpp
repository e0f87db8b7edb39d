// SPDX-License-Identifier: Apache-2.0
#include "rotary/kv_cache.hpp"

#include "c_api/handles.hpp"
#include "c_api/kv_cache_values.hpp"
#include "c_api/status.hpp"
#include "c_api/values.hpp"

using rotary::Status;
namespace c_api = rotary::c_api;

namespace {

// Converts the arguments and calls `store`, which calls rotary::append with or without rotations.
template <class Store>
rotary_status append(const rotary_kv* cache, const rotary_kv* heads, const rotary_slots* slots,
                     const rotary_append_options* options, const Store& store) {
  return c_api::run([&]() -> Status {
    const auto to = c_api::kv_cache(cache);
    if (!to) return to.error();
    const auto from = c_api::kv_heads(heads);
    if (!from) return from.error();
    const auto where = c_api::slots(slots);
    if (!where) return where.error();
    const auto how = c_api::append_options(options);
    if (!how) return how.error();
    return store(*to, *from, *where, *how);
  });
}

}  // namespace

rotary_status rotary_append(const rotary_kv* cache, const rotary_kv* heads,
                            const rotary_slots* slots, const rotary_rotations* rotations,
                            const rotary_append_options* options) {
  return append(cache, heads, slots, options,
                [&](const auto& to, const auto& from, const auto& where, const auto& how) {
                  if (rotations == nullptr) return Status(c_api::null_argument("rotations"));
                  return rotary::append(to, from, where, rotations->value, how);
                });
}

rotary_status rotary_append_unrotated(const rotary_kv* cache, const rotary_kv* heads,
                                      const rotary_slots* slots,
                                      const rotary_append_options* options) {
  return append(cache, heads, slots, options,
                [](const auto& to, const auto& from, const auto& where, const auto& how) {
                  return rotary::append(to, from, where, how);
                });
}

rotary_status rotary_normalize_heads(const rotary_heads_view* dst, const rotary_heads_view* src,
                                     const rotary_head_norm* norm,
                                     const rotary_executor* executor) {
  return c_api::run([&]() -> Status {
    const auto to = c_api::heads_view("dst", dst);
    if (!to) return to.error();
    const auto from = c_api::heads_view("src", src);
    if (!from) return from.error();
    const auto normalizing = c_api::head_norm("norm", norm);
    if (!normalizing) return normalizing.error();
    const auto running = c_api::executor("executor", executor);
    if (!running) return running.error();
    return rotary::normalize_heads(*to, *from, *normalizing, *running);
  });
}
