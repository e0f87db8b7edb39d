// SPDX-License-Identifier: Apache-2.0
// The kernels of a decode step (Way::few, few_held). A warp processes few_heads heads of one token,
// with two pairs in each thread. Each thread computes cos and sin of its own pairs. Latency is low:
// no warp uses shared memory or waits for another warp, and loads start early.
#pragma once

#include "kernels.hpp"
#include "pairs.cuh"

namespace rotary::cuda {

template <class In, class Out, Way way, Features read, Features written>
struct FewTokens {
  const StepJob& job;
  Loaded<In, 2> loaded[few_heads];

  // The loads in flight for cos and sin of this thread's pairs.
  struct Pending {
    Stepped rows[2];
  };

  __device__ static int pair() { return 2 * static_cast<int>(threadIdx.x); }

  __device__ Pending begin_rows(const Token& at) const {
    Pending pending{};
    if (job.rows.kind != RowKind::stepped || pair() >= job.window.pairs) return pending;
#pragma unroll
    for (int i = 0; i < 2; ++i) pending.rows[i] = stepped_at(job.rows, at, pair() + i);
    return pending;
  }

  __device__ Pairs<2> rows_of(const Token& at, const Pending& pending) const {
    Pairs<2> row{};
    if (pair() >= job.window.pairs) return row;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const CosSin<float> made = job.rows.kind == RowKind::stepped
                                     ? row_of(job.rows, pending.rows[i], pair() + i)
                                     : row_at(job.rows, at, pair() + i, job.window.pairs);
      row.x[i] = made.cos * job.rows.cos_scale;
      row.y[i] = made.sin * job.rows.sin_scale;
    }
    return row;
  }

  // Offsets of this thread's two accesses to a head. has_x, has_y: false if the first or second
  // access has no elements.
  struct Lanes {
    Accesses from;
    Accesses to;
    bool has_x;
    bool has_y;
  };

  __device__ Lanes lanes_in(const Heads& of) const {
    if (!of.turns) {
      const Accesses at{pair(), pair() + 64};
      return {at, at, at.x < of.features, at.y < of.features};
    }
    const bool turns = pair() < job.window.pairs;
    const Accesses from = accesses_at<2>(job.window, pair(), read);
    Accesses to = from;
    if constexpr (read != written) to = accesses_at<2>(job.window, pair(), written);
    return {from, to, turns, turns};
  }

  __device__ void write(const Heads& of, Out* dst, int heads, const Lanes& at,
                        const Pairs<2>& row) const {
    const bool normalizes = way == Way::few_held && of.norm.kind != NormKind::none;
    const bool norm_first = of.norm.order == Order::norm_first;
    Pairs<2> gains{};
    float scales[few_heads];
    if (normalizes) {
      if (at.has_x) gains = gains_at<2>(of.norm, 0, norm_first ? at.from : at.to);
#pragma unroll
      for (int i = 0; i < few_heads; ++i) {
        const Pairs<2> accesses = floats_of(loaded[i]);
        const Pairs<2> pairs = norm_first ? paired<read>(accesses)
                                          : paired<written>(turned<read, written>(accesses, row));
        // Threads without pairs add 0. Heads beyond the last get a scale but are not written.
        scales[i] = scale_of(of.norm, summed(at.has_x ? squares_of(pairs) : 0, 32, ~0U));
      }
    }
#pragma unroll
    for (int i = 0; i < few_heads; ++i) {
      if (i >= heads) break;
      Pairs<2> accesses = floats_of(loaded[i]);
      if (normalizes && norm_first) accesses = scaled(accesses, scales[i], gains);
      if (of.turns) accesses = turned<read, written>(accesses, row);
      if (normalizes && !norm_first) accesses = scaled(accesses, scales[i], gains);
      if (at.has_x) store(dst + at.to.x, accesses.x);
      if (at.has_y) store(dst + at.to.y, accesses.y);
      dst += of.to.head;
    }
  }

  __device__ void run() {
    const Token at{0, blockIdx.x};
    const Pending pending = begin_rows(at);
    PendingNumber slot{};
    if (job.slots_of_block != 0) slot = pending_at(job.slots, at, 0);
    int tensor = 0;
    int group = static_cast<int>(blockIdx.y);
    while (group >= job.cut.groups[tensor]) group -= job.cut.groups[tensor++];
    const Heads& of = job.tensors[tensor];
    const int first = group * few_heads;
    const int heads = min(few_heads, of.heads - first);
    const In* const src = static_cast<const In*>(of.src) + at.token * of.from.token +
                          static_cast<std::uint32_t>(first) * of.from.head;
    const Lanes lanes = lanes_in(of);
#pragma unroll
    for (int i = 0; i < few_heads; ++i) {
      if (i >= heads) break;
      if (lanes.has_x) loaded[i].x = load<2>(src + i * of.from.head + lanes.from.x);
      if (lanes.has_y) loaded[i].y = load<2>(src + i * of.from.head + lanes.from.y);
    }
    const Pairs<2> row = of.turns ? rows_of(at, pending) : Pairs<2>{};
    Token place = at;
    if (of.stored) {
      const std::int64_t number = slot.value(job.slots.kind);
      if (number < 0 || number >= job.slots_of_cache) return;
      place = place_of(static_cast<std::uint64_t>(number), job.slots_of_block);
    }
    Out* const dst = static_cast<Out*>(of.dst) + place.batch * of.to.batch +
                     place.token * of.to.token + static_cast<std::uint32_t>(first) * of.to.head;
    write(of, dst, heads, lanes, row);
  }
};

}  // namespace rotary::cuda
