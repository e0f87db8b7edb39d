// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, versions 1 to 3 (numpy/lib/format.py): a magic, the text of a Python dict,
// and the elements. The reader is strict, for untrusted files: only little-endian and C order, no
// pickles, and every size is checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/byte_stream.hpp"
#include "rotary/result.hpp"

namespace rotary::cli {

enum class NpyType { f16, f32, f64, c64, u16, i32, i64 };  // c64: a complex number of two f32

[[nodiscard]] std::size_t size_in_bytes(NpyType type) noexcept;

// NumPy's name of the type: "<f2", "<f4", "<f8", "<c8", "<u2", "<i4", "<i8".
[[nodiscard]] std::string_view descr_of(NpyType type) noexcept;

// data must have the size that type and shape give.
struct NpyView {
  NpyType type = NpyType::f32;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> data;
};

struct NpyArray {
  NpyType type = NpyType::f32;
  std::vector<std::int64_t> shape;  // empty for a single number
  std::vector<std::byte> data;      // C order

  [[nodiscard]] NpyView view() const noexcept { return {type, shape, data}; }

  // Requires sizeof(T) to be the size of the type's elements.
  template <class T>
  [[nodiscard]] std::span<const T> elements() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

  // The elements of an array of f64 or f32; empty for other types.
  [[nodiscard]] std::vector<double> doubles() const;
};

// "[2, 16, 64]": a shape in messages.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

// The number of elements. Counts dimensions of 0 as 1, so an empty array cannot have huge rows.
// Absent from 2^64 on.
[[nodiscard]] std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape);

// The most elements that a caller accepts. Arrays with one axis may have another limit.
struct NpyLimit {
  std::uint64_t elements = 0;
  std::uint64_t of_one_axis = elements;

  [[nodiscard]] std::uint64_t of(std::span<const std::int64_t> shape) const noexcept {
    return shape.size() == 1 ? of_one_axis : elements;
  }
};

// Reads magic, header and elements. Stores no more than the announced size or the limit. Errors:
// malformed_input; unsupported for other valid files and for more elements than the limit.
[[nodiscard]] Result<NpyArray> read_npy(ByteStream& file, const NpyLimit& limit);

// Writes a file of format version 1 in pieces. The other overload returns the file's bytes.
void write_npy(const NpyView& array, const std::function<void(std::string_view)>& write);
[[nodiscard]] std::string write_npy(NpyType type, std::span<const std::int64_t> shape,
                                    std::span<const std::byte> data);

}  // namespace rotary::cli
