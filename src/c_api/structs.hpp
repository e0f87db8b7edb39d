// SPDX-License-Identifier: Apache-2.0
// Reads and writes structs of callers that were compiled with this version of the headers, an
// earlier one or a later one. Structs of earlier versions are shorter.
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

// Specialised for each C struct that begins with struct_size, with its layout and its defaults.
template <class T>
struct Versioned;

// A macro, because offsetof takes the name of a member.
#define ROTARY_VERSIONED(Type, last_of_version_1, init)                                       \
  template <>                                                                                 \
  struct Versioned<Type> {                                                                    \
    static constexpr Type defaults = init;                                                    \
    static constexpr StructLayout layout{                                                     \
        #Type, offsetof(Type, last_of_version_1) + sizeof(decltype(Type::last_of_version_1)), \
        sizeof(Type)};                                                                        \
  }
ROTARY_VERSIONED(rotary_heads_view, strides, ROTARY_HEADS_VIEW_INIT);
ROTARY_VERSIONED(rotary_positions, token_stride, ROTARY_POSITIONS_INIT);
ROTARY_VERSIONED(rotary_rotated_at, positions, ROTARY_ROTATED_AT_INIT);
ROTARY_VERSIONED(rotary_int8_view, scale_strides, ROTARY_INT8_VIEW_INIT);
#ifndef ROTARY_CORE_ONLY
ROTARY_VERSIONED(rotary_resolve_options, context_tokens, ROTARY_RESOLVE_OPTIONS_INIT);
ROTARY_VERSIONED(rotary_byte_source, size_bytes, ROTARY_BYTE_SOURCE_INIT);
#endif
ROTARY_VERSIONED(rotary_window, reserved, ROTARY_WINDOW_INIT);
ROTARY_VERSIONED(rotary_axis_frequencies, attention_factor, ROTARY_AXIS_FREQUENCIES_INIT);
ROTARY_VERSIONED(rotary_rotations_options, memory_bytes, ROTARY_ROTATIONS_OPTIONS_INIT);
ROTARY_VERSIONED(rotary_cos_sin, attention_factor, ROTARY_COS_SIN_INIT);
ROTARY_VERSIONED(rotary_executor, concurrency, ROTARY_EXECUTOR_INIT);
ROTARY_VERSIONED(rotary_rotate_options, executor, ROTARY_ROTATE_OPTIONS_INIT);
ROTARY_VERSIONED(rotary_kv, v, ROTARY_KV_INIT);
ROTARY_VERSIONED(rotary_int8_kv, v, ROTARY_INT8_KV_INIT);
ROTARY_VERSIONED(rotary_slots, token_stride, ROTARY_SLOTS_INIT);
ROTARY_VERSIONED(rotary_head_norm, reserved, ROTARY_HEAD_NORM_INIT);
ROTARY_VERSIONED(rotary_append_options, reserved, ROTARY_APPEND_OPTIONS_INIT);

// Reads struct_size, the first member of *from. Error: invalid_argument for a size outside
// first_bytes to 4096.
[[nodiscard]] Result<std::size_t> struct_size_of(std::string_view argument, const void* from,
                                                 const StructLayout& layout);

// Number of bytes of *from that this version knows: struct_size, but at most layout.bytes. Errors:
// those of struct_size_of(); unsupported if an unknown byte is not 0.
[[nodiscard]] Result<std::size_t> known_bytes(std::string_view argument, const void* from,
                                              const StructLayout& layout);

// A copy of *from; members beyond struct_size get their defaults.
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

// NULL gives the defaults.
template <class T>
[[nodiscard]] Result<T> read_options(std::string_view argument, const T* from) {
  if (from == nullptr) return Versioned<T>::defaults;
  return read_struct(argument, from);
}

// Writes as much of value as fits *to. Reads to->struct_size and leaves it unchanged.
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
