// SPDX-License-Identifier: Apache-2.0
// All checks come first; writing cannot fail.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/cache/checked_append.hpp"
#include "attention/cache/token_run.hpp"
#include "base/guard.hpp"
#include "rotary/kv_cache.hpp"
#include "runtime/parts.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

KvHeads without_unused(KvHeads heads) {
  heads.k = without_unused_strides(heads.k);
  if (heads.v) heads.v = without_unused_strides(*heads.v);
  return heads;
}

// Cache: KvCache or QuantizedKvCache.
template <class Cache>
StoredCache stored_cache(const Cache& cache) {
  StoredCache to{.k = stored(cache.k)};
  drop_unused_strides(to.k);
  if (cache.v) drop_unused_strides(to.v.emplace(stored(*cache.v)));
  return to;
}

struct Run {
  std::int64_t batch;
  std::int64_t token;
  std::int64_t tokens;
  std::int64_t slot;  // of the first token; negative: not stored
};

// The longest run of tokens from `token` on that go to consecutive slots of one block.
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

void store_keys(const CheckedAppend& call, const Run& run) {
  const auto& [cache, heads, slots, options] = call.args;
  const TokenRun k = token_run(run, call.slots.slots_per_block(), cache.k, heads.k);
  if (options.k_norm || k.quantized) {
    const KeyNorm* const k_norm = options.k_norm ? &*options.k_norm : nullptr;
    store_through_floats(k, k_norm, options.rotations, call.kernels);
  } else if (options.rotations != nullptr) {
    store_rotated(k, *options.rotations, call.kernels);
  } else {
    store_features(k.transfer, 0, k.transfer.src.extents.features, *call.kernels.cache);
  }
}

void store_values(const CheckedAppend& call, const Run& run) {
  const TokenRun v =
      token_run(run, call.slots.slots_per_block(), *call.args.cache.v, *call.args.heads.v);
  if (v.quantized) return store_through_floats(v, nullptr, nullptr, call.kernels);
  store_features(v.transfer, 0, v.transfer.src.extents.features, *call.kernels.cache);
}

// Allocates nothing. Reads only tokens of the range and writes only their slots.
void store_tokens(const void* state, TokenRange range) noexcept {
  const auto& call = *static_cast<const CheckedAppend*>(state);
  const auto& [k, v] = call.args.heads;
  const std::int64_t tokens = k.extents.tokens;
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t batch = i / tokens;
    const std::int64_t token = i - batch * tokens;
    const std::int64_t end = std::min(tokens, token + range.end - i);
    const Run run = run_at(call.slots, batch, token, end);
    if (run.slot >= 0 && has_elements(k.extents)) store_keys(call, run);
    if (run.slot >= 0 && v && has_elements(v->extents)) store_values(call, run);
    i += run.tokens;
  }
}

template <class Cache>
Status append_to(const Cache& cache, const KvHeads& heads, const Slots& slots,
                 const AppendOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    const AppendCall call{stored_cache(cache), without_unused(heads), slots, options};
    const auto checked = check_append(call);
    if (!checked) return checked.error();
    if (checked->stores_nothing) return {};
    // Cannot overflow: k or v has elements, and the number of elements fits int64.
    run_in_parts(heads.k.extents.batch * heads.k.extents.tokens,
                 {.apply = store_tokens, .state = &*checked}, options.executor);
    return {};
  });
}

}  // namespace

Status append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
              const AppendOptions& options) noexcept {
  return append_to(cache, heads, slots, options);
}

Status append(const QuantizedKvCache& cache, const KvHeads& heads, const Slots& slots,
              const AppendOptions& options) noexcept {
  return append_to(cache, heads, slots, options);
}

}  // namespace rotary
