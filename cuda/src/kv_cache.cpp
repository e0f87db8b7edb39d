// SPDX-License-Identifier: Apache-2.0
// The C functions of the KV cache: structs read, all checks, one launch.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "c_api/kv_cache_values.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "tensor/view_checks.hpp"
#include "values.hpp"

namespace rotary::c_api {

template <>
struct Versioned<rotary_cuda_norms> {
  static constexpr rotary_cuda_norms defaults = ROTARY_CUDA_NORMS_INIT;
  static constexpr StructLayout layout{"rotary_cuda_norms", sizeof(rotary_cuda_norms),
                                       sizeof(rotary_cuda_norms)};
};
template <>
struct Versioned<rotary_cuda_step> {
  static constexpr rotary_cuda_step defaults = ROTARY_CUDA_STEP_INIT;
  static constexpr StructLayout layout{"rotary_cuda_step", sizeof(rotary_cuda_step),
                                       sizeof(rotary_cuda_step)};
};

}  // namespace rotary::c_api

namespace {

namespace c_api = rotary::c_api;
namespace cuda = rotary::cuda;
using cuda::At;
using cuda::at_of;
using cuda::check_forward;
using cuda::checked_launch;
using cuda::in_place;
using cuda::launching;
using cuda::Launching;
using cuda::Options;
using cuda::options_of;
using cuda::Tokens;
using cuda::tokens_of;
using cuda::Transfer;
using cuda::view_of;
using rotary::ConstHeadsView;
using rotary::Direction;
using rotary::HeadsView;
using rotary::HeadWindow;
using rotary::invalid_argument;
using rotary::KeyNorm;
using rotary::Pairing;
using rotary::Result;
using rotary::Slots;
using rotary::Status;

struct Norms {
  std::optional<KeyNorm> q;
  std::optional<KeyNorm> k;
};

Result<std::optional<KeyNorm>> norm_of(std::string_view name, const rotary_head_norm* from,
                                       std::int32_t order) {
  if (from == nullptr) return std::optional<KeyNorm>();
  const auto norm = c_api::head_norm(name, from);
  if (!norm) return norm.error();
  return std::optional(KeyNorm{.norm = *norm, .order = static_cast<rotary::NormOrder>(order)});
}

Result<Norms> norms_of(const rotary_cuda_norms* from) {
  const auto given = c_api::read_options("norms", from);
  if (!given) return given.error();
  const auto q = norm_of("norms.q", given->q, given->order);
  if (!q) return q.error();
  const auto k = norm_of("norms.k", given->k, given->order);
  if (!k) return k.error();
  return Norms{*q, *k};
}

// The heads that a call stores in a cache, and the place.
struct Storing {
  const rotary_kv* cache;
  const rotary_kv* heads;
  const rotary_slots* slots;
};

struct Stored {
  std::array<Transfer, 2> transfers;
  std::size_t count;
  Slots slots;
};

Result<Stored> stored(const Storing& of, const std::optional<KeyNorm>& k_norm) {
  const auto cache = c_api::kv_cache(of.cache);
  if (!cache) return cache.error();
  const auto heads = c_api::kv_heads(of.heads);
  if (!heads) return heads.error();
  const auto slots = c_api::slots(of.slots);
  if (!slots) return slots.error();
  if (cache->v.has_value() != heads->v.has_value()) {
    return invalid_argument("the cache and the heads must both have v or neither, got v in the ",
                            cache->v ? "cache" : "heads", " alone");
  }
  const auto transfer = [](std::string_view src_name, const ConstHeadsView& src,
                           std::string_view dst_name, const HeadsView& dst) {
    return Transfer{.src_name = src_name,
                    .src = rotary::without_unused_strides(src),
                    .dst_name = dst_name,
                    .dst = rotary::without_unused_strides(dst),
                    .stored = true};
  };
  Stored made{
      .transfers = {transfer("k", heads->k, "cache.k", cache->k)}, .count = 1, .slots = *slots};
  made.transfers[0].norm = k_norm;
  const rotary::Extents& n = heads->k.extents;
  const rotary::Extents& blocks = cache->k.extents;
  if (auto status = cuda::check(*slots, {n.batch, n.tokens}, blocks); !status)
    return std::move(status).error();
  if (!heads->v) return made;
  if (cache->v->extents.batch != blocks.batch || cache->v->extents.tokens != blocks.tokens) {
    return invalid_argument("cache.v: blocks (batch) and slots (tokens) must be those of cache.k, ",
                            blocks.batch, " and ", blocks.tokens, "; got ", cache->v->extents.batch,
                            " and ", cache->v->extents.tokens);
  }
  made.transfers[1] = transfer("v", *heads->v, "cache.v", *cache->v);
  made.transfers[1].turns = false;
  made.count = 2;
  return made;
}

}  // namespace

