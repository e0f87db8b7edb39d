// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/store_tokens.hpp"

#include <algorithm>
#include <cstddef>

#include "attention/cache/token_run.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

struct Run {
  std::int64_t batch;
  std::int64_t token;
  std::int64_t tokens;
  std::int64_t slot;  // of the first token; negative: not stored
};

// The longest run of tokens from `token` on, before `end`, that go to consecutive slots of a block.
Run run_at(const SlotReader& slots, std::int64_t batch, std::int64_t token, std::int64_t end) {
  const std::int64_t slot = slots.at(batch, token);
  if (slot < 0) return {.batch = batch, .token = token, .tokens = 1, .slot = slot};
  const std::int64_t place = slot % slots.slots_per_block();
  const std::int64_t most = std::min(end - token, slots.slots_per_block() - place);
  std::int64_t tokens = 1;
  while (tokens < most && slots.at(batch, token + tokens) == slot + tokens) ++tokens;
  return {.batch = batch, .token = token, .tokens = tokens, .slot = slot};
}

Transfer transfer_of(const Run& run, std::int64_t slots_per_block, const HeadsView& cache,
                     const ConstHeadsView& heads) {
  const std::int64_t to = run.slot / slots_per_block * cache.strides.batch +
                          run.slot % slots_per_block * cache.strides.token;
  const std::int64_t from = run.batch * heads.strides.batch + run.token * heads.strides.token;
  Transfer transfer{.dst = cache, .src = heads};
  transfer.dst.data = static_cast<std::byte*>(cache.data) + to * size_in_bytes(cache.dtype);
  transfer.src.data = static_cast<const std::byte*>(heads.data) + from * size_in_bytes(heads.dtype);
  transfer.src.extents.batch = 1;
  transfer.src.extents.tokens = run.tokens;
  transfer.dst.extents = transfer.src.extents;
  return transfer;
}

void store_keys(const Storing& storing, const Run& run) {
  const std::int64_t slots = storing.slots.slots_per_block();
  const TokenRun k{.transfer = transfer_of(run, slots, storing.cache.k, storing.heads.k),
                   .batch = run.batch,
                   .first_token = run.token};
  if (storing.k_norm) {
    store_normalized(k, *storing.k_norm, storing.rotations, storing.kernels);
  } else if (storing.rotations != nullptr) {
    store_rotated(k, *storing.rotations, storing.kernels);
  } else {
    store_features(k.transfer, 0, k.transfer.src.extents.features, *storing.kernels.cache);
  }
}

void store_values(const Storing& storing, const Run& run) {
  const ConstHeadsView& v = *storing.heads.v;
  store_features(transfer_of(run, storing.slots.slots_per_block(), *storing.cache.v, v), 0,
                 v.extents.features, *storing.kernels.cache);
}

void store_run(const Storing& storing, const Run& run) {
  if (has_elements(storing.heads.k.extents)) store_keys(storing, run);
  if (storing.heads.v && has_elements(storing.heads.v->extents)) store_values(storing, run);
}

}  // namespace

void store_tokens(const Storing& storing, TokenRange range) noexcept {
  const std::int64_t tokens = storing.heads.k.extents.tokens;
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t batch = i / tokens;
    const std::int64_t token = i - batch * tokens;
    const std::int64_t end = std::min(tokens, token + range.end - i);
    const Run run = run_at(storing.slots, batch, token, end);
    if (run.slot >= 0) store_run(storing, run);
    i += run.tokens;
  }
}

}  // namespace rotary
