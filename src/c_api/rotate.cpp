// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotate.hpp"

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/values.hpp"

using rotary::Status;
using rotary::c_api::heads_view;
using rotary::c_api::null_argument;

rotary_status rotary_rotate(const rotary_heads_view* dst, const rotary_heads_view* src,
                            const rotary_rotations* rotations,
                            const rotary_rotate_options* options) {
  return rotary::c_api::run([&]() -> Status {
    const auto to = heads_view("dst", dst);
    if (!to) return to.error();
    const auto from = heads_view("src", src);
    if (!from) return from.error();
    if (rotations == nullptr) return null_argument("rotations");
    const auto rotating = rotary::c_api::rotate_options(options);
    if (!rotating) return rotating.error();
    return rotary::rotate(*to, *from, rotations->value, *rotating);
  });
}

rotary_status rotary_rotate_qk(const rotary_heads_view* q, const rotary_heads_view* k,
                               const rotary_rotations* rotations,
                               const rotary_rotate_options* options) {
  return rotary::c_api::run([&]() -> Status {
    const auto queries = heads_view("q", q);
    if (!queries) return queries.error();
    const auto keys = heads_view("k", k);
    if (!keys) return keys.error();
    if (rotations == nullptr) return null_argument("rotations");
    const auto rotating = rotary::c_api::rotate_options(options);
    if (!rotating) return rotating.error();
    return rotary::rotate_qk(*queries, *keys, rotations->value, *rotating);
  });
}
