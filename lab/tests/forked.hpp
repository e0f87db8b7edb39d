// SPDX-License-Identifier: Apache-2.0
// Processes of a test: forked, each with a task of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

#include "cli/failure.hpp"
#include "lab/process/rank_environment.hpp"
#include "lab/torch/ranks.hpp"

namespace rotary::lab {

// The exit code is that of the task, or of the failure that it throws.
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

// The exit code, or minus the signal that ended it.
inline int end_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return -1000;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// The exit of each of `size` ranks.
inline std::vector<int> run_ranks(int size, const std::function<int(Ranks&)>& task) {
  static auto port = static_cast<std::uint16_t>(20000 + getpid() % 20000);
  ++port;
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
