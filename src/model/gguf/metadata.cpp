// SPDX-License-Identifier: Apache-2.0
// Reads a GGUF file, with the checks of gguf_init_from_reader in their order (ggml/src/gguf.cpp of
// llama.cpp at 0c1e5709).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/spelling.hpp"
#include "model/gguf/file_window.hpp"
#include "model/gguf/values.hpp"
#include "model/words.hpp"
#include "rotary/gguf.hpp"

namespace rotary {
namespace {

constexpr std::string_view rope_tensor_names =
    "rope_freqs.weight rope_factors_long.weight rope_factors_short.weight";
constexpr std::uint64_t most_dimensions = 4;
constexpr std::uint64_t most_tensor_name_bytes = 63;
constexpr std::uint64_t most_alignment = std::uint64_t{1} << 20;
constexpr std::int64_t most_rope_values = std::int64_t{1} << 16;
constexpr std::int32_t type_f32 = 0;  // GGML_TYPE_F32

struct RopeTensor {
  std::string name;
  std::int64_t values = 0;
  std::uint64_t offset = 0;  // from the start of the tensors' data
};

void read_magic(FileWindow& file) {
  const std::string magic = file.text(std::min<std::uint64_t>(4, file.left()));
  if (magic != "GGUF") {
    file.malformed("the file must begin with the bytes GGUF, got '", printable(magic), "'");
  }
}

// In a file with the other byte order the version is in the high bytes.
void read_version(FileWindow& file, GgufMetadata& metadata) {
  auto version = file.number<std::uint32_t>();
  if (file.failed()) return;
  if (version != 0 && (version & 0xFFFF) == 0) {
    version = version >> 24 | (version >> 8 & 0xFF00);
    metadata.byte_order = std::endian::big;
    file.set_byte_order(std::endian::big);
  }
  metadata.version = version;
  if (version == 2 || version == 3) return;
  file.not_supported("version must be 2 or 3, got ", version);
}

// Reads the number of entries that follow, each of at least bytes_each bytes.
std::uint64_t read_count(FileWindow& file, std::string_view of, std::uint64_t most,
                         std::uint64_t bytes_each) {
  const auto count = file.number<std::uint64_t>();
  if (file.failed()) return 0;
  if (count > most) {
    file.not_supported("the number of ", of, " must be at most ", most, ", got ",
                       static_cast<std::int64_t>(count));
  } else if (count > file.left() / bytes_each) {
    file.malformed("the number of ", of, " must be what fits in the ", file.left(),
                   " bytes left, got ", count);
  }
  return count;
}

std::uint64_t alignment_of(FileWindow& file, const std::vector<GgufKey>& keys) {
  constexpr std::string_view name = "general.alignment";
  const auto found = std::ranges::find(keys, name, &GgufKey::name);
  if (found == keys.end()) return 32;
  const auto* const value = std::get_if<std::int64_t>(&found->value);
  if (found->type != GgufType::uint32 || value == nullptr) {
    file.malformed(name, " must be a uint32, got a ", to_string(found->type));
    return 32;
  }
  const auto alignment = static_cast<std::uint64_t>(*value);
  if (std::has_single_bit(alignment) && alignment <= most_alignment) return alignment;
  file.malformed(name, " must be a power of two up to ", most_alignment, ", got ", alignment);
  return 32;
}

// Reads a tensor's extents. Returns its number of elements, or nothing if that exceeds int64.
std::optional<std::int64_t> read_extents(FileWindow& file, std::string_view name) {
  const auto dimensions = file.number<std::uint32_t>();
  if (dimensions > most_dimensions) {
    file.malformed("tensor '", printable(name), "' must have at most 4 dimensions, got ",
                   dimensions);
    return {};
  }
  std::int64_t values = 1;
  bool fits = true;
  for (std::uint32_t i = 0; i < dimensions && !file.failed(); ++i) {
    const auto extent = static_cast<std::int64_t>(file.number<std::uint64_t>());
    if (extent < 0) {
      file.malformed("tensor '", printable(name), "' must have extents >= 0, got ", extent);
      return {};
    }
    fits = fits && !__builtin_mul_overflow(values, extent, &values);
  }
  if (fits) return values;
  file.malformed("tensor '", printable(name), "' must have fewer than 2^63 numbers, got extents ",
                 "whose product is larger");
  return {};
}

void check_rope_tensor(FileWindow& file, const RopeTensor& tensor, std::int32_t type,
                       const std::vector<RopeTensor>& before) {
  if (type != type_f32) {
    file.not_supported("tensor ", tensor.name, " must be of type 0, float32, got ", type);
  } else if (tensor.values < 1 || tensor.values > most_rope_values) {
    file.malformed("tensor ", tensor.name, " must have 1 to ", most_rope_values, " numbers, got ",
                   tensor.values);
  } else if (std::ranges::find(before, tensor.name, &RopeTensor::name) != before.end()) {
    file.malformed("tensor ", tensor.name, " must be there once, got it twice");
  }
}

// Reads an entry of the list of tensors; keeps rope tensors.
void read_tensor(FileWindow& file, std::uint64_t alignment, std::vector<RopeTensor>& kept) {
  const auto name_bytes = file.number<std::uint64_t>();
  if (name_bytes > most_tensor_name_bytes) {
    file.malformed("the name of a tensor must have at most ", most_tensor_name_bytes,
                   " bytes, got ", name_bytes);
    return;
  }
  std::string name = file.text(name_bytes);
  const auto values = read_extents(file, name);
  const auto type = static_cast<std::int32_t>(file.number<std::uint32_t>());
  const auto offset = file.number<std::uint64_t>();
  if (file.failed()) return;
  if (type < 0) {
    file.malformed("tensor '", printable(name), "' must have a type >= 0, got ", type);
  } else if (offset % alignment != 0) {
    file.malformed("tensor '", printable(name), "' must begin at a multiple of ", alignment,
                   ", got offset ", offset);
  } else if (has_word(rope_tensor_names, name)) {
    RopeTensor tensor{.name = std::move(name), .values = *values, .offset = offset};
    check_rope_tensor(file, tensor, type, kept);
    kept.push_back(std::move(tensor));
  }
}

// Reads the numbers of a tensor. start: the start of the tensors' data in the file.
GgufTensor read_values(FileWindow& file, const RopeTensor& tensor, std::uint64_t start) {
  GgufTensor read{.name = tensor.name, .values = {}};
  const std::uint64_t bytes = static_cast<std::uint64_t>(tensor.values) * sizeof(float);
  const std::uint64_t rest = file.position() + file.left() - start;
  if (tensor.offset > rest || bytes > rest - tensor.offset) {
    file.malformed("the file must hold the ", bytes, " bytes of tensor ", tensor.name,
                   " from byte ", start, " + ", tensor.offset, " on, and ends before");
    return read;
  }
  file.move_to(start + tensor.offset);
  read.values.resize(static_cast<std::size_t>(tensor.values));
  for (float& value : read.values) value = std::bit_cast<float>(file.number<std::uint32_t>());
  return read;
}

void read_tensors(FileWindow& file, GgufMetadata& metadata) {
  const std::uint64_t alignment = alignment_of(file, metadata.keys);
  std::vector<RopeTensor> tensors;
  for (std::uint64_t i = 0; i < metadata.tensors && !file.failed(); ++i) {
    read_tensor(file, alignment, tensors);
  }
  if (file.failed() || tensors.empty()) return;
  const std::uint64_t padding = (alignment - file.position() % alignment) % alignment;
  if (padding > file.left()) {
    file.malformed("the file must hold the numbers of tensor ", tensors.front().name,
                   ", and ends after the list of tensors");
    return;
  }
  const std::uint64_t start = file.position() + padding;
  for (const RopeTensor& tensor : tensors) {
    metadata.rope_tensors.push_back(read_values(file, tensor, start));
    if (file.failed()) return;
  }
}

std::size_t copy_bytes(void* context, std::uint64_t offset, std::byte* bytes, std::size_t count) {
  std::memcpy(bytes, static_cast<const std::byte*>(context) + offset, count);
  return count;
}

}  // namespace

std::string_view to_string(GgufType type) noexcept { return name_or_unknown(type); }

ByteSource byte_source(std::span<const std::byte> bytes) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): copy_bytes only reads
  return {.context = const_cast<std::byte*>(bytes.data()),
          .read_at = copy_bytes,
          .size_bytes = bytes.size()};
}

Result<GgufMetadata> read_gguf_metadata(const ByteSource& source) noexcept {
  return guarded<ModesOfTheCaller>([&]() -> Result<GgufMetadata> {
    if (source.read_at == nullptr) return invalid_argument("source.read_at must not be null");
    FileWindow file(source);
    GgufMetadata metadata;
    read_magic(file);
    if (!file.failed()) read_version(file, metadata);
    if (file.failed()) return file.error();
    // The fewest bytes: a tensor has a length, dimensions, a type and an offset; a key has a
    // length, a byte, a type and a byte.
    metadata.tensors = read_count(file, "tensors", most_gguf_tensors, 24);
    const std::uint64_t keys = read_count(file, "keys", most_gguf_keys, 14);
    if (!file.failed()) metadata.keys = read_gguf_keys(file, keys);
    if (!file.failed()) read_tensors(file, metadata);
    if (file.failed()) return file.error();
    return metadata;
  });
}

}  // namespace rotary
