// SPDX-License-Identifier: Apache-2.0
// The instruction set is chosen at first use, so every try is a process of its own: several threads
// use the library for the first time while one forces a set. Whoever comes first, afterwards the
// forced one is in use. This binary uses the library only in those processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "rotary/instruction_set.hpp"

namespace {

constexpr int tries = 400;

enum ExitCode { as_forced, first_use_failed, force_failed, another_is_in_use };

// Threads that wait for each other before they begin.
class StartingLine {
 public:
  explicit StartingLine(int threads) : missing_(threads) {}
  void wait() {
    --missing_;
    while (missing_ > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> missing_;
};

ExitCode force_during_first_use() {
  constexpr int users = 3;
  StartingLine line(users + 1);
  std::atomic<bool> used = true;
  std::vector<std::thread> threads;
  for (int user = 0; user < users; ++user) {
    threads.emplace_back([&] {
      line.wait();
      if (!rotary::instruction_set()) used = false;
    });
  }
  line.wait();
  const std::string_view wanted = rotary::supported_instruction_sets().back();
  const auto forced = rotary::force_instruction_set(wanted);
  for (std::thread& thread : threads) thread.join();
  if (!used) return first_use_failed;
  if (!forced) return force_failed;
  return *rotary::instruction_set() == wanted ? as_forced : another_is_in_use;
}

TEST(FirstUse, DoesNotUndoAForcedInstructionSet) {
  for (int i = 0; i < tries; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(force_during_first_use());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), as_forced) << "try " << i;
  }
}

}  // namespace
