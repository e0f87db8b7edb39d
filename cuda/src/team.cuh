// SPDX-License-Identifier: Apache-2.0
// A team: the threads of a block that take one token. It knows the token's index in tensors and the
// heads of each group of `lanes` threads. The token's cos/sin row is in shared memory.
#pragma once

#include <cstdint>

#include "elements.cuh"
#include "job.hpp"
#include "rows.cuh"

namespace rotary::cuda {

__device__ inline Token token_at(const StepJob& job, std::uint32_t index) {
  if (job.batch == 1) return {0, index};
  const auto tokens = static_cast<std::uint32_t>(job.tokens);
  const std::uint32_t batch = index / tokens;
  return {batch, index - batch * tokens};
}

// The cache block of a slot, and the slot's index in that block.
__device__ inline Token place_of(std::uint64_t slot, std::int64_t slots_of_block) {
  const auto slots = static_cast<std::uint64_t>(slots_of_block);
  // A 64-bit division takes a hundred instructions, so this avoids it where possible.
  if ((slot | slots) >> 32 != 0) {
    return {static_cast<std::uint32_t>(slot / slots), static_cast<std::uint32_t>(slot % slots)};
  }
  const std::uint32_t block = static_cast<std::uint32_t>(slot) / static_cast<std::uint32_t>(slots);
  return {block, static_cast<std::uint32_t>(slot) - block * static_cast<std::uint32_t>(slots)};
}

// The heads of one tensor that a group of `lanes` threads takes, one after another.
struct Turn {
  int head;
  int end;  // one past the last
  int step;
};

// Two accesses to a head, as offsets from its first feature: Count pairs, or 2 * Count features.
struct Accesses {
  int x;
  int y;
};

enum class Features { halves, neighbours };

template <int Count>
__device__ inline Accesses accesses_at(const Window& window, int pair, Features order) {
  if (order == Features::neighbours) {
    const int x = window.first_feature + 2 * pair;
    return {x, x + Count};
  }
  int x = window.first_feature + pair;
  if (window.pairs_of_block != window.pairs) {
    x += pair / window.pairs_of_block * window.pairs_of_block;
  }
  return {x, x + window.pairs_of_block};
}

class Team {
 public:
  __device__ Team(const StepJob& job, unsigned char* shared) : job_(job) {
    const Cut& cut = job.cut;
    const int thread = static_cast<int>(threadIdx.x);
    const int token = thread >> cut.log_team;
    const std::uint32_t index =
        blockIdx.x * static_cast<std::uint32_t>(cut.tokens) + static_cast<std::uint32_t>(token);
    thread_ = thread & ((1 << cut.log_team) - 1);
    has_token_ = index < job.tokens_in_all;
    token_ = has_token_ ? token_at(job, index) : Token{0, 0};
    begin_row();
    if (job.slots_of_block != 0 && has_token_) slot_ = pending_at(job.slots, token_, 0);
    lanes_ = 1 << cut.log_lanes;
    lane_ = thread & (lanes_ - 1);
    step_ = 1 << (cut.log_team - cut.log_lanes);
    first_head_ = static_cast<int>(blockIdx.y) * cut.heads + (thread_ >> cut.log_lanes);
    end_head_ = min((static_cast<int>(blockIdx.y) + 1) * cut.heads, job.heads);
    double* const sums = reinterpret_cast<double*>(shared);
    float* const rows = reinterpret_cast<float*>(sums + cut.sums);
    sums_ = sums + token * cut.heads;
    row_ = rows + token * 2 * cut.row_stride;
    staged_ =
        rows + cut.tokens * 2 * cut.row_stride + (thread >> cut.log_lanes) * cut.staged_of_head;
  }