rotary_status rotary_cuda_append(const rotary_kv* cache, const rotary_kv* heads,
                                 const rotary_slots* slots, const rotary_cuda_at* at,
                                 const rotary_cuda_norms* norms,
                                 const rotary_cuda_options* options) {
  const auto append = [&](const Norms& of, const At& where, const Options& how) -> Status {
    if (auto status = check_forward(how); !status) return status;
    if (of.q) return invalid_argument("norms.q must be NULL where no q is given");
    const auto storing = stored({cache, heads, slots}, of.k);
    if (!storing) return storing.error();
    Launching launch = launching(where, how);
    launch.slots = storing->slots;
    return checked_launch(std::span(storing->transfers).first(storing->count),
                          where.frequencies.window, tokens_of(where), launch);
  };
  return c_api::run(
      [&] { return c_api::with(append, norms_of(norms), at_of("at", at), options_of(options)); });
}

rotary_status rotary_cuda_prepare_attention(const rotary_cuda_step* step, const rotary_cuda_at* at,
                                            const rotary_cuda_options* options) {
  const auto prepare = [](const rotary_cuda_step& of, const At& where,
                          const Options& how) -> Status {
    if (auto status = check_forward(how); !status) return status;
    const auto norms = norms_of(of.norms);
    if (!norms) return norms.error();
    const auto q = view_of("q", of.q);
    if (!q) return q.error();
    const auto q_out = view_of("q_out", of.q_out);
    if (!q_out) return q_out.error();
    const auto storing = stored({of.cache, of.heads, of.slots}, norms->k);
    if (!storing) return storing.error();
    std::array<Transfer, cuda::most_tensors> transfers{
        Transfer{.src_name = "q", .src = *q, .dst_name = "q_out", .dst = *q_out, .norm = norms->q},
        storing->transfers[0], storing->transfers[1]};
    Launching launch = launching(where, how);
    launch.slots = storing->slots;
    return checked_launch(std::span(transfers).first(1 + storing->count), where.frequencies.window,
                          tokens_of(where), launch);
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
    HeadWindow window = after.frequencies.window;
    if (before.frequencies.window != window)
      return invalid_argument("from and to must turn the same features of a head");
    if (window.pairing.get() == Pairing::interleaved_to_half) window.pairing = Pairing::half;
    const Tokens a = tokens_of(before);
    Tokens tokens = tokens_of(after);
    if (a.tokens != tokens.tokens ||
        (a.batch != tokens.batch && a.batch != 1 && tokens.batch != 1)) {
      return invalid_argument(
          "from and to must have the same tokens, and the same batch or one of 1, got ", a.tokens,
          " of ", a.batch, " and ", tokens.tokens, " of ", tokens.batch);
    }
    tokens.batch = std::max(a.batch, tokens.batch);
    Launching launch{.rows = cuda::rows_between(before, after),
                     .window = cuda::window_of(window, Direction::forward),
                     .stream = how.stream};
    if (!(launch.rows.factor >= 0x1p-20 && launch.rows.factor <= 0x1p20)) {
      return invalid_argument(
          "the attention_factor of to must be 2^-20 to 2^20 times that of from, got ",
          after.frequencies.attention_factor, " and ", before.frequencies.attention_factor);
    }
    cuda::set_scales(launch.rows, Direction::forward, 1);
    return checked_launch(std::array{in_place("keys", view)}, window, tokens, launch);
  };
  return c_api::run([&] {
    return c_api::with(shift, view_of("keys", keys), at_of("from", from), at_of("to", to),
                       options_of(options));
  });
}
