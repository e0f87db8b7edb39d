// SPDX-License-Identifier: Apache-2.0
// The C functions that write to a KV cache. They launch kernels only after all checks.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "attention/cache/shift_checks.hpp"
#include "attention/cache/slot_checks.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "c_api/kv_cache_values.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "tensor/view_checks.hpp"
#include "values.hpp"

namespace rotary::c_api {

ROTARY_VERSIONED(rotary_cuda_norms, reserved, ROTARY_CUDA_NORMS_INIT);
ROTARY_VERSIONED(rotary_cuda_step, norms, ROTARY_CUDA_STEP_INIT);

}  // namespace rotary::c_api

namespace rotary::cuda {
namespace {

struct Norms {
  std::optional<KeyNorm> q;
  std::optional<KeyNorm> k;
};

Result<std::optional<KeyNorm>> norm_of(std::string_view name, const rotary_head_norm* from,
                                       std::int32_t order) {
  if (from == nullptr) return std::optional<KeyNorm>();
  const auto norm = c_api::head_norm(name, from);
  if (!norm) return norm.error();
  return std::optional(KeyNorm{.norm = *norm, .order = static_cast<NormOrder>(order)});
}

Result<Norms> norms_of(const rotary_cuda_norms* from) {
  const auto given = c_api::read_options("norms", from);
  if (!given) return given.error();
  const auto q = norm_of("norms.q", given->q, given->order);
  if (!q) return q.error();
  const auto k = norm_of("norms.k", given->k, given->order);
  if (!k) return k.error();
  if (!*q && !*k && given->order != 0)
    return invalid_argument("norms.order must be 0 without norms, got ", given->order);
  return Norms{*q, *k};
}

// The heads that a call stores in a cache, and their slots.
struct Storing {
  KvCache cache;
  KvHeads heads;
  Slots slots;
};

Result<Storing> storing_of(const rotary_kv* cache, const rotary_kv* heads,
                           const rotary_slots* slots) {
  const auto made = [](const auto&... parts) { return Result<Storing>(Storing{parts...}); };
  return c_api::with(made, c_api::kv_cache(cache), c_api::kv_heads(heads), c_api::slots(slots));
}

Transfer transfer_of(std::string_view src_name, const ConstHeadsView& src,
                     std::string_view dst_name, const HeadsView& dst) {
  return {.src_name = src_name,
          .src = without_unused_strides(src),
          .dst_name = dst_name,
          .dst = without_unused_strides(dst)};
}

// Checks k, v and, if given, q. Launches their kernels.
Status store(const std::optional<Transfer>& q, const Storing& of,
             const std::optional<KeyNorm>& k_norm, const At& at, const Options& how) {
  if (auto status = check_forward(how); !status) return status;
  const Extents& blocks = of.cache.k.extents;
  auto status = check_v_beside_k(of.heads, blocks, of.cache.v ? &of.cache.v->extents : nullptr);
  if (!status) return status;
  std::array<Transfer, most_tensors> transfers;
  std::size_t count = 0;
  if (q) transfers[count++] = *q;
  Transfer& k = transfers[count++] = transfer_of("k", of.heads.k, "cache.k", of.cache.k);
  k.stored = true;
  k.norm = k_norm;
  if (of.heads.v) {
    Transfer& v = transfers[count++] = transfer_of("v", *of.heads.v, "cache.v", *of.cache.v);
    v.stored = true;
    v.turns = false;
  }
  const auto given = std::span(transfers).first(count);
  Launching call = launching(at, how);
  call.slots = of.slots;
  status = check(given, at.frequencies.window, tokens_of(at), call.reads);
  if (!status) return status;
  status = check_slots(of.slots, blocks, of.heads.k.extents);
  if (!status) return status;
  const auto slots = read_of("slots", of.slots);
  for (const Transfer& each : given) {
    status = check_apart(each.dst_name, each.dst, slots.name, slots.view);
    if (!status) return status;
  }
  return launch(given, call);
}

}  // namespace
}  // namespace rotary::cuda

using namespace rotary;
using namespace rotary::cuda;

rotary_status rotary_cuda_append(const rotary_kv* cache, const rotary_kv* heads,
                                 const rotary_slots* slots, const rotary_cuda_at* at,
                                 const rotary_cuda_norms* norms,
                                 const rotary_cuda_options* options) {
  const auto append = [](const Storing& of, const Norms& with, const At& where,
                         const Options& how) -> Status {
    if (with.q) return invalid_argument("norms.q must be NULL where no q is given");
    return store({}, of, with.k, where, how);
  };
  return c_api::run([&] {
    return c_api::with(append, storing_of(cache, heads, slots), norms_of(norms), at_of("at", at),
                       options_of(options));
  });
}

rotary_status rotary_cuda_prepare_attention(const rotary_cuda_step* step, const rotary_cuda_at* at,
                                            const rotary_cuda_options* options) {
  const auto prepare = [](const rotary_cuda_step& of, const At& where, const Options& how) {
    const auto store_all = [&](const HeadsView& q, const HeadsView& q_out, const Storing& storing,
                               const Norms& with) {
      auto transfer = transfer_of("q", q, "q_out", q_out);
      transfer.norm = with.q;
      return store(transfer, storing, with.k, where, how);
    };
    return c_api::with(store_all, view_of("q", of.q), view_of("q_out", of.q_out),
                       storing_of(of.cache, of.heads, of.slots), norms_of(of.norms));
  };
  return c_api::run([&] {
    return c_api::with(prepare, c_api::read_struct("step", step), at_of("at", at),
                       options_of(options));
  });
}

rotary_status rotary_cuda_shift(const rotary_heads_view* keys, const rotary_cuda_at* from,
                                const rotary_cuda_at* to, const rotary_cuda_options* options) {
  const auto shift = [](const HeadsView& view, const At& before, const At& after,
                        const Options& how) -> Status {
    if (auto status = check_forward(how); !status) return status;
    const auto side_of = [](const At& at) {
      const auto [batch, tokens] = tokens_of(at);
      return ShiftSide{at.frequencies.window, at.frequencies.attention_factor, batch, tokens};
    };
    const auto from_side = side_of(before), to_side = side_of(after);
    if (auto status = check_sides(from_side, to_side); !status) return status;
    HeadWindow window = after.frequencies.window;
    window.pairing = rotated(window.pairing);
    const Tokens tokens{std::max(from_side.batch, to_side.batch), to_side.tokens};
    Launching launch{.rows = rows_between(before, after),
                     .window = window_of(window, Direction::forward),
                     .reads = {read_of("positions of from", before.positions),
                               read_of("positions of to", after.positions)},
                     .stream = how.stream};
    set_scales(launch.rows, Direction::forward, 1);
    return checked_launch(std::array{in_place("keys", view)}, window, tokens, launch);
  };
  return c_api::run([&] {
    return c_api::with(shift, view_of("keys", keys), at_of("from", from), at_of("to", to),
                       options_of(options));
  });
}
