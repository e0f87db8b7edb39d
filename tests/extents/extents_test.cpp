// SPDX-License-Identifier: Apache-2.0
// Calls every public function with sizes of 0 beside sizes that no memory has, and with sizes that
// strides of 0 pretend to have: each call returns at once and touches no memory beyond its views.
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "extents/rows.hpp"

namespace rotary::test {
namespace {

constexpr std::array<std::int64_t, 3> huge = {std::int64_t{1} << 36, std::int64_t{1} << 50,
                                              std::int64_t{1} << 62};

// Processor time for all calls of a row, which take some milliseconds; more where an emulator runs
// them.
constexpr int seconds_of_row = 30;

std::array<char, 512> current;  // the call that is being made

void note(const Row& row, Sizes sizes) {
  std::string text = std::string(row.function) + ", sizes";
  for (const std::int64_t size : sizes) text += " " + std::to_string(size);
  text.resize(std::min(text.size(), current.size() - 2));
  std::memcpy(current.data(), text.c_str(), text.size() + 1);
}

[[noreturn]] void end_the_process(const char* what) {
  for (const char* text : {what, static_cast<const char*>(current.data()), "\n"}) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  _exit(1);
}

void end_by_signal(int signal) {
  end_the_process(signal == SIGVTALRM ? "did not return: " : "touched memory that is not there: ");
}

Rows all_rows() {
  Rows all;
  for (const Rows& rows : {rotation_rows(), cache_rows(), attention_rows(), linear_rows(),
                           absolute_rows(), relative_rows(), spec_rows(), c_rows()})
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

// visit(sizes) for every choice of one of the candidates of each size.
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

// Each size of a row is natural, large or 0.
std::vector<std::vector<std::int64_t>> candidates_of(const Row& row, std::int64_t large,
                                                     Zero zero) {
  std::vector<std::vector<std::int64_t>> candidates;
  for (const Size& size : row.sizes) {
    std::vector<std::int64_t>& of_size = candidates.emplace_back(1, size.natural);
    if (zero == Zero::among_sizes) of_size.push_back(0);
    if (zero == Zero::among_sizes || size.held == Held::repeated) of_size.push_back(large);
  }
  return candidates;
}

// An error has a message.
void make_call(const Row& row, Sizes sizes) {
  note(row, sizes);
  const Status status = row.call(sizes);
  if (!status && status.error().message.empty()) end_the_process("failed without a message: ");
}

// Each row runs in a process of its own, so that a call that never returns does not hide the
// others.
template <class Calls>
void expect_every_row_to_return(const Calls& calls) {
  for (const Row& row : all_rows()) {
    const pid_t child = fork();
    if (child == 0) {
      for (const int signal : {SIGSEGV, SIGBUS, SIGVTALRM}) std::signal(signal, end_by_signal);
      const itimerval limit{.it_interval = {},
                            .it_value = {.tv_sec = seconds_of_row, .tv_usec = 0}};
      setitimer(ITIMER_VIRTUAL, &limit, nullptr);
      for (const std::int64_t large : huge) calls(row, large);
      _exit(0);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << row.function;
  }
}

TEST(Extents, ASizeOf0ReturnsAtOnceWhateverTheOthers) {
  expect_every_row_to_return([](const Row& row, std::int64_t large) {
    for_each_choice(candidates_of(row, large, Zero::among_sizes), [&](Sizes sizes) {
      // Two, where one extent has to be that of another.
      const auto zeros = std::ranges::count(sizes, 0);
      if (zeros == 1 || zeros == 2) make_call(row, sizes);
    });
  });
}

TEST(Extents, SizesThatRepeatOneElementAreDoneOrRefusedAtOnce) {
  expect_every_row_to_return([](const Row& row, std::int64_t large) {
    for_each_choice(candidates_of(row, large, Zero::nowhere), [&](Sizes sizes) {
      if (std::ranges::find(sizes, large) != sizes.end()) make_call(row, sizes);
    });
  });
}

bool names(std::string_view name, std::string_view symbol) {
  const std::size_t star = name.find('*');
  if (star != std::string_view::npos) {
    return symbol.starts_with(name.substr(0, star)) &&
           symbol.find(name.substr(star + 1)) != std::string_view::npos;
  }
  const bool is_begin = name.find('(') != std::string_view::npos || name.ends_with('_');
  return is_begin ? symbol.starts_with(name) : symbol == name;
}

std::vector<std::string> exported_symbols() {
  std::vector<std::string> symbols;
  std::ifstream file(ROTARY_EXPORTED_SYMBOLS);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) symbols.push_back(line);
  }
  return symbols;
}

// A new function must have a row, or be listed as taking no size.
TEST(ExtentsTable, HasARowForEveryExportedFunction) {
  const std::vector<std::string> symbols = exported_symbols();
  ASSERT_FALSE(symbols.empty());
  std::vector<std::string_view> table(functions_without_sizes().begin(),
                                      functions_without_sizes().end());
  const Rows rows = all_rows();
  for (const Row& row : rows) table.push_back(row.function);
  for (const std::string& symbol : symbols) {
    EXPECT_TRUE(std::ranges::any_of(table, [&](std::string_view name) {
      return names(name, symbol);
    })) << symbol;
  }
  for (const Row& row : rows) {
    const auto count = std::ranges::count_if(
        symbols, [&](const std::string& symbol) { return names(row.function, symbol); });
    EXPECT_EQ(count, 1) << row.function;
  }
}

}  // namespace
}  // namespace rotary::test
