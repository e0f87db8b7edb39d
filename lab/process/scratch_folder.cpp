// SPDX-License-Identifier: Apache-2.0
#include "lab/process/scratch_folder.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/failure.hpp"
#include "cli/files.hpp"

namespace rotary::lab {

ScratchFolder::ScratchFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "rotary-lab-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    throw cli::Failure(cli::ExitCode::io, fmt::format("{}: cannot make it", path));
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(std::string_view name, std::string bytes) const {
  const std::array files = {cli::OutputFile{.path = *this / name, .bytes = std::move(bytes)}};
  cli::write_files(files, cli::Overwrite::allow);
  return *this / name;
}

}  // namespace rotary::lab
