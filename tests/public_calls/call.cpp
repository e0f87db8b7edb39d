// SPDX-License-Identifier: Apache-2.0
#include "public_calls/call.hpp"

#include <fstream>
#include <iterator>
#include <map>

namespace rotary::test {
namespace {

Attempt* of_parts = nullptr;

// Whether `symbol` (see Call::symbol) names this line of a list.
bool names(std::string_view symbol, std::string_view line) {
  const std::size_t star = symbol.find('*');
  if (star != std::string_view::npos) {
    return line.starts_with(symbol.substr(0, star)) &&
           line.find(symbol.substr(star + 1)) != std::string_view::npos;
  }
  const bool is_beginning = symbol.find('(') != std::string_view::npos;
  return is_beginning ? line.starts_with(symbol) : line == symbol;
}

}  // namespace

void add(Calls& all, Calls more) {
  all.insert(all.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

Calls core_calls() {
  Calls all;
  for (const auto calls :
       {model_calls, dialect_calls, identify_calls, rotation_calls, cache_calls, attention_calls,
        relative_calls, positions_calls, absolute_calls, c_model_calls, c_calls}) {
    add(all, calls());
  }
  return all;
}

std::vector<std::vector<std::int64_t>> sizes_to_try(const Call& call) {
  std::vector<std::vector<std::int64_t>> tries(1);
  for (const Size& size : call.sizes) tries.front().push_back(size.natural);
  for (std::size_t i = 0; i < call.sizes.size(); ++i) {
    if (call.sizes[i].held == Held::fixed) continue;
    tries.push_back(tries.front());
    tries.back()[i] = -1;
  }
  return tries;
}

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

std::vector<std::string> unmatched_symbols(const Calls& calls, const std::string& list) {
  std::ifstream file(list);
  if (!file) throw std::runtime_error("no file " + list);
  std::vector<std::string> unmatched;
  std::map<std::string_view, int> lines_of_symbol;
  for (const Call& call : calls) lines_of_symbol.emplace(call.symbol, 0);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    bool is_called = false;
    for (auto& [symbol, lines] : lines_of_symbol) {
      if (!names(symbol, line)) continue;
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
