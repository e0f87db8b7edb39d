// SPDX-License-Identifier: Apache-2.0
#include "runtime/parts.hpp"

#include <algorithm>

#include "base/arithmetic_modes.hpp"

namespace rotary {
namespace {

// Fewer tokens take less time than waking another thread.
constexpr std::int64_t min_tokens_of_a_part = 32;

}  // namespace

void run_in_parts(std::int64_t tokens, const TokenWork& work, const Executor& executor) noexcept {
  const std::int64_t most = executor.run == nullptr ? 1 : executor.concurrency;
  const std::int64_t parts =
      std::max<std::int64_t>(std::min(most, tokens / min_tokens_of_a_part), 1);
  if (parts == 1) return work.apply(work.state, {.begin = 0, .end = tokens});
  auto apply = [&](std::int64_t index) noexcept {
    work.apply(work.state, part_at(tokens, parts, index));
  };
  run_tasks<NearestRounding>(parts, apply, executor);
}

}  // namespace rotary
