// SPDX-License-Identifier: Apache-2.0
// safetensors files (format: safetensors/src/tensor.rs of Hugging Face): the header's size in eight
// bytes, little-endian; the header, a JSON object with a member per tensor; the tensors' data. Read
// strictly, for untrusted files: no holes, overlaps, extra bytes or repeated names, and every size
// is checked before use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/byte_stream.hpp"
#include "rotary/result.hpp"

namespace rotary::cli {

// The format's name of an element type, and its size.
struct SafetensorsType {
  std::string_view name;  // "BF16"
  std::uint64_t bits = 0;
};

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type;
  std::vector<std::uint64_t> shape;  // empty for a single number
  std::uint64_t begin = 0;           // of its bytes, counted from the first of the data
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size_in_bytes() const noexcept { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // in the order of their data
  std::vector<std::pair<std::string, std::string>> metadata;
};

// json: the header without its size; data_bytes: those of the file behind the header. Error:
// malformed_input, or unsupported for an element type that this reader does not know.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                                 std::uint64_t data_bytes);

// A file up to its data.
struct SafetensorsStart {
  std::string bytes;  // as they are: the size and the JSON text
  SafetensorsHeader header;
};

// Reads as far as the first byte of the data. The file must know where it ends.
[[nodiscard]] Result<SafetensorsStart> read_safetensors_start(ByteStream& file);

}  // namespace rotary::cli
