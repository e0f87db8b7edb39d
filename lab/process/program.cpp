// SPDX-License-Identifier: Apache-2.0

#include "lab/process/program.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"

namespace rotary::lab {

namespace {

std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::optional<std::string> output_of(const std::vector<std::string>& command) {
  std::string line = "exec";
  for (const std::string& word : command) line += " " + shell_word(word);
  std::FILE* const pipe = ::popen((line + " 2>/dev/null </dev/null").c_str(), "re");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer = {};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), got);
  return ::pclose(pipe) == 0 ? std::optional(std::move(text)) : std::nullopt;
}

ScratchFolder::ScratchFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "rotary-lab-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    throw cli::Failure(cli::ExitCode::io, fmt::format("{}: cannot make it", path));
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(std::string_view name, std::string bytes) const {
  const std::array files = {cli::StreamedFile{
      .path = *this / name, .fill = [&bytes](const cli::Write& write) { write(bytes); }}};
  cli::write_files(files, cli::Overwrite::allow);
  return *this / name;
}

}  // namespace rotary::lab
