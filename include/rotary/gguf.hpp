// SPDX-License-Identifier: Apache-2.0
// GGUF, the file format of ggml and llama.cpp. read_gguf_metadata() reads the keys of a file;
// resolve_gguf() says how each layer of the model uses positions, as llama.cpp reads the keys
// (docs/theory/gguf.md).
//
//   const ModelSpec model = *resolve_gguf(byte_source(bytes));
//   const RotarySpec spec = model.only_rotary()->spec;  // for the weights in the file
#ifndef ROTARY_GGUF_HPP
#define ROTARY_GGUF_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/export.h"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// The bytes of a file, read as they are needed. context must live until the call returns.
struct ByteSource {
  void* context = nullptr;  // first argument of read_at
  // Copies `count` bytes from `offset`, where offset + count <= size_bytes. Returns the number of
  // bytes copied; fewer than `count` means an error. Must not throw.
  std::size_t (*read_at)(void* context, std::uint64_t offset, std::byte* bytes,
                         std::size_t count) = nullptr;
  std::uint64_t size_bytes = 0;  // of the whole file
};

// Bytes in memory, not owned.
[[nodiscard]] ROTARY_API ByteSource byte_source(std::span<const std::byte> bytes) noexcept;

// The format's numbers for value types.
enum class GgufType : std::int32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

// "uint8", …, "float64".
[[nodiscard]] ROTARY_API std::string_view to_string(GgufType type) noexcept;

// std::monostate: not kept. Integers that fit are int64; arrays of booleans hold 0 and 1.
using GgufValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                               std::string, std::vector<std::int64_t>, std::vector<double>>;

// One key of a file. Its value is kept if it is a number, a boolean, a string of at most 1024 bytes
// or an array of at most 4096 numbers, and if its name does not begin with "tokenizer.".
struct GgufKey {
  std::string name;  // any bytes, not empty; unique
  GgufType type = GgufType::uint8;
  std::optional<GgufType> element_type = {};  // of arrays
  std::uint64_t elements = 1;                 // of arrays
  GgufValue value = {};
};

// The numbers of a tensor.
struct GgufTensor {
  std::string name;
  std::vector<float> values;
};

// The keys of a file, and the tensors that affect rotations.
struct GgufMetadata {
  std::uint32_t version = 0;                     // 2 or 3
  std::endian byte_order = std::endian::little;  // of the file
  std::uint64_t tensors = 0;                     // number of tensors in the file
  std::vector<GgufKey> keys;                     // in the order of the file
  // rope_freqs.weight, rope_factors_long.weight, rope_factors_short.weight, if the file has them.
  std::vector<GgufTensor> rope_tensors;
};

// Reads a file of version 2 or 3 in either byte order, front to back, through a window of 32 KiB.
// Reads tensor data only for rope_tensors; a file without them may end after its list of tensors.
// Allocates only the window and the kept data. Errors: malformed_input, with the offset of
// the byte that breaks the format; unsupported for other versions and nested arrays, and beyond
// 65536 keys, 2^20 tensors, 2^23 strings in arrays, or 16 MiB of kept keys and values.
[[nodiscard]] ROTARY_API Result<GgufMetadata> read_gguf_metadata(const ByteSource& source) noexcept;

// Values that a file lacks, and overrides of its keys.
struct GgufOptions {
  // The intended context, in tokens. If it exceeds the trained context, the model gets a warning.
  std::optional<std::int64_t> context_tokens = {};
  Numerics numerics = Numerics::exact;  // of every spec; ggml: as llama.cpp computes
  // Keys of the file, with or without the architecture ("rope.freq_base"), or flags of llama.cpp
  // ("--rope-scaling", also "rope_scaling").
  std::vector<ConfigOverride> overrides = {};
};

// The model of a file, or of the first of split files. model_type is general.architecture; sources
// name the file's keys. Pairings are for the file's weights, whose rows the converter may have
// reordered. Errors: those of read_gguf_metadata(); malformed_input for keys that are missing,
// mistyped or contradict one another; unsupported for an architecture that llama.cpp did not know
// at gguf_commit() or whose positions no spec describes, and for a split file other than the first;
// invalid_argument for options.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve_gguf(const ByteSource& source,
                                                        const GgufOptions& options = {}) noexcept;

// resolve_gguf() for keys that were already read.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve_gguf(const GgufMetadata& metadata,
                                                        const GgufOptions& options = {}) noexcept;

// The commit of llama.cpp whose architectures resolve_gguf() knows, "0c1e5709".
[[nodiscard]] ROTARY_API std::string_view gguf_commit() noexcept;

}  // namespace rotary

#endif  // ROTARY_GGUF_HPP
