// SPDX-License-Identifier: Apache-2.0
// Reads queries, keys and positions from NPY files, and checks their axes, shapes and types.
// Failures name the option, the requirement and the value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.hpp"
#include "cli/npy/npy.hpp"
#include "rotary/positions.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cli {

// The order of the axes: b batch, t tokens, h heads, d features.
enum class Layout { bthd, bhtd, thd };

inline constexpr std::array all_layouts = {Layout::bthd, Layout::bhtd, Layout::thd};
[[nodiscard]] std::string_view to_string(Layout layout) noexcept;

inline constexpr std::array all_dtypes = {DType::f32, DType::bf16, DType::f16, DType::f64};

// Kernels take q, k and v of these.
inline constexpr std::array kernel_dtypes = {DType::f32, DType::bf16, DType::f16};

// --dtype of numbers that the tool makes (f32); printed answers take f32 or f64 alone.
[[nodiscard]] DType answer_dtype(std::optional<DType> asked, const std::optional<std::string>& out);

struct Tensor {
  NpyArray array;
  Extents extents;
  Strides strides;
  DType dtype = DType::f32;

  // For rotation in place. Valid while this tensor lives and does not move.
  [[nodiscard]] HeadsView view() noexcept {
    return {.data = array.data.data(), .dtype = dtype, .extents = extents, .strides = strides};
  }
};

// The numbers of an array of f64 or f32 as arrays in arrays.
[[nodiscard]] Json numbers_json(const NpyArray& array);

// Malformed input if element i is not finite in float32: comparisons would say nothing.
void check_element(std::string_view name, double number, std::size_t i,
                   const std::vector<std::int64_t>& shape);

// Frequencies, of a head of at most 65536 features.
inline constexpr NpyLimit most_pairs{.elements = 32768};

[[nodiscard]] NpyArray read_npy_file(const std::string& path, const NpyLimit& limit);

// --layout and --dtype. Without a dtype the file's type decides; bf16 needs it.
struct TensorForm {
  Layout layout = Layout::bthd;
  std::optional<DType> dtype;
};

// option: "--q" or "--k", for messages.
[[nodiscard]] Tensor read_tensor(std::string_view option, const std::string& path,
                                 const TensorForm& form);

// Embeddings [tokens, features] or [batch, tokens, features].
struct TokensTensor {
  NpyArray array;
  TokenExtents extents;
  DType dtype = DType::f32;

  // For encoding in place. Valid while this tensor lives and does not move.
  [[nodiscard]] TokensView view() noexcept {
    return {.data = array.data.data(),
            .dtype = dtype,
            .extents = extents,
            .strides = strides_btd(extents)};
  }
};

// Without a dtype the file's own type says it.
[[nodiscard]] TokensTensor read_tokens(std::string_view option, const std::string& path,
                                       std::optional<DType> dtype);

// The dtype asked for, else the array's own. Usage failure where the array holds another.
[[nodiscard]] DType dtype_of(std::string_view option, NpyType type, std::optional<DType> asked);

// bf16 is held as uint16.
[[nodiscard]] NpyType npy_type(DType dtype);

// The positions of tokens: the numbers of a file, otherwise first, first + 1, ...
struct TokenPlaces {
  std::int64_t first = 0;
  std::optional<NpyArray> array;

  // axes: the coordinates of a position. A file has [tokens] or [batch, tokens]; with several axes
  // [axes, tokens], [axes, batch, tokens], or [tokens] where all coordinates of a token are equal.
  [[nodiscard]] Positions of(const Extents& extents, Layout layout, std::int64_t axes = 1) const;
  // The members "first" and "file", of which one is null.
  [[nodiscard]] Json json(const std::optional<std::string>& file) const;
};

// Takes --first-position or --positions, which exclude each other.
[[nodiscard]] TokenPlaces read_places(std::optional<std::int64_t> first_position,
                                      const std::optional<std::string>& positions);

}  // namespace rotary::cli
