// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/json/config_json.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {
namespace {

std::size_t read_at(void* context, std::uint64_t offset, std::byte* bytes, std::size_t count) {
  auto& file = *static_cast<std::ifstream*>(context);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(bytes), static_cast<std::streamsize>(count));
  return static_cast<std::size_t>(file.gcount());
}

bool is_gguf(std::ifstream& file) {
  std::array<std::byte, 4> begin;
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  return read_at(&file, 0, begin.data(), begin.size()) == begin.size() &&
         (text == "GGUF" || text == "FUGG");
}

Result<ModelSpec> load_gguf(std::ifstream& file, std::uint64_t size_bytes,
                            const ResolveOptions& options) {
  if (options.pairing || options.part != ModelPart::text) {
    return invalid_argument("pairing and part must be left out for a GGUF file");
  }
  return resolve_gguf({.context = &file, .read_at = read_at, .size_bytes = size_bytes},
                      {.context_tokens = options.context_tokens,
                       .numerics = options.numerics,
                       .overrides = options.overrides});
}

Error unreadable(const std::filesystem::path& path, std::string_view reason) {
  return invalid_argument(
      "path must be a config.json, a GGUF file or a folder with a config.json, "
      "got ",
      path.string(), ": ", reason);
}

}  // namespace

Result<ModelSpec> load_model(const std::string& path, const ResolveOptions& options) noexcept {
  return guarded([&]() -> Result<ModelSpec> {
    std::filesystem::path found(path);
    std::error_code failed;
    if (std::filesystem::is_directory(found, failed)) found /= "config.json";
    const std::uint64_t size_bytes = std::filesystem::file_size(found, failed);
    if (failed) return unreadable(found, failed.message());
    errno = 0;
    std::ifstream file(found, std::ios::binary);
    if (!file) return unreadable(found, std::strerror(errno));
    if (is_gguf(file)) return load_gguf(file, size_bytes, options);
    std::string text(std::min<std::uint64_t>(size_bytes, max_config_bytes + 1), '\0');
    text.resize(read_at(&file, 0, reinterpret_cast<std::byte*>(text.data()), text.size()));
    return resolve(text, options);
  });
}

}  // namespace rotary
