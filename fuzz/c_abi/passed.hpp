// SPDX-License-Identifier: Apache-2.0
// Structs of the C ABI as other callers pass them: compiled with an earlier or later header, with
// an invalid size, or NULL.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "fuzz/bytes.hpp"
#include "rotary/rotary.h"
#include "rotary/rotary_kv_cache.h"

namespace rotary::fuzz {

// Size of the struct's first version, or of the struct if it has only one version.
template <class T>
inline constexpr std::size_t first_bytes = sizeof(T);
template <>
inline constexpr std::size_t first_bytes<rotary_resolve_options> = offsetof(rotary_resolve_options,
                                                                            numerics);
template <>
inline constexpr std::size_t first_bytes<rotary_window> = offsetof(rotary_window, blocks);
template <>
inline constexpr std::size_t first_bytes<rotary_positions> = offsetof(rotary_positions, axes);
template <>
inline constexpr std::size_t first_bytes<rotary_rotations_options> =
    offsetof(rotary_rotations_options, tensors);

inline constexpr std::size_t largest_struct = 4096;

// One time in three, an optional argument is NULL.
inline constexpr int optional = 3;

// A struct in memory of exactly the size that the library may read.
template <class T>
class Passed {
 public:
  // Ignores value.struct_size. NULL one time in `nulls`.
  Passed(Bytes& input, const T& value, int nulls = 64) {
    if (input.once_in(nulls)) return;
    struct_size_ = sizeof(T);
    if (input.once_in(16)) struct_size_ = decode_size(input);
    const bool is_size = struct_size_ >= first_bytes<T> && struct_size_ <= largest_struct;
    bytes_.resize(is_size ? struct_size_ : sizeof struct_size_);
    std::memcpy(bytes_.data(), &value, std::min(bytes_.size(), sizeof(T)));
    std::memcpy(bytes_.data(), &struct_size_, sizeof struct_size_);
    if (is_size && struct_size_ > sizeof(T) && input.once_in(4)) {
      bytes_[sizeof(T) + input.byte() % (struct_size_ - sizeof(T))] = std::byte{1};
    }
  }

  [[nodiscard]] const T* pointer() const { return reinterpret_cast<const T*>(data()); }
  [[nodiscard]] T* pointer() {
    return bytes_.empty() ? nullptr : reinterpret_cast<T*>(bytes_.data());
  }

  // The struct as the library must read it. Members that the caller did not know have defaults.
  // Returns nullopt if the struct is NULL or must be refused.
  [[nodiscard]] std::optional<T> value(const T& defaults) const {
    if (!has_size()) return {};
    const std::size_t known = std::min(bytes_.size(), sizeof(T));
    const bool is_plain = std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(known),
                                      bytes_.end(), [](std::byte b) { return b == std::byte{0}; });
    if (!is_plain) return {};
    T value = defaults;
    std::memcpy(&value, bytes_.data(), known);
    if constexpr (requires { value.reserved; }) {
      if (value.reserved != 0) return {};
    }
    return value;
  }

  // As above; NULL gives the defaults.
  [[nodiscard]] std::optional<T> value_or_defaults(const T& defaults) const {
    return bytes_.empty() ? defaults : value(defaults);
  }

  // For a struct that the call fills: checks only the size, because nothing else is read.
  [[nodiscard]] bool has_size() const {
    return struct_size_ >= first_bytes<T> && struct_size_ <= largest_struct && !bytes_.empty();
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  [[nodiscard]] const std::byte* data() const { return bytes_.empty() ? nullptr : bytes_.data(); }

  static std::size_t decode_size(Bytes& input) {
    const std::array<std::size_t, 8> sizes = {0,
                                              first_bytes<T> - 1,
                                              first_bytes<T>,
                                              sizeof(T) + 8,
                                              sizeof(T) + 24,
                                              largest_struct,
                                              largest_struct + 1,
                                              static_cast<std::size_t>(input.integer())};
    return sizes[input.byte() % sizes.size()];
  }

  std::size_t struct_size_ = 0;
  std::vector<std::byte> bytes_ = {};
};

}  // namespace rotary::fuzz
