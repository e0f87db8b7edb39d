// SPDX-License-Identifier: Apache-2.0
#include "out_of_memory/attempt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>

namespace rotary::test {
namespace {

using Bytes = std::vector<std::byte>;

// What terminate() says: a call that ends the process shows no other trace of which one it was.
std::array<char, 200> current{};

void say_which_call_ended() {
  std::fprintf(stderr, "the process was ended by %s\n", current.data());
  std::abort();
}

Bytes copy_of(std::span<std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<Bytes> copies_of(const std::vector<std::span<std::byte>>& outputs) {
  std::vector<Bytes> copies;
  for (const auto& output : outputs) copies.push_back(copy_of(output));
  return copies;
}

void restore(const std::vector<std::span<std::byte>>& outputs, const std::vector<Bytes>& from) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::copy(from[i].begin(), from[i].end(), outputs[i].begin());
  }
}

// Far more than any call here makes: a call that never goes through fails the test.
constexpr std::size_t most_allocations = 100'000;

void expect_out_of_memory(const Case& each, Failing which, Outcome otherwise) {
  const std::vector<Bytes> before = copies_of(each.outputs);
  for (std::size_t index = 0; index < most_allocations; ++index) {
    Attempt attempt(index, which);
    const std::int64_t live = live_allocations();
    const Outcome outcome = each.call(attempt);
    ASSERT_EQ(live_allocations(), live) << "leaked where allocation " << index << " fails";
    if (!attempt.has_failed()) {
      EXPECT_EQ(outcome, otherwise) << "after " << index << " failures";
      restore(each.outputs, before);
      return;
    }
    ASSERT_EQ(outcome, ErrorCode::out_of_memory) << "where allocation " << index << " fails";
    ASSERT_EQ(copies_of(each.outputs), before) << "written where allocation " << index << " fails";
  }
  FAIL() << "no end of allocations";
}

}  // namespace

void expect_out_of_memory(const Case& each) {
  const std::string name = std::string(each.symbol) + " " + each.what;
  SCOPED_TRACE(name);
  std::snprintf(current.data(), current.size(), "%s", name.c_str());
  const auto terminate = std::set_terminate(say_which_call_ended);
  const std::vector<Bytes> before = copies_of(each.outputs);
  // Without a failure: what it comes to, and tables that are made at first use.
  Attempt undisturbed(most_allocations, Failing::one);
  const Outcome otherwise = each.call(undisturbed);
  EXPECT_NE(otherwise, ErrorCode::out_of_memory);
  restore(each.outputs, before);
  expect_out_of_memory(each, Failing::one, otherwise);
  expect_out_of_memory(each, Failing::it_and_all_later, otherwise);
  std::set_terminate(terminate);
}

std::vector<std::string> unmatched_symbols(std::span<const Case> cases, const std::string& list) {
  std::ifstream file(list);
  if (!file) throw std::runtime_error("no file " + list);
  std::vector<std::string> unmatched;
  std::map<std::string_view, int> lines_of_symbol;
  for (const Case& each : cases) lines_of_symbol.emplace(each.symbol, 0);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    bool is_called = false;
    for (auto& [symbol, lines] : lines_of_symbol) {
      const bool begins = symbol.find('(') != std::string_view::npos && line.starts_with(symbol);
      if (!begins && line != symbol) continue;
      ++lines;
      is_called = true;
    }
    if (!is_called) unmatched.push_back(line);
  }
  for (const auto& [symbol, lines] : lines_of_symbol) {
    if (lines != 1) unmatched.emplace_back(symbol);
  }
  return unmatched;
}

}  // namespace rotary::test
