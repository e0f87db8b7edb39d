// SPDX-License-Identifier: Apache-2.0
#include "lab/process/children.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/failure.hpp"

namespace rotary::lab {
namespace {

constexpr int pause_ms = 250;

[[noreturn]] void fail_system(std::string_view verb, int error) {
  throw cli::Failure(cli::ExitCode::io, fmt::format("cannot {} a process: {}", verb,
                                                    std::generic_category().message(error)));
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  return pointers;
}

// The program itself, with its standard error in this descriptor.
int spawn(std::vector<std::string> arguments, std::vector<std::string> variables, int output) {
  std::vector<char*> argument_list = pointers_to(arguments);
  argument_list.push_back(nullptr);
  std::vector<char*> environment = pointers_to(variables);
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int error = posix_spawn(&process, "/proc/self/exe", &actions, &attributes,
                                argument_list.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail_system("start", error);
  return process;
}

ChildEnd wait_for(int process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

}  // namespace

Children::~Children() {
  // Some are left where watch() failed, or was not reached.
  send(SIGTERM);
  for (const Child& child : children_)
    if (child.output >= 0) ::close(child.output);
}

void Children::start(const std::vector<std::string>& variables) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_system("start", errno);
  Child child{.output = ends[0]};
  try {
    child.process = spawn(own_arguments(), variables, ends[1]);
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
  children_.push_back(child);
}

void Children::send(int signal) const {
  for (const Child& child : children_)
    if (child.output >= 0) (void)::kill(child.process, signal);
}

void Children::read_output(int number, const Watcher& watcher) {
  Child& child = children_[static_cast<std::size_t>(number)];
  std::array<char, 4096> bytes = {};
  const ssize_t count = ::read(child.output, bytes.data(), bytes.size());
  if (count < 0 && errno == EINTR) return;
  for (const char byte :
       std::string_view(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)))) {
    if (byte != '\n') {
      child.line += byte;
      continue;
    }
    watcher.on_line(number, child.line);
    child.line.clear();
  }
  if (count > 0) return;
  // Its end: nothing else holds the other side of the pipe.
  ::close(child.output);
  child.output = -1;
  if (!child.line.empty()) watcher.on_line(number, child.line);
  watcher.on_end(number, wait_for(child.process));
}

void Children::watch(const Watcher& watcher) {
  bool asked = false;
  while (std::ranges::any_of(children_, [](const Child& child) { return child.output >= 0; })) {
    std::vector<pollfd> outputs;
    for (const Child& child : children_)
      outputs.push_back({.fd = child.output, .events = POLLIN, .revents = 0});
    const int ready = ::poll(outputs.data(), outputs.size(), pause_ms);
    for (std::size_t n = 0; ready > 0 && n < outputs.size(); ++n)
      if (outputs[n].revents != 0) read_output(static_cast<int>(n), watcher);
    if (watcher.stops() && !asked) {
      asked = true;
      send(SIGTERM);
    }
  }
}

void end_with(int parent_process) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent_process) (void)std::raise(SIGTERM);
}

}  // namespace rotary::lab
