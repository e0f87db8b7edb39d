// SPDX-License-Identifier: Apache-2.0
#include "runtime/parts.hpp"

#include <algorithm>

#include "base/arithmetic_modes.hpp"

namespace rotary {
namespace {

// A part of fewer tokens is done before another thread has woken up.
constexpr std::int64_t min_tokens_of_a_part = 32;

struct Parts {
  const TokenWork& work;
  std::int64_t tokens;  // of all batch rows
  std::int64_t count;
};

// Parts differ by at most one token.
TokenRange part_at(const Parts& parts, std::int64_t index) {
  const std::int64_t tokens = parts.tokens / parts.count;
  const std::int64_t longer = parts.tokens % parts.count;  // this many have one token more
  const std::int64_t begin = index * tokens + std::min(index, longer);
  return {.begin = begin, .end = begin + tokens + (index < longer ? 1 : 0)};
}

void apply_part(const Parts& parts, std::int64_t index) noexcept {
  parts.work.apply(parts.work.state, part_at(parts, index));
}

}  // namespace

void run_in_parts(std::int64_t tokens, const TokenWork& work, const Executor& executor) noexcept {
  Parts parts{.work = work, .tokens = tokens, .count = 1};
  const std::int64_t most = executor.run == nullptr ? 1 : executor.concurrency;
  parts.count = std::max<std::int64_t>(std::min(most, parts.tokens / min_tokens_of_a_part), 1);
  if (parts.count == 1) {
    work.apply(work.state, {.begin = 0, .end = tokens});
    return;
  }
  executor.run(
      executor.context, parts.count,
      [](void* state, std::int64_t index) {
        const NearestRounding modes;
        apply_part(*static_cast<Parts*>(state), index);
      },
      &parts);
}

}  // namespace rotary
