// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "fuzz/c_abi/memory.hpp"
#include "fuzz/c_abi/session.hpp"
#include "fuzz/check.hpp"
#include "rotary/shift.hpp"

namespace rotary::fuzz {

void Session::rotate_heads() {
  const RotationsTwin& rotations = any_of(rotations_);
  const Rotations* const by = rotations.twin ? &*rotations.twin : nullptr;
  const auto first = decode_heads(by, Features::anywhere);
  const auto other = decode_heads(by, Features::anywhere);
  if (!first || !other) return;
  const bool is_rotate = input_.once_in(2);
  const Passed<rotary_heads_view> dst(input_, *first);
  const Passed<rotary_heads_view> src(input_, is_rotate && !input_.once_in(4) ? *first : *other);
  const Passed<rotary_executor> executor(input_, decode_executor(), optional);
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  options.direction =
      static_cast<int32_t>(input_.once_in(16) ? input_.number(-1, 4) : input_.number(1, 3));
  options.executor = executor.pointer();
  if (input_.once_in(64)) options.reserved = 1;
  const Passed<rotary_rotate_options> passed(input_, options, optional);
  const rotary_status status =
      is_rotate
          ? rotary_rotate(dst.pointer(), src.pointer(), rotations.handle(), passed.pointer())
          : rotary_rotate_qk(dst.pointer(), src.pointer(), rotations.handle(), passed.pointer());
  const auto to = value_of(dst);
  const auto from = value_of(src);
  const auto how = passed.value_or_defaults(ROTARY_ROTATE_OPTIONS_INIT);
  if (!to || !from || by == nullptr || !how) return check(status, {});
  const auto running =
      how->executor == nullptr ? std::optional<Executor>(Executor{}) : value_of(executor);
  if (!running) return check(status, {});
  const RotateOptions rotating{.direction = static_cast<Direction>(how->direction),
                               .executor = *running};
  check(status,
        is_rotate ? rotate(*to, *from, *by, rotating) : rotate_qk(*to, *from, *by, rotating));
}

rotary_head_norm Session::decode_head_norm(const rotary_heads_view& of) {
  rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  norm.over = static_cast<int32_t>(input_.once_in(32) ? input_.number(-1, 3) : input_.number(1, 2));
  norm.epsilon = input_.once_in(16) ? 0 : 1e-6;
  if (input_.once_in(2)) {
    const auto small = [](std::int64_t count) { return std::clamp<std::int64_t>(count, 0, 64); };
    const std::int64_t heads = norm.over == ROTARY_NORM_OVER_ALL_HEADS ? small(of.extents[2]) : 1;
    norm.weight_count = static_cast<std::size_t>(heads * small(of.extents[3]));
    norm.weight = reinterpret_cast<const float*>(CMemory::buffer().data() + largest_buffer / 2 +
                                                 input_.byte() * std::size_t{4});
    norm.weight_offset = static_cast<double>(input_.number(0, 1));
  }
  if (input_.once_in(64)) norm.weight_count += 1;
  if (input_.once_in(64)) norm.weight = nullptr;
  if (input_.once_in(64)) norm.reserved = 1;
  return norm;
}

std::optional<HeadNorm> Session::value_of(const Passed<rotary_head_norm>& norm) {
  const auto given = norm.value(ROTARY_HEAD_NORM_INIT);
  if (!given || (given->weight == nullptr) != (given->weight_count == 0)) return {};
  return HeadNorm{.weight = {in_shadow(given->weight), given->weight_count},
                  .weight_offset = given->weight_offset,
                  .epsilon = given->epsilon,
                  .over = static_cast<NormOver>(given->over)};
}

void Session::normalize() {
  const auto first = decode_heads(nullptr, Features::adjacent);
  const auto other = decode_heads(nullptr, Features::adjacent);
  if (!first || !other) return;
  const Passed<rotary_heads_view> dst(input_, *first);
  const Passed<rotary_heads_view> src(input_, input_.once_in(2) ? *other : *first);
  const auto decoded = decode_head_norm(*first);
  const Passed<rotary_head_norm> norm(input_, decoded);
  const Passed<rotary_executor> executor(input_, decode_executor(), optional);
  const rotary_status status =
      rotary_normalize_heads(dst.pointer(), src.pointer(), norm.pointer(), executor.pointer());
  const auto to = value_of(dst);
  const auto from = value_of(src);
  const auto how = value_of(norm);
  const auto running = value_of(executor);
  if (!to || !from || !how || !running) return check(status, {});
  check(status, normalize_heads(*to, *from, *how, *running));
}

void Session::make_shift_rows() {
  RotationsTwin& slot = any_of(rotations_);
  const FrequenciesTwin& one = any_of(frequencies_);
  const FrequenciesTwin& other = input_.once_in(2) ? any_of(frequencies_) : one;
  const auto of_from = decode_positions();
  if (!of_from) return;
  const auto of_to = input_.once_in(8) ? decode_positions() : decode_positions(of_from->tokens);
  if (!of_to) return;
  const Passed<rotary_positions> old_positions(input_, *of_from);
  const Passed<rotary_positions> new_positions(input_, *of_to);
  const Passed<rotary_rotated_at> from(
      input_, {sizeof(rotary_rotated_at), one.handle(), old_positions.pointer()});
  const Passed<rotary_rotated_at> to(
      input_, {sizeof(rotary_rotated_at), other.handle(), new_positions.pointer()});
  const Passed<rotary_rotations_options> options(input_, decode_rotations_options(), optional);
  const bool is_remade = input_.once_in(3);
  const auto at = value_of(old_positions);
  const auto to_be_at = value_of(new_positions);
  const auto how = value_of(options);
  const bool are_sides = one.twin && other.twin && at && to_be_at &&
                         from.value(ROTARY_ROTATED_AT_INIT) && to.value(ROTARY_ROTATED_AT_INIT);
  if (is_remade) {
    const rotary_status status = rotary_shift_remake(slot.handle(), from.pointer(), to.pointer());
    if (!are_sides || !slot.twin) return check(status, {});
    return check(status, remake_shift(*slot.twin, {*one.twin, *at}, {*other.twin, *to_be_at}));
  }
  auto made = make<RotationsTwin>(
      are_sides && how,
      [&](rotary_rotations** out) {
        return rotary_shift_make(from.pointer(), to.pointer(), options.pointer(), out);
      },
      [&] {
        return make_shift({*one.twin, *at}, {*other.twin, *to_be_at}, *how);
      });
  if (made) slot = *std::move(made);
}

void Session::shift_keys() {
  const RotationsTwin& rotations = any_of(rotations_);
  const auto decoded =
      decode_heads(rotations.twin ? &*rotations.twin : nullptr, Features::anywhere);
  if (!decoded) return;
  const Passed<rotary_heads_view> keys(input_, *decoded);
  const Passed<rotary_executor> executor(input_, decode_executor(), optional);
  const rotary_status status = rotary_shift(keys.pointer(), rotations.handle(), executor.pointer());
  const auto view = value_of(keys);
  const auto running = value_of(executor);
  if (!view || !rotations.twin || !running) return check(status, {});
  check(status, shift(*view, *rotations.twin, {.executor = *running}));
}

void Session::shift_quantized() {
  const RotationsTwin& rotations = any_of(rotations_);
  const auto decoded =
      decode_heads(rotations.twin ? &*rotations.twin : nullptr, Features::adjacent);
  if (!decoded) return;
  const auto keys = decode_int8(*decoded);
  if (!keys) return;
  const Passed<rotary_int8_view> passed(input_, *keys);
  const Passed<rotary_executor> executor(input_, decode_executor(), optional);
  const rotary_status status =
      rotary_shift_int8(passed.pointer(), rotations.handle(), executor.pointer());
  const auto view = value_of(passed);
  const auto running = value_of(executor);
  if (!view || !rotations.twin || !running) return check(status, {});
  check(status, shift(*view, *rotations.twin, {.executor = *running}));
}

}  // namespace rotary::fuzz
