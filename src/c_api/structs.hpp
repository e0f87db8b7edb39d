// SPDX-License-Identifier: Apache-2.0
// Structs of the C ABI grow at their end. A caller's struct may be shorter than ours (compiled
// against an earlier header) or longer (against a later one); its struct_size tells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/message.hpp"
#include "c_api/status.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary.h"
#include "rotary/rotary_kv_cache.h"

namespace rotary::c_api {

struct StructLayout {
  std::string_view name;
  std::size_t first_bytes;  // size of version 1
  std::size_t bytes;        // size of this version
};

// Specialised for each struct of rotary.h: its name, the size of version 1, and its defaults.
template <class T>
struct Versioned;

template <>
struct Versioned<rotary_heads_view> {
  static constexpr rotary_heads_view defaults = ROTARY_HEADS_VIEW_INIT;
  static constexpr StructLayout layout{
      "rotary_heads_view",
      offsetof(rotary_heads_view, strides) + sizeof(rotary_heads_view::strides),
      sizeof(rotary_heads_view)};
};

template <>
struct Versioned<rotary_positions> {
  static constexpr rotary_positions defaults = ROTARY_POSITIONS_INIT;
  static constexpr StructLayout layout{
      "rotary_positions",
      offsetof(rotary_positions, token_stride) + sizeof(rotary_positions::token_stride),
      sizeof(rotary_positions)};
};

template <>
struct Versioned<rotary_rotated_at> {
  static constexpr rotary_rotated_at defaults = ROTARY_ROTATED_AT_INIT;
  static constexpr StructLayout layout{"rotary_rotated_at",
                                       offsetof(rotary_rotated_at, positions) + sizeof(void*),
                                       sizeof(rotary_rotated_at)};
};

template <>
struct Versioned<rotary_int8_view> {
  static constexpr rotary_int8_view defaults = ROTARY_INT8_VIEW_INIT;
  static constexpr StructLayout layout{
      "rotary_int8_view",
      offsetof(rotary_int8_view, scale_strides) + sizeof(rotary_int8_view::scale_strides),
      sizeof(rotary_int8_view)};
};

#ifndef ROTARY_CORE_ONLY
template <>
struct Versioned<rotary_resolve_options> {
  static constexpr rotary_resolve_options defaults = ROTARY_RESOLVE_OPTIONS_INIT;
  static constexpr StructLayout layout{"rotary_resolve_options",
                                       offsetof(rotary_resolve_options, context_tokens) +
                                           sizeof(rotary_resolve_options::context_tokens),
                                       sizeof(rotary_resolve_options)};
};
#endif

template <>
struct Versioned<rotary_window> {
  static constexpr rotary_window defaults = ROTARY_WINDOW_INIT;
  static constexpr StructLayout layout{
      "rotary_window", offsetof(rotary_window, reserved) + sizeof(rotary_window::reserved),
      sizeof(rotary_window)};
};

template <>
struct Versioned<rotary_rotations_options> {
  static constexpr rotary_rotations_options defaults = ROTARY_ROTATIONS_OPTIONS_INIT;
  static constexpr StructLayout layout{"rotary_rotations_options",
                                       offsetof(rotary_rotations_options, memory_bytes) +
                                           sizeof(rotary_rotations_options::memory_bytes),
                                       sizeof(rotary_rotations_options)};
};

template <>
struct Versioned<rotary_cos_sin> {
  static constexpr rotary_cos_sin defaults = ROTARY_COS_SIN_INIT;
  static constexpr StructLayout layout{
      "rotary_cos_sin",
      offsetof(rotary_cos_sin, attention_factor) + sizeof(rotary_cos_sin::attention_factor),
      sizeof(rotary_cos_sin)};
};

template <>
struct Versioned<rotary_executor> {
  static constexpr rotary_executor defaults = ROTARY_EXECUTOR_INIT;
  static constexpr StructLayout layout{
      "rotary_executor",
      offsetof(rotary_executor, concurrency) + sizeof(rotary_executor::concurrency),
      sizeof(rotary_executor)};
};

template <>
struct Versioned<rotary_rotate_options> {
  static constexpr rotary_rotate_options defaults = ROTARY_ROTATE_OPTIONS_INIT;
  static constexpr StructLayout layout{"rotary_rotate_options",
                                       offsetof(rotary_rotate_options, executor) + sizeof(void*),
                                       sizeof(rotary_rotate_options)};
};

template <>
struct Versioned<rotary_kv> {
  static constexpr rotary_kv defaults = ROTARY_KV_INIT;
  static constexpr StructLayout layout{"rotary_kv", offsetof(rotary_kv, v) + sizeof(rotary_kv::v),
                                       sizeof(rotary_kv)};
};

template <>
struct Versioned<rotary_slots> {
  static constexpr rotary_slots defaults = ROTARY_SLOTS_INIT;
  static constexpr StructLayout layout{
      "rotary_slots", offsetof(rotary_slots, token_stride) + sizeof(rotary_slots::token_stride),
      sizeof(rotary_slots)};
};

template <>
struct Versioned<rotary_head_norm> {
  static constexpr rotary_head_norm defaults = ROTARY_HEAD_NORM_INIT;
  static constexpr StructLayout layout{
      "rotary_head_norm", offsetof(rotary_head_norm, reserved) + sizeof(rotary_head_norm::reserved),
      sizeof(rotary_head_norm)};
};

template <>
struct Versioned<rotary_append_options> {
  static constexpr rotary_append_options defaults = ROTARY_APPEND_OPTIONS_INIT;
  static constexpr StructLayout layout{
      "rotary_append_options",
      offsetof(rotary_append_options, reserved) + sizeof(rotary_append_options::reserved),
      sizeof(rotary_append_options)};
};

// struct_size, the first member of *from. Error: invalid_argument for a size that no version has.
[[nodiscard]] Result<std::size_t> struct_size_of(std::string_view argument, const void* from,
                                                 const StructLayout& layout);

// Bytes of *from that this version knows: struct_size, at most layout.bytes. Errors:
// invalid_argument for a struct_size that no version has; unsupported if unknown bytes are not 0.
[[nodiscard]] Result<std::size_t> known_bytes(std::string_view argument, const void* from,
                                              const StructLayout& layout);

// A copy of *from; members that the caller did not know get their defaults.
template <class T>
[[nodiscard]] Result<T> read_struct(std::string_view argument, const T* from) {
  if (from == nullptr) return null_argument(argument);
  const auto bytes = known_bytes(argument, from, Versioned<T>::layout);
  if (!bytes) return bytes.error();
  T copy = Versioned<T>::defaults;
  std::memcpy(&copy, from, *bytes);
  if constexpr (requires { copy.reserved; }) {
    if (copy.reserved != 0) {
      return invalid_argument(argument, ".reserved must be 0, got ", copy.reserved);
    }
  }
  return copy;
}

// NULL means the defaults.
template <class T>
[[nodiscard]] Result<T> read_options(std::string_view argument, const T* from) {
  if (from == nullptr) return Versioned<T>::defaults;
  return read_struct(argument, from);
}

// Writes as much of value as *to has room for. Reads only struct_size, which keeps its value.
template <class T>
[[nodiscard]] Status write_struct(std::string_view argument, T* to, T value) {
  if (to == nullptr) return null_argument(argument);
  const auto size = struct_size_of(argument, to, Versioned<T>::layout);
  if (!size) return size.error();
  value.struct_size = *size;
  std::memcpy(to, &value, std::min(*size, sizeof(T)));
  return {};
}

}  // namespace rotary::c_api
