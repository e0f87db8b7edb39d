// SPDX-License-Identifier: Apache-2.0
// Calls every public function with sizes of 0 beside impossibly large sizes, and with large sizes
// that a stride of 0 allows. Each call returns at once and touches no memory beyond its views.
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string>
#include <vector>

#include "public_calls/call.hpp"
#include "support/counted_new.hpp"

namespace rotary::test {
namespace {

constexpr std::array<std::int64_t, 3> huge = {std::int64_t{1} << 36, std::int64_t{1} << 50,
                                              std::int64_t{1} << 62};

// Limits a call's processor time for all its sizes: normally milliseconds, more in an emulator.
constexpr int seconds_of_call = 30;

// Larger allocations fail, as on a machine with little memory.
constexpr std::size_t most_bytes = std::size_t{1} << 26;

std::string current_name;
Sizes current_sizes;

void write_error(std::string_view text) {
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

[[noreturn]] void end_the_process(std::string_view what) {
  write_error(what);
  write_error(current_name);
  for (const std::int64_t size : current_sizes) {
    std::array<char, 21> digits{' '};
    const auto end = std::to_chars(digits.data() + 1, digits.data() + digits.size(), size).ptr;
    write_error({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  write_error("\n");
  _exit(1);
}

void end_by_signal(int signal) {
  end_the_process(signal == SIGVTALRM ? "did not return: " : "touched memory beyond its views: ");
}

// Calls visit(sizes) for every combination of candidates.
template <class Visit>
void for_each_choice(const std::vector<std::vector<std::int64_t>>& candidates, const Visit& visit) {
  std::vector<std::size_t> choice(candidates.size(), 0);
  std::vector<std::int64_t> sizes(candidates.size());
  for (;;) {
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = candidates[i][choice[i]];
    visit(Sizes(sizes));
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == candidates[i].size()) choice[i++] = 0;
    if (i == choice.size()) return;
  }
}

enum class Zero { among_sizes, nowhere };

// For each size of a call: its natural value, and `large` and 0 where they are allowed.
std::vector<std::vector<std::int64_t>> candidates_of(const Call& call, std::int64_t large,
                                                     Zero zero) {
  std::vector<std::vector<std::int64_t>> candidates;
  for (const Size& size : call.sizes) {
    std::vector<std::int64_t>& of_size = candidates.emplace_back(1, size.natural);
    if (size.held == Held::fixed) continue;
    if (zero == Zero::among_sizes) of_size.push_back(0);
    if (zero == Zero::among_sizes || size.held == Held::repeated) of_size.push_back(large);
  }
  return candidates;
}

// noexcept: if the call throws, the process ends. outcome_of() throws for an error without a
// message.
void make_call(const Call& call, Sizes sizes) noexcept {
  current_sizes = sizes;
  Attempt plain;
  begin_operands();
  static_cast<void>(call.make(plain, sizes));
}

// Each call has a separate process, so that a call that never returns does not hide the others.
template <class MakeWith>
void expect_every_call_to_return(const MakeWith& make_with) {
  for (const Call& call : core_calls()) {
    if (call.sizes.empty()) continue;
    const pid_t child = fork();
    if (child == 0) {
      for (const int signal : {SIGSEGV, SIGBUS, SIGVTALRM}) std::signal(signal, end_by_signal);
      const itimerval limit{.it_interval = {},
                            .it_value = {.tv_sec = seconds_of_call, .tv_usec = 0}};
      setitimer(ITIMER_VIRTUAL, &limit, nullptr);
      current_name = call.name() + ", sizes";
      refuse_more_than(most_bytes);
      for (const std::int64_t large : huge) make_with(call, large);
      _exit(0);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << call.name();
  }
}

TEST(Extents, CallsWithASizeOf0ReturnAtOnce) {
  expect_every_call_to_return([](const Call& call, std::int64_t large) {
    for_each_choice(candidates_of(call, large, Zero::among_sizes), [&](Sizes sizes) {
      // Tries one zero and two, because some functions need two equal extents.
      const auto zeros = std::ranges::count(sizes, 0);
      if (zeros == 1 || zeros == 2) make_call(call, sizes);
    });
  });
}

TEST(Extents, CallsOfRepeatedElementsReturnAtOnce) {
  expect_every_call_to_return([](const Call& call, std::int64_t large) {
    for_each_choice(candidates_of(call, large, Zero::nowhere), [&](Sizes sizes) {
      if (std::ranges::find(sizes, large) != sizes.end()) make_call(call, sizes);
    });
  });
}

// Without such rotations, calls with huge tensors would fail before they look at a tensor.
TEST(Extents, RotationsExistForAnyNumberOfTokens) {
  for (const std::int64_t large : huge) {
    begin_operands();
    EXPECT_TRUE(rotations_for(large).has_value()) << large;
  }
}

}  // namespace
}  // namespace rotary::test
