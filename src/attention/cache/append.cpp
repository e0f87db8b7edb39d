// SPDX-License-Identifier: Apache-2.0
// All checks come first; once writing begins nothing can fail.
#include <variant>

#include "attention/cache/kv_cache_checks.hpp"
#include "attention/cache/store_tokens.hpp"
#include "base/guard.hpp"
#include "rotary/kv_cache.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

KvCache without_unused(KvCache cache) {
  cache.k = without_unused_strides(cache.k);
  if (cache.v) cache.v = without_unused_strides(*cache.v);
  return cache;
}

KvHeads without_unused(KvHeads heads) {
  heads.k = without_unused_strides(heads.k);
  if (heads.v) heads.v = without_unused_strides(*heads.v);
  return heads;
}

void store_range(const void* state, TokenRange range) noexcept {
  store_tokens(*static_cast<const Storing*>(state), range);
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
               {.apply = store_range, .state = &storing}, call.options.executor);
  return {};
}

}  // namespace

Status append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
              const Rotations& rotations, const AppendOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    return append_checked(
        {without_unused(cache), without_unused(heads), slots, &rotations, options});
  });
}

Status append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
              const AppendOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    return append_checked({without_unused(cache), without_unused(heads), slots, nullptr, options});
  });
}

}  // namespace rotary
