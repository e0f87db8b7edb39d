// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotate.hpp"

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/values.hpp"

namespace c_api = rotary::c_api;

rotary_status rotary_rotate(const rotary_heads_view* dst, const rotary_heads_view* src,
                            const rotary_rotations* rotations,
                            const rotary_rotate_options* options) {
  return c_api::run([&] {
    return c_api::with(rotary::rotate, c_api::heads_view("dst", dst), c_api::heads_view("src", src),
                       c_api::held_by("rotations", rotations), c_api::rotate_options(options));
  });
}

rotary_status rotary_rotate_qk(const rotary_heads_view* q, const rotary_heads_view* k,
                               const rotary_rotations* rotations,
                               const rotary_rotate_options* options) {
  return c_api::run([&] {
    return c_api::with([](const auto&... call) { return rotary::rotate_qk(call...); },
                       c_api::heads_view("q", q), c_api::heads_view("k", k),
                       c_api::held_by("rotations", rotations), c_api::rotate_options(options));
  });
}
