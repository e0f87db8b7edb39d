// SPDX-License-Identifier: Apache-2.0
#include "rotary/shift.hpp"

#include <string>
#include <string_view>

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"

using rotary::QuantizedHeadsView;
using rotary::Result;
using rotary::RotatedAt;
using rotary::Rotations;
using rotary::Status;
using rotary::c_api::null_argument;
using rotary::c_api::read_struct;

namespace {

Result<RotatedAt> rotated_at(std::string_view argument, const rotary_rotated_at* from) {
  const auto given = read_struct(argument, from);
  if (!given) return given.error();
  if (given->frequencies == nullptr) return null_argument(std::string(argument) + ".frequencies");
  if (given->positions == nullptr) return null_argument(std::string(argument) + ".positions");
  const auto positions = rotary::c_api::positions(given->positions);
  if (!positions) return positions.error();
  return RotatedAt{given->frequencies->value, *positions};
}

Result<QuantizedHeadsView> quantized(const rotary_int8_view* from) {
  const auto given = read_struct("keys", from);
  if (!given) return given.error();
  const auto& n = given->extents;
  const auto& s = given->strides;
  const auto& f = given->scale_strides;
  return QuantizedHeadsView{
      .data = given->data,
      .scales = given->scales,
      .extents = {.batch = n[0], .tokens = n[1], .heads = n[2], .features = n[3]},
      .strides = {.batch = s[0], .token = s[1], .head = s[2], .feature = s[3]},
      .scale_strides = {.batch = f[0], .token = f[1], .head = f[2]}};
}

}  // namespace

rotary_status rotary_shift_make(const rotary_rotated_at* from, const rotary_rotated_at* to,
                                const rotary_rotations_options* options, rotary_rotations** out) {
  return rotary::c_api::make(out, [&]() -> Result<Rotations> {
    const auto start = rotated_at("from", from);
    if (!start) return start.error();
    const auto end = rotated_at("to", to);
    if (!end) return end.error();
    const auto making = rotary::c_api::rotations_options(options);
    if (!making) return making.error();
    return rotary::make_shift(*start, *end, *making);
  });
}

rotary_status rotary_shift_remake(rotary_rotations* rotations, const rotary_rotated_at* from,
                                  const rotary_rotated_at* to) {
  return rotary::c_api::run([&]() -> Status {
    if (rotations == nullptr) return null_argument("rotations");
    const auto start = rotated_at("from", from);
    if (!start) return start.error();
    const auto end = rotated_at("to", to);
    if (!end) return end.error();
    return rotary::remake_shift(rotations->value, *start, *end);
  });
}

rotary_status rotary_shift(const rotary_heads_view* keys, const rotary_rotations* by,
                           const rotary_executor* executor) {
  return rotary::c_api::run([&]() -> Status {
    const auto view = rotary::c_api::heads_view("keys", keys);
    if (!view) return view.error();
    if (by == nullptr) return null_argument("by");
    const auto running = rotary::c_api::executor("executor", executor);
    if (!running) return running.error();
    return rotary::shift(*view, by->value, {.executor = *running});
  });
}

rotary_status rotary_shift_int8(const rotary_int8_view* keys, const rotary_rotations* by,
                                const rotary_executor* executor) {
  return rotary::c_api::run([&]() -> Status {
    const auto view = quantized(keys);
    if (!view) return view.error();
    if (by == nullptr) return null_argument("by");
    const auto running = rotary::c_api::executor("executor", executor);
    if (!running) return running.error();
    return rotary::shift(*view, by->value, {.executor = *running});
  });
}
