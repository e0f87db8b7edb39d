// SPDX-License-Identifier: Apache-2.0
// safetensors files (safetensors/src/tensor.rs of Hugging Face): the header's size in eight bytes,
// little-endian; the header, a JSON object with a member per tensor; the data. The reader is for
// untrusted files. It accepts no holes, overlaps, extra bytes or repeated names, and checks every
// size before use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/byte_stream.hpp"
#include "rotary/result.hpp"

namespace rotary::cli {

// The format's name for an element type, and its size.
struct SafetensorsType {
  std::string_view name;  // "BF16"
  std::uint64_t bits = 0;
};

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type;
  std::vector<std::uint64_t> shape;  // empty for a single number
  std::uint64_t begin = 0;           // offset of its first byte in the data
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size_in_bytes() const noexcept { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // in the data's order
  std::vector<std::pair<std::string, std::string>> metadata;
};

// json: the header without its size. data_bytes: the file's bytes after the header. Errors:
// malformed_input; unsupported for an unknown element type.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                                 std::uint64_t data_bytes);

// Everything before the data.
struct SafetensorsStart {
  std::string bytes;  // the size and the JSON text, unchanged
  SafetensorsHeader header;
};

// Reads up to the data. The file must have a known size.
[[nodiscard]] Result<SafetensorsStart> read_safetensors_start(ByteStream& file);

}  // namespace rotary::cli
