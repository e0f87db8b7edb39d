// SPDX-License-Identifier: Apache-2.0
#include "rotary/shift.hpp"

#include <string>
#include <string_view>

#include "c_api/handles.hpp"
#include "c_api/kv_cache_values.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"

using rotary::Result;
using rotary::RotatedAt;
using rotary::c_api::null_argument;
using rotary::c_api::read_struct;
namespace c_api = rotary::c_api;

namespace {

Result<RotatedAt> rotated_at(std::string_view argument, const rotary_rotated_at* from) {
  const auto given = read_struct(argument, from);
  if (!given) return given.error();
  if (given->frequencies == nullptr) return null_argument(std::string(argument) + ".frequencies");
  if (given->positions == nullptr) return null_argument(std::string(argument) + ".positions");
  const auto positions = c_api::positions(given->positions);
  if (!positions) return positions.error();
  return RotatedAt{given->frequencies->value, *positions};
}

constexpr auto shift_by = [](const auto& keys, const rotary::Rotations& by,
                             const rotary::Executor& executor) {
  return rotary::shift(keys, by, {.executor = executor});
};

}  // namespace

rotary_status rotary_shift_make(const rotary_rotated_at* from, const rotary_rotated_at* to,
                                const rotary_rotations_options* options, rotary_rotations** out) {
  return c_api::make(out, [&] {
    return c_api::with(rotary::make_shift, rotated_at("from", from), rotated_at("to", to),
                       c_api::rotations_options(options));
  });
}

rotary_status rotary_shift_remake(rotary_rotations* rotations, const rotary_rotated_at* from,
                                  const rotary_rotated_at* to) {
  return c_api::run([&] {
    return c_api::with(rotary::remake_shift, c_api::held_by("rotations", rotations),
                       rotated_at("from", from), rotated_at("to", to));
  });
}

rotary_status rotary_shift(const rotary_heads_view* keys, const rotary_rotations* by,
                           const rotary_executor* executor) {
  return c_api::run([&] {
    return c_api::with(shift_by, c_api::heads_view("keys", keys), c_api::held_by("by", by),
                       c_api::executor("executor", executor));
  });
}

rotary_status rotary_shift_int8(const rotary_int8_view* keys, const rotary_rotations* by,
                                const rotary_executor* executor) {
  return c_api::run([&] {
    return c_api::with(shift_by, c_api::int8_view("keys", keys), c_api::held_by("by", by),
                       c_api::executor("executor", executor));
  });
}