  // Makes the row in shared memory. All threads of the block must call this once.
  __device__ void make_row() {
    const int pairs = job_.window.pairs;
    if (job_.rotates && has_token_) {
      int pair = thread_;
      if (job_.rows.kind == RowKind::stepped && pair < pairs) {
        put(pair, row_of(job_.rows, stepped_, pair));
        pair += 1 << job_.cut.log_team;
      }
#pragma unroll 1
      for (; pair < pairs; pair += 1 << job_.cut.log_team) {
        put(pair, row_at(job_.rows, token_, pair, pairs));
      }
    }
    __syncthreads();
  }

  template <int Count>
  __device__ void read_row(int chunk, float (&cos)[Count], float (&sin)[Count]) const {
    struct alignas(sizeof(float) * Count) Floats {
      float values[Count];
    };
    const float* const row = row_ + chunk * Count;
    const Floats x = *reinterpret_cast<const Floats*>(row);
    const Floats y = *reinterpret_cast<const Floats*>(row + job_.cut.row_stride);
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      cos[i] = x.values[i];
      sin[i] = y.values[i];
    }
  }

  // The heads of a tensor that these lanes take.
  __device__ Turn turn_of(int tensor) const {
    const int before = heads_before(tensor);
    const int beyond = before - first_head_;  // from these lanes' first head to the tensor's
    const int skipped = beyond <= 0 ? 0 : (beyond + step_ - 1) & -step_;
    return {first_head_ + skipped - before,
            has_token_ ? min(job_.tensors[tensor].heads, end_head_ - before) : 0, step_};
  }

  // The address of the first feature of the token's head.
  template <class In>
  __device__ const In* src_of(int tensor, int head) const {
    const Heads& of = job_.tensors[tensor];
    return static_cast<const In*>(of.src) + token_.batch * of.from.batch +
           token_.token * of.from.token + static_cast<std::uint32_t>(head) * of.from.head;
  }

  // Null if the token is not stored in this tensor. Waits for the slot's load.
  template <class Out>
  __device__ Out* dst_of(int tensor, int head) const {
    const Heads& of = job_.tensors[tensor];
    Token to = token_;
    if (of.stored) {
      const std::int64_t slot = slot_.value(job_.slots.kind);
      if (slot < 0 || slot >= job_.slots_of_cache) return nullptr;
      to = place_of(static_cast<std::uint64_t>(slot), job_.slots_of_block);
    }
    return static_cast<Out*>(of.dst) + to.batch * of.to.batch + to.token * of.to.token +
           static_cast<std::uint32_t>(head) * of.to.head;
  }

  __device__ int heads_before(int tensor) const {
    int heads = 0;
#pragma unroll
    for (int t = 0; t < most_tensors - 1; ++t) heads += t < tensor ? job_.tensors[t].heads : 0;
    return heads;
  }

  __device__ int lane() const { return lane_; }
  __device__ int lanes() const { return lanes_; }
  __device__ double* sums() const { return sums_; }
  __device__ float* staged() const { return staged_; }
  __device__ unsigned mask() const {
    const int first_lane = static_cast<int>(threadIdx.x & 31U) - lane_;
    return (lanes_ == 32 ? ~0U : (1U << lanes_) - 1) << first_lane;
  }

 private:
  __device__ void begin_row() {
    stepped_ = {};
    if (job_.rotates && has_token_ && job_.rows.kind == RowKind::stepped &&
        thread_ < job_.window.pairs) {
      stepped_ = stepped_at(job_.rows, token_, thread_);
    }
  }

  __device__ void put(int pair, const CosSin<float>& made) {
    row_[pair] = made.cos * job_.rows.cos_scale;
    row_[job_.cut.row_stride + pair] = made.sin * job_.rows.sin_scale;
  }

  const StepJob& job_;
  int thread_;  // index in the team
  int lane_;
  int lanes_;
  int step_;  // heads that the team takes at a time
  int first_head_;
  int end_head_;
  bool has_token_;
  Token token_;
  PendingNumber slot_{};
  Stepped stepped_;
  double* sums_;
  float* row_;
  float* staged_;
};

}  // namespace rotary::cuda
