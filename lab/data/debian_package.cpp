// SPDX-License-Identifier: Apache-2.0
#include "lab/data/debian_package.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/failure.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;

// Debian Policy, 5.6.1; nothing that a shell or an option could be.
bool is_package_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  return name.size() >= 2 && name.front() != '-' && name.front() != '.' && name.front() != '+' &&
         std::ranges::all_of(name, is_plain);
}

void call(const std::string& folder, std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder.c_str()) == 0) execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child;
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Failure(ExitCode::io, fmt::format("{} {} failed", command[0], command[1]));
}

}  // namespace

UnpackedPackage::UnpackedPackage(const std::string& name) {
  if (!is_package_name(name)) {
    throw Failure(ExitCode::usage, fmt::format("deb: takes the name of a package, got '{}'", name));
  }
  std::string folder = (fs::temp_directory_path() / "rotary-lab-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    throw Failure(ExitCode::io, fmt::format("{}: cannot make it", folder));
  folder_ = folder;
  try {
    call(folder_, {"apt-get", "download", "--quiet", name});
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == ".deb") archive_ = entry.path().filename().string();
    }
    call(folder_, {"dpkg-deb", "--extract", "./" + archive_, "."});
    fs::remove(fs::path(folder_) / archive_);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
}

UnpackedPackage::~UnpackedPackage() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace rotary::lab
