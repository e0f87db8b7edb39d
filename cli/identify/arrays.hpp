// SPDX-License-Identifier: Apache-2.0
// Reads arrays by name from .npy, .npz and safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/npy/npy.hpp"
#include "rotary/position_ids.hpp"
#include "rotary/positions.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cli {

// Floating-point numbers in C order.
struct FloatArray {
  std::string_view option = {};  // that gave the file
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  [[nodiscard]] std::size_t size() const {
    return data.size() / static_cast<std::size_t>(size_in_bytes(dtype));
  }
  [[nodiscard]] double at(std::size_t i) const;
  [[nodiscard]] std::vector<double> doubles() const;
};

// The limit for a program's numbers: 1 GiB of float32.
inline constexpr NpyLimit most_observed{.elements = std::uint64_t{1} << 28};

// path: a file, or "FILE:NAME" for an .npz or safetensors file. dtype: of numbers stored as uint16.
// Fails as wrong usage for an unknown array, and lists the file's arrays. Calls check_element() for
// each element.
[[nodiscard]] FloatArray read_floats(std::string_view option, const std::string& path,
                                     std::optional<DType> dtype, const NpyLimit& limit);

// Integers, such as positions; at most most_observed.
struct IntegerArray {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> numbers;
};
[[nodiscard]] IntegerArray read_integers(std::string_view option, const std::string& path);

// The shape must be [tokens], [batch, tokens] or [axes, batch, tokens].
[[nodiscard]] PositionIds position_ids(const IntegerArray& array);

// The columns that hold each pair once, in a table [rows][width] that may hold each pair twice.
struct PairColumns {
  std::size_t pairs;
  std::size_t stride = 1;  // between neighbouring pairs
};

// same(i, j): whether the elements i and j are equal. Elements are numbered row by row.
[[nodiscard]] PairColumns pair_columns(std::size_t elements, std::size_t width,
                                       const std::function<bool(std::size_t, std::size_t)>& same);

[[nodiscard]] bool has_array(const std::string& path, std::string_view name);

}  // namespace rotary::cli
