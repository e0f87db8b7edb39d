// SPDX-License-Identifier: Apache-2.0
// Forks processes for a test, each with its own task.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

#include "apps/failure.hpp"
#include "lab/process/rank_environment.hpp"
#include "lab/torch/ranks.hpp"

namespace rotary::lab {

// The child exits with the task's code, or with the code of the task's failure.
inline pid_t fork_with(const std::function<int()>& task) {
  const pid_t process = fork();
  if (process != 0) return process;
  int code = 1;
  try {
    code = task();
  } catch (const cli::Failure& failure) {
    code = static_cast<int>(failure.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  _exit(code);
}

// The process's exit code, or minus the signal that ended it.
inline int end_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return -1000;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// A fixed port might be in use; the ranks would then wait there for a store.
inline std::uint16_t free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const of = reinterpret_cast<sockaddr*>(&address);
  const bool is_found =
      listener >= 0 && bind(listener, of, size) == 0 && getsockname(listener, of, &size) == 0;
  if (listener >= 0) close(listener);
  return is_found ? ntohs(address.sin_port) : 0;
}

// Runs a task in `size` ranks; returns how each ended.
inline std::vector<int> run_ranks(int size, const std::function<int(Ranks&)>& task) {
  const std::uint16_t port = free_port();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < size; ++rank) {
    processes.push_back(fork_with([&] {
      Ranks ranks({.rank = rank,
                   .size = size,
                   .host = "127.0.0.1",
                   .port = port,
                   .hosts_store = rank == 0});
      return task(ranks);
    }));
  }
  std::vector<int> ends;
  for (const pid_t process : processes) ends.push_back(end_of(process));
  return ends;
}

}  // namespace rotary::lab
