// SPDX-License-Identifier: Apache-2.0
// Keys and values of a GGUF file.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/gguf/file_window.hpp"
#include "rotary/describe.hpp"
#include "rotary/gguf.hpp"

namespace rotary {

template <>
struct Describe<GgufType> {
  static constexpr std::array enumerators = {
      NamedEnumerator{GgufType::uint8, "uint8"},     NamedEnumerator{GgufType::int8, "int8"},
      NamedEnumerator{GgufType::uint16, "uint16"},   NamedEnumerator{GgufType::int16, "int16"},
      NamedEnumerator{GgufType::uint32, "uint32"},   NamedEnumerator{GgufType::int32, "int32"},
      NamedEnumerator{GgufType::float32, "float32"}, NamedEnumerator{GgufType::boolean, "boolean"},
      NamedEnumerator{GgufType::string, "string"},   NamedEnumerator{GgufType::array, "array"},
      NamedEnumerator{GgufType::uint64, "uint64"},   NamedEnumerator{GgufType::int64, "int64"},
      NamedEnumerator{GgufType::float64, "float64"}};
};

// Limits for every count, far above those of published files. They are checked before anything is
// allocated or repeated.
inline constexpr std::uint64_t most_gguf_keys = std::uint64_t{1} << 16;
inline constexpr std::uint64_t most_gguf_tensors = std::uint64_t{1} << 20;
inline constexpr std::uint64_t most_gguf_name_bytes = (std::uint64_t{1} << 16) - 1;
inline constexpr std::uint64_t most_gguf_text_bytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t most_gguf_kept_bytes = std::uint64_t{1} << 24;
// Every string of an array is read to find its end. A vocabulary has a few hundred thousand.
inline constexpr std::uint64_t most_gguf_strings = std::uint64_t{1} << 23;
inline constexpr std::uint64_t most_kept_text_bytes = 1024;
inline constexpr std::uint64_t most_kept_elements = 4096;

[[nodiscard]] std::vector<GgufKey> read_gguf_keys(FileWindow& file, std::uint64_t count);

}  // namespace rotary
