// SPDX-License-Identifier: Apache-2.0
// Arrays by their names, of .npy, .npz and safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/npy/npy.hpp"
#include "rotary/position_ids.hpp"
#include "rotary/positions.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cli {

// Floating-point numbers, C order.
struct FloatArray {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  [[nodiscard]] std::size_t size() const {
    return data.size() / static_cast<std::size_t>(size_in_bytes(dtype));
  }
  [[nodiscard]] double at(std::size_t i) const;
  [[nodiscard]] std::vector<double> doubles() const;
};

// Numbers of a program: 1 GiB of float32.
inline constexpr NpyLimit most_observed{.elements = std::uint64_t{1} << 28};

// A file, or "FILE:NAME" of an .npz or safetensors file with several arrays. dtype: of numbers that
// are held as uint16. Usage failure, which lists the names there are; every element is checked
// by check_element().
[[nodiscard]] FloatArray read_floats(std::string_view option, const std::string& path,
                                     std::optional<DType> dtype, const NpyLimit& limit);

// Whole numbers: positions, at most most_observed.
struct IntegerArray {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> numbers;
};
[[nodiscard]] IntegerArray read_integers(std::string_view option, const std::string& path);

// Requires [tokens], [batch, tokens] or [axes, batch, tokens].
[[nodiscard]] PositionIds position_ids(const IntegerArray& array);

// How a table of [rows][width] has its pairs: once, or twice, in halves or next to each other.
struct PairColumns {
  std::size_t pairs;
  std::size_t stride = 1;  // from a pair to the next one
};

// same: whether two elements of one row are equal, in all tables that are meant.
[[nodiscard]] PairColumns pair_columns(std::size_t elements, std::size_t width,
                                       const std::function<bool(std::size_t, std::size_t)>& same);

[[nodiscard]] bool has_array(const std::string& path, std::string_view name);

}  // namespace rotary::cli
