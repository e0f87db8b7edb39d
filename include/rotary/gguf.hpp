// SPDX-License-Identifier: Apache-2.0
// GGUF, the file format of ggml and llama.cpp. read_gguf_metadata() reads the keys of a file;
// resolve_gguf() says, as resolve() does of a config, how each layer of the model uses positions.
// It reads the keys as llama.cpp does: docs/theory/gguf.md.
//
//   const ModelSpec model = *resolve_gguf(byte_source(bytes));
//   const RotarySpec spec = model.only_rotary()->spec;  // of the weights as the file has them
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

// The bytes of a file, read where they are needed. A value, not owned: context must live until the
// call that it is passed to returns.
struct ByteSource {
  void* context = nullptr;  // passed to read_at
  // Copies `count` bytes from `offset` on; offset + count <= size_bytes. Returns the number of
  // bytes copied; fewer than `count` is a read error. Must not throw.
  std::size_t (*read_at)(void* context, std::uint64_t offset, std::byte* bytes,
                         std::size_t count) = nullptr;
  std::uint64_t size_bytes = 0;  // of the whole file
};

// Bytes in memory, which must live as long as the source is used.
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

// std::monostate: not kept. Integers are int64 unless they are too large for it; arrays of booleans
// are arrays of 0 and 1.
using GgufValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                               std::string, std::vector<std::int64_t>, std::vector<double>>;

// One key of a file. Its value is kept if it is a number, a boolean, a string of at most 1024 bytes
// or an array of at most 4096 numbers. Values of tokenizer keys ("tokenizer.…") and arrays of
// strings are not kept.
struct GgufKey {
  std::string name;  // any bytes, not empty; unique in the file
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

// The keys of a file.
struct GgufMetadata {
  std::uint32_t version = 0;                     // 2 or 3
  std::endian byte_order = std::endian::little;  // of the file
  std::uint64_t tensors = 0;                     // number of tensors in the file
  std::vector<GgufKey> keys;                     // in the order of the file
  // rope_freqs.weight, rope_factors_long.weight and rope_factors_short.weight, if the file has
  // them.
  std::vector<GgufTensor> rope_tensors;
};

// Reads a file of version 2 or 3 in either byte order, front to back, through a window of 32 KiB.
// Reads no tensor data except that of rope_tensors, and allocates only the window and what it
// keeps. Without rope_tensors the file may end after its list of tensors. Errors: malformed_input,
// with the offset of the byte that breaks the format; unsupported for other versions and nested
// arrays, and for a file with more than 65536 keys, 2^20 tensors, 2^23 strings in arrays, or 16 MiB
// of keys and values to keep.
[[nodiscard]] ROTARY_API Result<GgufMetadata> read_gguf_metadata(const ByteSource& source) noexcept;

// Values that a file lacks, and overrides of its keys.
struct GgufOptions {
  // The intended context, in tokens; one beyond the trained context gives a warning.
  std::optional<std::int64_t> context_tokens = {};
  Numerics numerics = Numerics::exact;  // for every spec; llama.cpp's own are Numerics::ggml
  // Keys of the file, with or without its architecture ("rope.freq_base"), and llama.cpp's flags
  // ("--rope-scaling", "--yarn-orig-ctx"; in Python and C++ also "rope_scaling").
  std::vector<ConfigOverride> overrides = {};
};

// The model of a file, or of the first of split files. model_type is general.architecture; sources
// name the file's keys; ModelSpec::gguf lists what the file cannot say. Pairings are those of the
// file's weights, which the converter may have reordered. Errors: those of read_gguf_metadata();
// malformed_input for keys that are missing, mistyped or contradict one another; unsupported for an
// architecture that llama.cpp did not know at gguf_commit(), for one whose positions no spec
// describes, and for a split file other than the first; invalid_argument for options.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve_gguf(const ByteSource& source,
                                                        const GgufOptions& options = {}) noexcept;

// resolve_gguf() for keys that were already read.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve_gguf(const GgufMetadata& metadata,
                                                        const GgufOptions& options = {}) noexcept;

// The commit of llama.cpp whose architectures resolve_gguf() knows, "0c1e5709".
[[nodiscard]] ROTARY_API std::string_view gguf_commit() noexcept;

}  // namespace rotary

#endif  // ROTARY_GGUF_HPP
