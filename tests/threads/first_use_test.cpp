// SPDX-License-Identifier: Apache-2.0
// The instruction set is chosen at first use, so every try is a new process. Several threads use
// the library for the first time while one thread forces a set; afterwards that set is in use. This
// binary uses the library only in those processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "rotary/instruction_set.hpp"

namespace {

constexpr int tries = 400;

enum ExitCode { as_forced, first_use_failed, force_failed, another_is_in_use };

// Makes threads wait until all are ready.
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

// Forks while another thread uses the library for the first time. Returns whether the child can use
// it, too. `turns` delays the fork.
bool works_in_a_child_of_first_use(int turns) {
  std::atomic<bool> begun = false;
  std::thread user([&] {
    begun = true;
    static_cast<void>(rotary::supported_instruction_sets());
    static_cast<void>(rotary::instruction_set());
  });
  while (!begun) continue;
  std::atomic<int> turned = 0;
  while (turned < turns) ++turned;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(rotary::instruction_set() && !rotary::supported_instruction_sets().empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  user.join();
  return status == 0;
}

#if defined(__SANITIZE_THREAD__)
constexpr bool may_leave_threads_behind = false;  // ThreadSanitizer reports them as leaks
#else
constexpr bool may_leave_threads_behind = true;
#endif

TEST(FirstUse, AForkedChildNeverHangs) {
  if (!may_leave_threads_behind) GTEST_SKIP() << "ThreadSanitizer reports the thread as a leak";
  for (int i = 0; i < tries; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(works_in_a_child_of_first_use(i % 100 * 10) ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "try " << i;
  }
}

}  // namespace
