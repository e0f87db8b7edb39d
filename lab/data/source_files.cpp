// SPDX-License-Identifier: Apache-2.0
#include "lab/data/source_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "lab/data/gzip.hpp"
#include "lab/data/manual_page.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;

// Whether a link leads to something in the folder.
bool leads_into(const fs::path& folder, const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  const fs::path root = fs::canonical(folder, error);
  return !error && std::ranges::mismatch(root, target).in1 == root.end();
}

std::vector<std::string> files_of(const SourceFiles& source) {
  std::error_code error;
  const fs::file_status status = fs::status(source.path, error);
  if (!fs::exists(status))
    throw Failure(ExitCode::io, fmt::format("{}: no such file or folder", source.path));
  if (!fs::is_directory(status)) return {source.path};
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(
           source.path, fs::directory_options::skip_permission_denied)) {
    if (!entry.is_regular_file() || !entry.path().string().ends_with(source.suffix)) continue;
    if (entry.is_symlink() && leads_into(source.path, entry.path())) continue;
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::string read_words(const std::string& path, std::uint64_t limit_bytes) {
  std::string bytes = cli::read_file(path, limit_bytes);
  if (is_gzip(bytes)) bytes = decompress_gzip(bytes, limit_bytes, path);
  return words_of_manual(bytes);
}

}  // namespace

void read_documents(const SourceFiles& source, std::uint64_t limit_bytes,
                    const TakeDocument& take) {
  const bool is_folder = fs::is_directory(source.path);
  for (const std::string& path : files_of(source)) {
    std::string text = source.format == Format::manual ? read_words(path, limit_bytes)
                                                       : cli::read_file(path, limit_bytes);
    if (text.empty() || text.find('\0') != std::string::npos) continue;
    const fs::path within =
        is_folder ? fs::path(path).lexically_relative(source.path) : fs::path(path).filename();
    limit_bytes = take(within.string(), std::move(text));
  }
}

}  // namespace rotary::lab
