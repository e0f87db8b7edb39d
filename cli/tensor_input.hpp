// SPDX-License-Identifier: Apache-2.0
// Reads queries, keys, embeddings and positions from NPY files. Checks their shapes and types.
// Failures name the option, the requirement and the value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "apps/npy/npy.hpp"
#include "rotary/positions.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cli {

// The order of dimensions: b batch, t tokens, h heads, d features.
enum class Layout { bthd, bhtd, thd };

inline constexpr std::array all_layouts = {Layout::bthd, Layout::bhtd, Layout::thd};
[[nodiscard]] std::string_view to_string(Layout layout) noexcept;

inline constexpr std::array all_dtypes = {DType::f32, DType::bf16, DType::f16, DType::f64};

// The dtypes of q, k and v in kernels.
inline constexpr std::array kernel_dtypes = {DType::f32, DType::bf16, DType::f16};

// The dtype of numbers that the tool makes: --dtype, else f32. Without --out only f32 and f64 are
// allowed.
[[nodiscard]] DType answer_dtype(std::optional<DType> asked, const std::optional<std::string>& out);

struct Tensor {
  NpyArray array;
  Extents extents;
  Strides strides;
  DType dtype = DType::f32;

  // A view for rotation in place. Valid until this tensor moves or ends.
  [[nodiscard]] HeadsView view() noexcept {
    return {.data = array.data.data(), .dtype = dtype, .extents = extents, .strides = strides};
  }
};

// The numbers of an array of f64 or f32 as nested JSON arrays.
[[nodiscard]] Json numbers_json(const NpyArray& array);

// Fails as malformed input if element i is not finite in float32, because comparisons would be
// meaningless.
void check_element(std::string_view name, double number, std::size_t i,
                   const std::vector<std::int64_t>& shape);

// The limit for frequencies: a head has at most 65536 features.
inline constexpr NpyLimit most_pairs{.elements = 32768};

[[nodiscard]] NpyArray read_npy_file(const std::string& path, const NpyLimit& limit);

// --layout and --dtype. The default dtype is the file's type; bf16 must be given.
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

  // A view for encoding in place. Valid until this tensor moves or ends.
  [[nodiscard]] TokensView view() noexcept {
    return {.data = array.data.data(),
            .dtype = dtype,
            .extents = extents,
            .strides = strides_btd(extents)};
  }
};

// The default dtype is the file's type.
[[nodiscard]] TokensTensor read_tokens(std::string_view option, const std::string& path,
                                       std::optional<DType> dtype);

// The given dtype, else the array's own. Fails as wrong usage if the array has another type.
[[nodiscard]] DType dtype_of(std::string_view option, NpyType type, std::optional<DType> asked);

// The type that stores a dtype: uint16 for bf16.
[[nodiscard]] NpyType npy_type(DType dtype);

// The positions of tokens: the file's numbers, else first, first + 1, ...
struct TokenPlaces {
  std::int64_t first = 0;
  std::optional<NpyArray> array;

  // axes: coordinates per position. A file's shape is [tokens] or [batch, tokens]. With several
  // axes it is [axes, tokens] or [axes, batch, tokens], or [tokens] if a token's coordinates are
  // all equal.
  [[nodiscard]] Positions of(const Extents& extents, Layout layout, std::int64_t axes = 1) const;
  // The members "first" and "file"; one of them is null.
  [[nodiscard]] Json json(const std::optional<std::string>& file) const;
};

// Refuses a list such as "0:16", unless a file has this name.
void refuse_position_list(const std::string& path);

// Reads --first-position or --positions, which exclude each other.
[[nodiscard]] TokenPlaces read_places(std::optional<std::int64_t> first_position,
                                      const std::optional<std::string>& positions);

}  // namespace rotary::cli
