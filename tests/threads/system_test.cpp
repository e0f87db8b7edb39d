// SPDX-License-Identifier: Apache-2.0
// The system resources of rotary::Threads: threads end, concurrency 0 follows the affinity mask,
// and idle threads take no processor time.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rotary/threads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using std::chrono::milliseconds;

// The rest of the first line that begins with key, or "".
std::string line_after(const std::filesystem::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key, 0) == 0) return line.substr(key.size());
  }
  return "";
}

// Counts the context switches of each thread named "rotary", as debuggers and `top -H` name it.
// While a thread sleeps, its counts do not change.
std::vector<std::string> switches_of_threads_named_rotary() {
  std::vector<std::string> switches;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto status = task.path() / "status";
    if (line_after(status, "Name:\t") != "rotary") continue;
    switches.push_back(line_after(status, "voluntary_ctxt_switches:") + " " +
                       line_after(status, "nonvoluntary_ctxt_switches:"));
  }
  return switches;
}

std::size_t threads_named_rotary() { return switches_of_threads_named_rotary().size(); }

// A thread sets its name after its start, and is still listed for a moment after it was joined.
bool become_threads_named_rotary(std::size_t wanted) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (threads_named_rotary() == wanted) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(System, ThreadsAreNamedAndEnd) {
  EXPECT_EQ(threads_named_rotary(), 0U);
  {
    const Threads threads = test::value_of(Threads::start(4));
    EXPECT_TRUE(become_threads_named_rotary(3));
  }
  EXPECT_TRUE(become_threads_named_rotary(0));
}

TEST(System, ConcurrencyOf0CountsTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(test::value_of(Threads::start(0)).executor().concurrency, CPU_COUNT(&before));

  int first = 0;
  while (CPU_ISSET(first, &before) == 0) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  auto threads = Threads::start(0);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(test::value_of(std::move(threads)).executor().concurrency, 1);
}

// Tries several times, since on a busy machine threads may fall asleep late.
bool fall_asleep() {
  for (int tries = 0; tries < 20; ++tries) {
    const auto before = switches_of_threads_named_rotary();
    std::this_thread::sleep_for(milliseconds(100));
    if (switches_of_threads_named_rotary() == before) return true;
  }
  return false;
}

// Seven spinning threads would use all processors and switch constantly. The time limit leaves room
// for the process's other work.
TEST(System, ThreadsWithoutWorkSleep) {
  const Threads threads = test::value_of(Threads::start(8));
  ASSERT_TRUE(become_threads_named_rotary(7));
  const Executor executor = threads.executor();
  executor.run(
      executor.context, 100, [](void*, std::int64_t) {}, nullptr);
  EXPECT_TRUE(fall_asleep());
  const double before = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(250));
  EXPECT_LT(cpu_seconds() - before, 0.1);
}

}  // namespace
}  // namespace rotary
