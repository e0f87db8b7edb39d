// SPDX-License-Identifier: Apache-2.0
#include "apps/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <list>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/partial_file.hpp"

namespace rotary::cli {
namespace {

namespace fs = std::filesystem;

template <class... Values>
[[noreturn]] void fail_io(std::string_view name, fmt::format_string<Values...> what,
                          Values&&... values) {
  fail(ExitCode::io, "{}: {}", name, fmt::format(what, std::forward<Values>(values)...));
}

[[noreturn]] void fail_errno(std::string_view name, std::string_view verb) {
  fail_io(name, "cannot {} it: {}", verb, std::generic_category().message(errno));
}

// Names of files by device and inode, which are the same for all paths to a file.
using FileNames = std::map<std::pair<::dev_t, ::ino_t>, std::string>;

// Opened inputs and existing outputs of the process.
struct FilesInUse {
  FileNames inputs, outputs;
};

// Records the file's role. Refuses a regular file that is both input and output.
void take_into_use(FileNames FilesInUse::*role, const struct ::stat& file,
                   const std::string& name) {
  static FilesInUse in_use;
  if (!S_ISREG(file.st_mode)) return;
  const std::pair key(file.st_dev, file.st_ino);
  (in_use.*role).emplace(key, name);
  const auto input = in_use.inputs.find(key);
  const auto output = in_use.outputs.find(key);
  if (input == in_use.inputs.end() || output == in_use.outputs.end()) return;
  fail_usage("an output must not be an input, got '{}', which is the file of the input '{}'",
             output->second, input->second);
}

// Accepts regular files and pipes of a shell. Other files may block or be endless.
void check_kind(std::string_view path, ::mode_t mode) {
  // A shell gives a pipe such a path, as for `<(...)`.
  const bool is_of_shell =
      path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
  if (S_ISREG(mode) || (S_ISFIFO(mode) && is_of_shell)) return;
  const std::string_view kind = S_ISDIR(mode)    ? "a folder"
                                : S_ISFIFO(mode) ? "a named pipe"
                                : S_ISSOCK(mode) ? "a socket"
                                                 : "a device";
  fail_io(path, "must be a regular file, got {}", kind);
}

// Opens without waiting for a pipe's writer.
int open_input(const std::string& path) {
  if (path == "-") return STDIN_FILENO;
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (number >= 0) return number;
  const int error = errno;
  struct ::stat status {};
  if (::stat(path.c_str(), &status) == 0) check_kind(path, status.st_mode);  // for sockets
  errno = error;
  fail_errno(path, "open");
}

// Follows a symbolic link, so that its target is replaced and the link stays.
fs::path target_of(const std::string& path) {
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::symlink) return path;
  fs::path target = fs::canonical(path, error);
  if (error) fail_io(path, "cannot follow the link: {}", error.message());
  return target;
}

void check_output(const std::string& path, Overwrite overwrite) {
  require(path != "-", "an output must be a file, '-' is only for inputs");
  std::error_code error;
  const fs::file_status status = fs::status(target_of(path), error);
  if (status.type() == fs::file_type::not_found) return;
  if (error) fail_io(path, "cannot look at it: {}", error.message());
  if (!fs::is_regular_file(status)) fail_io(path, "an output must be a regular file");
  if (overwrite == Overwrite::refuse)
    fail_io(path, "exists; choose another name, or pass --force to replace it");
  if (const auto links = fs::hard_link_count(target_of(path), error); !error && links > 1) {
    fail_io(path,
            "is one of {} hard links to a file, and the others would keep the old bytes; "
            "choose another name, or remove this one first",
            links);
  }
}

// Renames all files. On failure restores the replaced files, if the file system can.
void take_places(std::list<PartialFile>& files) {
  auto next = files.begin();
  try {
    for (; next != files.end(); ++next) next->take_place();
  } catch (const Failure& failure) {
    std::string replaced;
    while (next != files.begin()) {
      --next;
      if (!next->give_back()) replaced += fmt::format("; {} is already replaced", next->target());
    }
    throw Failure(failure.exit_code(), failure.what() + replaced);
  }
}

}  // namespace

std::string_view input_name(std::string_view path) noexcept {
  return path == "-" ? "standard input" : path;
}

void check_standard_input(std::initializer_list<std::optional<std::string>> inputs) {
  require(std::ranges::count(inputs, std::optional<std::string>("-")) <= 1,
          "only one input can be '-', standard input");
}

InputFile::InputFile(const std::string& path)
    : name_(input_name(path)), descriptor_(open_input(path)) {
  struct ::stat status {};
  if (::fstat(descriptor_.number(), &status) != 0) fail_errno(name_, "open");
  take_into_use(&FilesInUse::inputs, status, name_);
  if (path == "-") return;
  check_kind(path, status.st_mode);
  if (S_ISFIFO(status.st_mode)) ::fcntl(descriptor_.number(), F_SETFL, 0);
}

std::size_t InputFile::read(std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto rest = bytes.subspan(filled);
    const ssize_t count = ::read(descriptor_.number(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(name_, "read");
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

std::size_t InputFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto rest = bytes.subspan(filled);
    const auto at = static_cast<off_t>(offset + filled);
    const ssize_t count = ::pread(descriptor_.number(), rest.data(), rest.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

std::optional<std::uint64_t> InputFile::size() const {
  struct ::stat status {};
  if (::fstat(descriptor_.number(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::uint64_t> InputFile::bytes_left() const {
  const auto whole = size();
  const off_t at = ::lseek(descriptor_.number(), 0, SEEK_CUR);
  if (!whole || at < 0) return {};
  return *whole - std::min(*whole, static_cast<std::uint64_t>(at));
}

std::string read_file(const std::string& path, std::uint64_t limit_bytes) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
  InputFile file(path);
  const auto check = [&](std::uint64_t size) {
    if (size <= limit_bytes) return;
    fail_io(input_name(path), "must have at most {} bytes here", limit_bytes);
  };
  check(file.bytes_left().value_or(0));
  std::string bytes;
  while (true) {
    const std::size_t old_size = bytes.size();
    bytes.resize(old_size + chunk_bytes);
    const auto room = std::as_writable_bytes(std::span(bytes)).subspan(old_size);
    const std::size_t count = file.read(room);
    bytes.resize(old_size + count);
    check(bytes.size());
    if (count < room.size()) return bytes;
  }
}

void check_outputs(std::span<const std::string> paths, Overwrite overwrite) {
  std::set<fs::path> targets;
  for (const std::string& path : paths) {
    check_output(path, overwrite);
    require(targets.insert(target_of(path).lexically_normal()).second,
            "outputs must be different files, got '{}' twice", path);
    struct ::stat status {};
    if (::stat(path.c_str(), &status) == 0) take_into_use(&FilesInUse::outputs, status, path);
  }
}

void write_files(std::span<const StreamedFile> files, Overwrite overwrite) {
  const RemovalBySignals removal;
  std::list<PartialFile> partial;
  for (const StreamedFile& file : files) {
    PartialFile& output = partial.emplace_back(target_of(file.path).string());
    file.fill([&output](std::string_view bytes) { output.write(bytes); });
    if (file.check) file.check(output.name());
    output.finish();
  }
  const SignalsBlocked blocked;
  for (const StreamedFile& file : files) check_output(file.path, overwrite);
  take_places(partial);
}

}  // namespace rotary::cli
