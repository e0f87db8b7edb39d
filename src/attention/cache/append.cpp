// SPDX-License-Identifier: Apache-2.0
// All checks come first; once writing begins nothing can fail.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "attention/cache/kv_cache_checks.hpp"
#include "attention/cache/slot_reader.hpp"
#include "attention/cache/token_run.hpp"
#include "base/guard.hpp"
#include "kernels/kernels.hpp"
#include "rotary/kv_cache.hpp"
#include "rotation/apply/apply_rotations.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

KvHeads without_unused(KvHeads heads) {
  heads.k = without_unused_strides(heads.k);
  if (heads.v) heads.v = without_unused_strides(*heads.v);
  return heads;
}

// Cache: of either form.
template <class Cache>
StoredCache stored_cache(const Cache& cache) {
  StoredCache to{.k = stored(cache.k)};
  drop_unused_strides(to.k);
  if (cache.v) drop_unused_strides(to.v.emplace(stored(*cache.v)));
  return to;
}

struct Storing {
  const StoredCache& cache;
  const KvHeads& heads;
  SlotReader slots;
  const Rotations* rotations;  // null: stores keys unrotated
  const std::optional<KeyNorm>& k_norm;
  const kernels::KernelTable& kernels;
};

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

TokenRun token_run(const Run& run, std::int64_t slots_per_block, const WrittenHeads& cache,
                   const ConstHeadsView& heads) {
  const std::int64_t block = run.slot / slots_per_block;
  const std::int64_t slot = run.slot % slots_per_block;
  const std::int64_t to = block * cache.strides.batch + slot * cache.strides.token;
  const std::int64_t from = run.batch * heads.strides.batch + run.token * heads.strides.token;
  Extents extents = heads.extents;
  extents.batch = 1;
  extents.tokens = run.tokens;
  auto* const data = static_cast<std::byte*>(cache.data) + to * cache.element_bytes();
  TokenRun of{
      .transfer = {.dst = {data, cache.number_dtype(), extents, cache.strides}, .src = heads},
      .batch = run.batch,
      .first_token = run.token};
  of.transfer.src.data =
      static_cast<const std::byte*>(heads.data) + from * size_in_bytes(heads.dtype);
  of.transfer.src.extents = extents;
  if (!cache.quantized()) return of;
  const ScaleStrides& s = cache.scale_strides;
  of.quantized = {.data = reinterpret_cast<std::int8_t*>(data),
                  .scales = cache.scales + block * s.batch + slot * s.token,
                  .extents = extents,
                  .strides = cache.strides,
                  .scale_strides = s};
  return of;
}

void store_keys(const Storing& storing, const Run& run) {
  const TokenRun k =
      token_run(run, storing.slots.slots_per_block(), storing.cache.k, storing.heads.k);
  if (storing.k_norm) {
    store_normalized(k, *storing.k_norm, storing.rotations, storing.kernels);
  } else if (k.quantized) {
    store_quantized(k, storing.rotations, storing.kernels);
  } else if (storing.rotations != nullptr) {
    store_rotated(k, *storing.rotations, storing.kernels);
  } else {
    store_features(k.transfer, 0, k.transfer.src.extents.features, *storing.kernels.cache);
  }
}

void store_values(const Storing& storing, const Run& run) {
  const TokenRun v =
      token_run(run, storing.slots.slots_per_block(), *storing.cache.v, *storing.heads.v);
  if (v.quantized) return store_quantized(v, nullptr, storing.kernels);
  store_features(v.transfer, 0, v.transfer.src.extents.features, *storing.kernels.cache);
}

void store_run(const Storing& storing, const Run& run) {
  if (has_elements(storing.heads.k.extents)) store_keys(storing, run);
  if (storing.heads.v && has_elements(storing.heads.v->extents)) store_values(storing, run);
}

// Reads only tokens of the range and writes only their slots: cannot fail, allocates nothing.
void store_tokens(const void* state, TokenRange range) noexcept {
  const auto& storing = *static_cast<const Storing*>(state);
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

Status append_checked(const AppendCall& call) {
  if (auto status = check_append(call); !status) return status;
  const auto kernels = active_kernels();
  if (!kernels) return kernels.error();
  const KvHeads& heads = call.heads;
  const bool stores_nothing =
      std::visit([](const auto& slots) { return repeats_a_slot(slots); }, call.slots);
  if (!has_elements(heads) || stores_nothing) return {};
  const Storing storing{.cache = call.cache,
                        .heads = heads,
                        .slots = SlotReader(call.slots, call.cache.k.extents.tokens),
                        .rotations = call.rotations,
                        .k_norm = call.options.k_norm,
                        .kernels = **kernels};
  // Cannot overflow: k or v has elements, and their number fits.
  run_in_parts(heads.k.extents.batch * heads.k.extents.tokens,
               {.apply = store_tokens, .state = &storing}, call.options.executor);
  return {};
}

template <class Cache>
Status append_to(const Cache& cache, const KvHeads& heads, const Slots& slots,
                 const Rotations* rotations, const AppendOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    return append_checked({stored_cache(cache), without_unused(heads), slots, rotations, options});
  });
}

}  // namespace

Status append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
              const Rotations& rotations, const AppendOptions& options) noexcept {
  return append_to(cache, heads, slots, &rotations, options);
}

Status append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
              const AppendOptions& options) noexcept {
  return append_to(cache, heads, slots, nullptr, options);
}

Status append(const QuantizedKvCache& cache, const KvHeads& heads, const Slots& slots,
              const Rotations& rotations, const AppendOptions& options) noexcept {
  return append_to(cache, heads, slots, &rotations, options);
}

Status append(const QuantizedKvCache& cache, const KvHeads& heads, const Slots& slots,
              const AppendOptions& options) noexcept {
  return append_to(cache, heads, slots, nullptr, options);
}

}  // namespace rotary
