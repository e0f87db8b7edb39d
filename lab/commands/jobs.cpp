// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/jobs.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/failure.hpp"
#include "lab/commands/print.hpp"
#include "lab/process/interruption.hpp"
#include "lab/process/rank_environment.hpp"
#include "lab/torch/ranks.hpp"

namespace rotary::lab {
namespace {

// This program once more, with these variables, for as long as this process lives.
pid_t start(std::vector<std::string> variables) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.emplace_back("--jobs=1");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw cli::Failure(cli::ExitCode::io, "cannot start a process");
  if (child > 0) return child;
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(interrupted_exit_code);
  for (std::string& variable : variables) putenv(variable.data());
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

// How the processes ended, together.
class Ends {
 public:
  void add(int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : interrupted_exit_code;
    if (WIFSIGNALED(status)) print_note("a process was ended by signal {}\n", WTERMSIG(status));
    one_finished_ = one_finished_ || code == 0;
    if (code != 0 && code != interrupted_exit_code && first_failure_ == 0) first_failure_ = code;
  }

  // A process that ends with 0 has seen every cell finished, so processes that a signal stopped do
  // not matter then.
  [[nodiscard]] int exit_code() const {
    if (interrupted()) return interrupted_exit_code;
    if (first_failure_ != 0) return first_failure_;
    return static_cast<int>(one_finished_ ? cli::ExitCode::ok : cli::ExitCode::io);
  }

 private:
  bool one_finished_ = false;
  int first_failure_ = 0;
};

}  // namespace

int run_jobs(const RunArguments& arguments) {
  std::optional<RankStore> store;
  if (arguments.data_parallel) store.emplace();
  const std::uint16_t port = store ? store->port() : 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < arguments.jobs; ++rank)
    children.push_back(start(environment_of_rank(rank, arguments.jobs, port)));
  // Only now: between fork and exec a child would take a signal as this process does.
  watch_interruption();
  Ends ends;
  bool asked = false;
  while (!children.empty()) {
    if (interrupted() && !asked) {
      asked = true;
      for (const pid_t child : children) (void)kill(child, SIGTERM);
    }
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (std::erase(children, ended) > 0) {
      ends.add(status);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  return ends.exit_code();
}

}  // namespace rotary::lab
