// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>

#include "bench/attention/peaks.hpp"
#include "bench/peers/attention.h"
#include "rotary/attention.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotations.hpp"

namespace {

struct AlignedDelete {
  void operator()(std::byte* data) const noexcept {
    ::operator delete[](data, std::align_val_t{64});
  }
};

struct Attention {
  attention_job job;
  rotary::HeadsView q;
  rotary::HeadsView k;
  rotary::HeadsView v;
  rotary::HeadsView out;
  std::optional<rotary::Rotations> rotations = {};
  std::optional<rotary::RelativeBias> bias = {};
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[], AlignedDelete> memory = {};
  rotary::AttendOptions options = {};
};

rotary::HeadsView view_of(const attention_job& job, float* data) {
  const rotary::Extents extents{
      .batch = 1, .tokens = job.tokens, .heads = job.heads, .features = job.head_dim};
  return {.data = data,
          .dtype = rotary::DType::f32,
          .extents = extents,
          .strides = rotary::strides_bthd(extents)};
}

bool set_rotations(Attention& made) {
  if (made.job.encoding != ATTENTION_ROPE) return true;
  const auto frequencies =
      rotary::make_frequencies(rotary::RotarySpec{.head_dim = made.job.head_dim,
                                                  .rotary_dim = made.job.head_dim,
                                                  .base = made.job.base,
                                                  .pairing = rotary::Pairing::half});
  if (!frequencies) return false;
  auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = 0, .tokens = made.job.tokens});
  if (!rotations) return false;
  made.rotations = *std::move(rotations);
  made.options.encoding.q_rotations = &*made.rotations;
  made.options.encoding.k_rotations = &*made.rotations;
  return true;
}

void set_bias(Attention& made) {
  if (made.job.encoding == ATTENTION_ALIBI) {
    made.bias = rotary::Alibi{.heads = made.job.heads};
  } else if (made.job.encoding == ATTENTION_T5) {
    made.bias = rotary::T5Bias{
        .buckets = {.buckets = 32, .max_distance = 128, .direction = rotary::T5Direction::causal},
        .table = {.data = made.job.t5_table,
                  .dtype = rotary::DType::f32,
                  .rows = 32,
                  .features = made.job.heads,
                  .row_stride = made.job.heads}};
  }
  if (made.bias) made.options.encoding.bias = &*made.bias;
}

bool set_memory(Attention& made) {
  const auto bytes = rotary::attend_bytes(made.q, made.k, made.v, made.options);
  if (!bytes) return false;
  made.bytes = *bytes;
  made.memory.reset(
      static_cast<std::byte*>(::operator new[](made.bytes + 1, std::align_val_t{64})));
  made.options.memory = {made.memory.get(), made.bytes};
  return true;
}

}  // namespace

void* attention_rotary_make(const attention_job* job) {
  auto made = std::make_unique<Attention>(Attention{.job = *job,
                                                    .q = view_of(*job, job->q),
                                                    .k = view_of(*job, job->k),
                                                    .v = view_of(*job, job->v),
                                                    .out = view_of(*job, job->out)});
  made->options.scale = 1 / std::sqrt(static_cast<double>(job->head_dim));
  made->options.mask.order = rotary::AttentionOrder::causal;
  set_bias(*made);
  if (!set_rotations(*made) || !set_memory(*made)) return nullptr;
  return made.release();
}

std::int32_t attention_rotary_run(void* made) {
  const auto* const each = static_cast<const Attention*>(made);
  return rotary::attend(each->out, each->q, each->k, each->v, each->options) ? 0 : -1;
}

std::int64_t attention_rotary_bytes(void* made) {
  return static_cast<std::int64_t>(static_cast<const Attention*>(made)->bytes);
}

void attention_rotary_free(void* made) { delete static_cast<Attention*>(made); }

double attention_peak(std::int64_t steps) { return rotary::bench::multiply_and_add(steps); }
