// SPDX-License-Identifier: Apache-2.0
// The kernels Way::plain, for independent pairs, and Way::held. In Way::held, the lanes keep a head
// in registers to compute its mean square.
#pragma once

#include "kernels.hpp"
#include "pairs.cuh"

namespace rotary::cuda {

template <class In, class Out, int Count, Way way, Features read, Features written>
struct PlainHeads {
  static constexpr int at_once = way == Way::held ? 2 : 4;  // heads with loads in flight

  const StepJob& job;
  Team& team;
  Loaded<In, Count> loaded[at_once];

  // The heads that these lanes read: two accesses to the first head, and the distance to the next.
  struct Reading {
    Turn turn;
    const In* src;
    std::int64_t step;
    std::int64_t y;  // elements from the first access to the second
    bool has_x;
    bool has_y;
    Accesses to;
  };

  // chunk: the index of an access to Count pairs, or to 2 * Count features of an unrotated head.
  __device__ Reading reading(int tensor, int chunk) const {
    const Heads& of = job.tensors[tensor];
    Reading made{.turn = team.turn_of(tensor)};
    if (made.turn.head >= made.turn.end) return made;
    Accesses from{2 * chunk * Count, 2 * chunk * Count + Count};
    made.to = from;
    made.has_x = from.x < of.features;
    made.has_y = from.y < of.features;
    if (of.turns) {
      made.has_x = made.has_y = chunk < job.window.pairs / Count;
      from = accesses_at<Count>(job.window, chunk * Count, read);
      made.to = from;
      if constexpr (read != written)
        made.to = accesses_at<Count>(job.window, chunk * Count, written);
    }
    made.src = team.src_of<In>(tensor, made.turn.head) + from.x * of.from.feature;
    made.step = made.turn.step * of.from.head;
    made.y = (from.y - from.x) * of.from.feature;
    return made;
  }

  __device__ void load_heads(const Reading& from) {
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (from.turn.head + i * from.turn.step >= from.turn.end) break;
      if (from.has_x) loaded[i].x = load<Count>(from.src + i * from.step);
      if (from.has_y) loaded[i].y = load<Count>(from.src + i * from.step + from.y);
    }
  }

  // The address in dst of the first access. Null without heads, or if the token is not stored.
  __device__ Out* dst_of(int tensor, const Reading& heads) const {
    if (heads.turn.head >= heads.turn.end) return nullptr;
    Out* const dst = team.dst_of<Out>(tensor, heads.turn.head);
    return dst == nullptr ? nullptr : dst + heads.to.x * job.tensors[tensor].to.feature;
  }

  // Writes the loaded heads, then loads and writes the remaining ones.
  __device__ void write_tensor(int tensor, Reading from, Out* dst, const Pairs<Count>& row) {
    const Heads& of = job.tensors[tensor];
    const std::int64_t step = from.turn.step * of.to.head;
    const std::int64_t y = (from.to.y - from.to.x) * of.to.feature;
    const bool normalizes = way == Way::held && of.norm.kind != NormKind::none;
    const bool norm_first = of.norm.order == Order::norm_first;
    Pairs<Count> gains{};
    if (normalizes && from.has_x) {  // lanes beyond the head have no weights
      const int pair = team.lane() * Count;
      gains = gains_at<Count>(of.norm, 0,
                              norm_first ? accesses_at<Count>(job.window, pair, read) : from.to);
    }
    while (from.turn.head < from.turn.end) {
      float scales[at_once];
      if (normalizes) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const Pairs<Count> accesses = floats_of(loaded[i]);
          const Pairs<Count> pairs = norm_first
                                         ? paired<read>(accesses)
                                         : paired<written>(turned<read, written>(accesses, row));
          // Heads beyond the last get a scale but are not written.
          const double squares = from.has_x ? squares_of(pairs) : 0;
          scales[i] = scale_of(of.norm, summed(squares, team.lanes(), team.mask()));
        }
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (from.turn.head + i * from.turn.step >= from.turn.end) break;
        Pairs<Count> accesses = floats_of(loaded[i]);
        if (normalizes && norm_first) accesses = scaled(accesses, scales[i], gains);
        if (of.turns) accesses = turned<read, written>(accesses, row);
        if (normalizes && !norm_first) accesses = scaled(accesses, scales[i], gains);
        if (from.has_x) store(dst + i * step, accesses.x);
        if (from.has_y) store(dst + i * step + y, accesses.y);
      }
      from.turn.head += at_once * from.turn.step;
      from.src += at_once * from.step;
      dst += at_once * step;
      load_heads(from);
    }
  }

  __device__ void run() {
    // Starts to load these lanes' first heads before the row is made. A tensor may have none.
    int tensor = 0;
    Reading heads = reading(0, team.lane());
    while (heads.turn.head >= heads.turn.end && tensor + 1 < job.count) {
      heads = reading(++tensor, team.lane());
    }
    load_heads(heads);
    team.make_row();
    Out* dst = dst_of(tensor, heads);
    for (int chunk = team.lane();;) {
      Pairs<Count> row = {};
      if (chunk < job.window.pairs / Count) team.read_row(chunk, row.x, row.y);
      for (;;) {
        if (dst != nullptr) write_tensor(tensor, heads, dst, row);
        if (++tensor == job.count) break;
        heads = reading(tensor, chunk);
        load_heads(heads);
        dst = dst_of(tensor, heads);
      }
      chunk += team.lanes();
      if (chunk >= job.cut.chunks) break;
      tensor = 0;
      heads = reading(0, chunk);
      load_heads(heads);
      dst = dst_of(0, heads);
    }
    if (job.cut.copies_outside) copy_outside();
  }

  // Copies the features outside the window unchanged.
  __device__ void copy_outside() const {
    const int turning = 2 * job.window.pairs;
#pragma unroll 1
    for (int tensor = 0; tensor < job.count; ++tensor) {
      const Heads& of = job.tensors[tensor];
      if (!of.turns || !of.copies_outside) continue;
      const Turn turn = team.turn_of(tensor);
#pragma unroll 1
      for (int head = turn.head; head < turn.end; head += turn.step) {
        const In* const src = team.src_of<In>(tensor, head);
        Out* const dst = team.dst_of<Out>(tensor, head);
        if (dst == nullptr) return;
        for (int f = team.lane() * Count; f < of.features - turning; f += team.lanes() * Count) {
          const int feature = f < job.window.first_feature ? f : f + turning;
          const auto elements = load<Count>(src + feature * of.from.feature);
          float values[Count];
#pragma unroll
          for (int i = 0; i < Count; ++i) values[i] = element(elements, i);
          store(dst + feature * of.to.feature, values);
        }
      }
    }
  }
};

}  // namespace rotary::cuda
