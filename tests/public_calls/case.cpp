// SPDX-License-Identifier: Apache-2.0
#include "public_calls/case.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>

namespace rotary::test {
namespace {

Attempt* of_parts = nullptr;

}  // namespace

Executor in_parts() noexcept {
  return {.context = nullptr,
          .run =
              [](void*, std::int64_t count, ExecutorTask task, void* state) {
                for (std::int64_t index = 0; index < count; ++index) {
                  const auto run = [&] { return task(state, index), 0; };
                  if (of_parts == nullptr) {
                    run();
                  } else {
                    (*of_parts)(run);
                  }
                }
              },
          .concurrency = 3};
}

PartsThrough::PartsThrough(Attempt& attempt) noexcept { of_parts = &attempt; }
PartsThrough::~PartsThrough() { of_parts = nullptr; }

std::vector<Bytes> copies_of(const std::vector<std::span<std::byte>>& outputs) {
  std::vector<Bytes> copies;
  for (const auto& output : outputs) copies.emplace_back(output.begin(), output.end());
  return copies;
}

void restore(const std::vector<std::span<std::byte>>& outputs, const std::vector<Bytes>& from) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::copy(from[i].begin(), from[i].end(), outputs[i].begin());
  }
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
