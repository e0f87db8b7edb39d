// SPDX-License-Identifier: Apache-2.0
// The kernel Way::whole. Lanes take one head after another and read it several times. It supports
// every shape, but is slow. It is needed for pairs that move within a head in place, and for norms
// that Way::held does not support: over all heads, or of long or partly rotated heads.
#pragma once

#include "pairs.cuh"

namespace rotary::cuda {

template <class In, class Out, int Count, Features read, Features written>
struct WholeHeads {
  const StepJob& job;
  Team& team;

  struct Head {
    const Heads& of;
    const In* src;
    Out* dst;
    int number;
  };

  __device__ int chunks() const { return job.window.pairs / Count; }

  __device__ Accesses read_at(int chunk) const {
    return accesses_at<Count>(job.window, chunk * Count, read);
  }
  __device__ Accesses written_at(int chunk) const {
    return accesses_at<Count>(job.window, chunk * Count, written);
  }

  __device__ Pairs<Count> accesses_of(const Head& head, int chunk) const {
    const Accesses at = read_at(chunk);
    const std::int64_t stride = head.of.from.feature;
    return floats_of(Loaded<In, Count>{load<Count>(head.src + at.x * stride),
                                       load<Count>(head.src + at.y * stride)});
  }

  __device__ Pairs<Count> row_of(int chunk) const {
    Pairs<Count> row;
    team.read_row(chunk, row.x, row.y);
    return row;
  }

  // Visits the unrotated features, Count at a time.
  template <class Visit>
  __device__ void for_each_still(const Head& head, Visit visit) const {
    const int turning = head.of.turns ? 2 * job.window.pairs : 0;
    const int before = head.of.turns ? job.window.first_feature : head.of.features;
    for (int f = team.lane() * Count; f < head.of.features - turning; f += team.lanes() * Count) {
      visit(f < before ? f : f + turning);
    }
  }

  // The sum of squares of a head, after rotation if the norm comes last. Every lane gets it.
  __device__ double sum_of_squares(const Head& head) const {
    double sum = 0;
    for (int chunk = team.lane(); head.of.turns && chunk < chunks(); chunk += team.lanes()) {
      Pairs<Count> accesses = accesses_of(head, chunk);
      if (head.of.norm.order == Order::norm_last)
        accesses = turned<read, written>(accesses, row_of(chunk));
      sum += squares_of(accesses);
    }
    for_each_still(head, [&](int feature) {
      const auto elements = load<Count>(head.src + feature * head.of.from.feature);
#pragma unroll
      for (int i = 0; i < Count; ++i) sum = square_added(element(elements, i), sum);
    });
    return summed(sum, team.lanes(), team.mask());
  }

  // Calls visit(head) for each head of the tensor that these lanes take, if its token is stored.
  template <class Visit>
  __device__ void for_each_head(int tensor, Visit visit) const {
    const Turn turn = team.turn_of(tensor);
#pragma unroll 1
    for (int head = turn.head; head < turn.end; head += turn.step) {
      Out* const dst = team.dst_of<Out>(tensor, head);
      if (dst != nullptr)
        visit(Head{job.tensors[tensor], team.src_of<In>(tensor, head), dst, head});
    }
  }

  // For norms over all heads of a token: sums the squares of each head. The block has all heads.
  __device__ void sum_heads() const {
#pragma unroll 1
    for (int tensor = 0; tensor < job.count; ++tensor) {
      if (job.tensors[tensor].norm.kind != NormKind::all_heads) continue;
      double* const sums = team.sums() + team.heads_before(tensor);
      for_each_head(tensor, [&](const Head& head) {
        const double sum = sum_of_squares(head);
        if (team.lane() == 0) sums[head.number] = sum;
      });
    }
    __syncthreads();
  }

  // sums: one for each head of the tensor, if its norm is over all heads.
  __device__ float scale_of_head(const Head& head, const double* sums) const {
    const Norm& norm = head.of.norm;
    if (norm.kind == NormKind::each_head) return scale_of(norm, sum_of_squares(head));
    double sum = 0;
    for (int h = 0; h < head.of.heads; ++h) sum += sums[h];
    return scale_of(norm, sum);
  }

  __device__ void store_pairs(const Head& head, int chunk, const Pairs<Count>& accesses) const {
    const Accesses at = written_at(chunk);
    if (job.cut.staged_of_head > 0) {
      float* const staged = team.staged() - job.window.first_feature;
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        staged[at.x + i] = accesses.x[i];
        staged[at.y + i] = accesses.y[i];
      }
      return;
    }
    store(head.dst + at.x * head.of.to.feature, accesses.x);
    store(head.dst + at.y * head.of.to.feature, accesses.y);
  }

  // Writes the staged pairs of a head, after its lanes have read it.
  __device__ void store_staged(const Head& head) const {
    __syncwarp(team.mask());
    for (int f = team.lane() * Count; f < 2 * job.window.pairs; f += team.lanes() * Count) {
      float values[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i) values[i] = team.staged()[f + i];
      store(head.dst + (job.window.first_feature + f) * head.of.to.feature, values);
    }
    __syncwarp(team.mask());
  }

  __device__ void write(const Head& head, const double* sums) const {
    const Norm& norm = head.of.norm;
    const bool normalizes = norm.kind != NormKind::none;
    const float scale = normalizes ? scale_of_head(head, sums) : 1;
    for (int chunk = team.lane(); head.of.turns && chunk < chunks(); chunk += team.lanes()) {
      Pairs<Count> accesses = accesses_of(head, chunk);
      if (normalizes && norm.order == Order::norm_first) {
        accesses = scaled(accesses, scale, gains_at<Count>(norm, head.number, read_at(chunk)));
      }
      accesses = turned<read, written>(accesses, row_of(chunk));
      if (normalizes && norm.order == Order::norm_last) {
        accesses = scaled(accesses, scale, gains_at<Count>(norm, head.number, written_at(chunk)));
      }
      store_pairs(head, chunk, accesses);
    }
    if (head.of.turns && job.cut.staged_of_head > 0) store_staged(head);
    if (!head.of.copies_outside && !normalizes) return;
    for_each_still(head, [&](int feature) {
      const auto elements = load<Count>(head.src + feature * head.of.from.feature);
      const Pairs<Count> gains =
          normalizes ? gains_at<Count>(norm, head.number, {feature, feature}) : Pairs<Count>{};
      float values[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        values[i] = element(elements, i);
        if (normalizes) values[i] = values[i] * scale * gains.x[i];
      }
      store(head.dst + feature * head.of.to.feature, values);
    });
  }

  __device__ void run() {
    team.make_row();
    if (job.cut.sums > 0) sum_heads();
#pragma unroll 1
    for (int tensor = 0; tensor < job.count; ++tensor) {
      const double* const sums = team.sums() + team.heads_before(tensor);
      for_each_head(tensor, [&](const Head& head) { write(head, sums); });
    }
  }
};

}  // namespace rotary::cuda
