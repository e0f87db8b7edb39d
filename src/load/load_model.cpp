// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
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

// Uses C files: C++ streams would add half a megabyte of locales to the Python module.
std::size_t read_at(void* context, std::uint64_t offset, std::byte* bytes, std::size_t count) {
  auto* const file = static_cast<std::FILE*>(context);
  const bool is_there = std::fseek(file, static_cast<long>(offset), SEEK_SET) == 0;
  return is_there ? std::fread(bytes, 1, count, file) : 0;
}

bool is_gguf(std::FILE* file) {
  std::array<std::byte, 4> begin;
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  return read_at(file, 0, begin.data(), begin.size()) == begin.size() &&
         (text == "GGUF" || text == "FUGG");
}

Result<ModelSpec> load_gguf(std::FILE* file, std::uint64_t size_bytes,
                            const ResolveOptions& options) {
  if (options.pairing || options.part != ModelPart::text) {
    return invalid_argument("pairing and part must be left out for a GGUF file");
  }
  return resolve_gguf({.context = file, .read_at = read_at, .size_bytes = size_bytes},
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
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        std::fopen(found.string().c_str(), "rb"), std::fclose);
    if (!file) return unreadable(found, std::strerror(errno));
    if (is_gguf(file.get())) return load_gguf(file.get(), size_bytes, options);
    std::string text(std::min<std::uint64_t>(size_bytes, max_config_bytes + 1), '\0');
    text.resize(read_at(file.get(), 0, reinterpret_cast<std::byte*>(text.data()), text.size()));
    return resolve(text, options);
  });
}

}  // namespace rotary
