// SPDX-License-Identifier: Apache-2.0
#include "rotation/split.hpp"

#include <algorithm>

#include "base/arithmetic_modes.hpp"

namespace rotary {
namespace {

// A part of fewer is done before another thread has woken up.
constexpr std::int64_t min_tokens_of_a_part = 32;

struct Parts {
  const TokenWork& work;
  std::int64_t tokens;  // of all batch rows
  std::int64_t count;
};

bool is_empty(const Transfer& transfer) {
  const auto& n = transfer.dst.extents;
  return n.batch == 0 || n.tokens == 0 || n.heads == 0;
}

// Parts differ by at most one token.
TokenRange part_at(const Parts& parts, std::int64_t index) {
  const std::int64_t tokens = parts.tokens / parts.count;
  const std::int64_t longer = parts.tokens % parts.count;  // as many parts have one token more
  const std::int64_t begin = index * tokens + std::min(index, longer);
  return {.begin = begin, .end = begin + tokens + (index < longer ? 1 : 0)};
}

void rotate_range(const void* state, TokenRange range) noexcept {
  const auto& [transfers, rotations, direction, kernels] = *static_cast<const Rotation*>(state);
  for (const Transfer& transfer : transfers) {
    apply_rotations(transfer, rotations, direction, kernels, range);
  }
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

void apply_in_parts(const Rotation& rotation, const Executor& executor) noexcept {
  if (std::all_of(rotation.transfers.begin(), rotation.transfers.end(), is_empty)) return;
  // Fits, since the elements of a transfer that is not empty do; empty ones may claim any batch.
  const auto& n = rotation.transfers.front().dst.extents;
  run_in_parts(n.batch * n.tokens, {.apply = rotate_range, .state = &rotation}, executor);
}

}  // namespace rotary
