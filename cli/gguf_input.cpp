// SPDX-License-Identifier: Apache-2.0
#include "cli/gguf_input.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/json.hpp"

namespace rotary::cli {
namespace {

std::size_t read_at(void* context, std::uint64_t offset, std::byte* bytes, std::size_t count) {
  return static_cast<InputFile*>(context)->read_at(offset, {bytes, count});
}

}  // namespace

std::optional<GgufMetadata> read_gguf_file(const std::string& path) {
  InputFile file(path);
  const auto size = file.size();
  std::array<std::byte, 4> begin{};
  if (!size || file.read_at(0, begin) != begin.size()) return {};
  if (!is_gguf({reinterpret_cast<const char*>(begin.data()), begin.size()})) return {};
  return value_or_fail(
      read_gguf_metadata({.context = &file, .read_at = read_at, .size_bytes = *size}),
      input_name(path));
}

GgufMetadata gguf_of_bytes(std::string_view bytes, const std::string& path) {
  const auto source = byte_source(std::as_bytes(std::span(bytes)));
  return value_or_fail(read_gguf_metadata(source), input_name(path));
}

ConfigFile gguf_config(GgufMetadata metadata) {
  constexpr std::array names = {std::pair("hidden_size", ".embedding_length"),
                                std::pair("num_attention_heads", ".attention.head_count"),
                                std::pair("num_key_value_heads", ".attention.head_count_kv")};
  Json sizes = Json::object();
  for (const auto& [name, ending] : names) {
    // A file has keys of one architecture only.
    const auto key = std::ranges::find_if(
        metadata.keys, [end = ending](const GgufKey& each) { return each.name.ends_with(end); });
    if (key == metadata.keys.end()) continue;
    if (const auto* const size = std::get_if<std::int64_t>(&key->value)) sizes[name] = *size;
  }
  return {.json = sizes.dump(), .gguf = std::move(metadata)};
}

}  // namespace rotary::cli
