// SPDX-License-Identifier: Apache-2.0
#include "lab/process/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rotary::lab {
namespace {

// Between fork and exec: nothing but system calls.
[[noreturn]] void become(char* const* arguments, const char* folder, int output) {
  if (chdir(folder) != 0) _exit(127);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  (void)dup2(nothing, STDIN_FILENO);
  (void)dup2(nothing, STDERR_FILENO);
  (void)dup2(output, STDOUT_FILENO);
  execvp(arguments[0], arguments);
  _exit(127);
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer = {};
  while (true) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::optional<std::string> output_of(std::vector<std::string> command, const std::string& folder) {
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  std::array<int, 2> pipe_ends = {};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) become(arguments.data(), folder.empty() ? "." : folder.c_str(), pipe_ends[1]);
  close(pipe_ends[1]);
  std::string text = child > 0 ? read_all(pipe_ends[0]) : std::string();
  close(pipe_ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return std::nullopt;
}

}  // namespace rotary::lab
