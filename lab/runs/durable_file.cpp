// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/durable_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "apps/failure.hpp"

namespace rotary::lab {
namespace {

void write_with_flags(const std::string& path, std::string_view bytes, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
  if (file < 0) fail_errno(path, "open");
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  ::close(file);
  errno = error;
  if (error != 0) fail_errno(path, "write");
}

}  // namespace

void fail_errno(const std::string& path, std::string_view verb) {
  throw cli::Failure(cli::ExitCode::io, fmt::format("{}: cannot {} it: {}", path, verb,
                                                    std::generic_category().message(errno)));
}

void append_to(const std::string& path, std::string_view bytes) {
  write_with_flags(path, bytes, O_APPEND);
}

void flush_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(path, "open");
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  errno = error;
  if (error != 0) fail_errno(path, "write");
}

void rename_durably(const std::string& from, const std::string& to) {
  flush_to_disk(from);
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_errno(to, "write");
  flush_to_disk(std::filesystem::path(to).parent_path().string());
}

void write_durably(const std::string& path, std::string_view bytes) {
  const std::string pending = path + ".new";
  write_with_flags(pending, bytes, O_TRUNC);
  rename_durably(pending, path);
}

}  // namespace rotary::lab
