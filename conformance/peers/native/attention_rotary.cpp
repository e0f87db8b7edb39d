// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "bench/attention/peaks.hpp"
#include "conformance/peers/native/attention.h"
#include "rotary/attention.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/threads.hpp"

namespace {

struct AlignedDelete {
  void operator()(std::byte* data) const noexcept {
    ::operator delete[](data, std::align_val_t{64});
  }
};

using Memory = std::unique_ptr<std::byte[], AlignedDelete>;

Memory memory_of(std::size_t bytes) {
  return Memory(static_cast<std::byte*>(::operator new[](bytes + 1, std::align_val_t{64})));
}

// int8 keys or values, and their memory.
struct Quantized {
  Memory elements;
  Memory scales;
  rotary::QuantizedHeadsView view;
};

struct Attention {
  attention_job job;
  rotary::HeadsView q;
  rotary::HeadsView k;
  rotary::HeadsView v;
  rotary::HeadsView out;
  std::optional<rotary::Threads> threads = {};
  std::optional<Quantized> k_8_bits = {};
  std::optional<Quantized> v_8_bits = {};
  std::optional<rotary::Rotations> q_rotations = {};
  std::optional<rotary::Rotations> k_rotations = {};
  std::optional<rotary::RelativeBias> bias = {};
  std::size_t bytes = 0;
  Memory memory = {};
  rotary::AttendOptions options = {};
};

rotary::HeadsView view_of(const attention_job& job, void* data, const rotary::Extents& extents) {
  return {.data = data,
          .dtype = job.dtype == ATTENTION_BF16 ? rotary::DType::bf16 : rotary::DType::f32,
          .extents = extents,
          .strides = rotary::strides_bhtd(extents)};
}

rotary::QuantizedKeys keys_in_8_bits(const Attention& made) {
  return {.k = made.k_8_bits->view, .v = made.v_8_bits->view};
}

bool set_threads(Attention& made) {
  if (made.job.threads < 2) return true;
  auto threads = rotary::Threads::start(made.job.threads);
  if (!threads) return false;
  made.threads = *std::move(threads);
  made.options.executor = made.threads->executor();
  return true;
}

Quantized quantized_like(const rotary::Extents& n) {
  const auto heads = static_cast<std::size_t>(n.tokens * n.heads);
  Quantized made{.elements = memory_of(heads * static_cast<std::size_t>(n.features)),
                 .scales = memory_of(heads * sizeof(float)),
                 .view = {}};
  made.view = {.data = reinterpret_cast<std::int8_t*>(made.elements.get()),
               .scales = reinterpret_cast<float*>(made.scales.get()),
               .extents = n,
               .strides = rotary::strides_bhtd(n),
               .scale_strides = rotary::scale_strides_bhtd(n)};
  return made;
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): its memory goes with it
}

bool quantize(Attention& made) {
  if (made.job.dtype != ATTENTION_8_BITS) return true;
  made.k_8_bits = quantized_like(made.k.extents);
  made.v_8_bits = quantized_like(made.v.extents);
  const rotary::QuantizedKvCache cache{.k = made.k_8_bits->view, .v = made.v_8_bits->view};
  return rotary::append(cache, {.k = made.k, .v = made.v}, rotary::ConsecutiveSlots{}).ok();
}

bool set_rotations(Attention& made) {
  const attention_job& job = made.job;
  if (job.encoding != ATTENTION_ROPE) return true;
  const auto frequencies =
      rotary::make_frequencies(rotary::RotarySpec{.head_dim = job.head_dim,
                                                  .rotary_dim = job.head_dim,
                                                  .base = job.base,
                                                  .pairing = rotary::Pairing::half});
  if (!frequencies) return false;
  const auto rows_of = [&](std::int64_t first, std::int64_t tokens) {
    return rotary::make_rotations(*frequencies,
                                  rotary::ConsecutivePositions{.first = first, .tokens = tokens});
  };
  auto of_q = rows_of(job.keys - job.queries, job.queries);
  auto of_k = rows_of(0, job.keys);
  if (!of_q || !of_k) return false;
  made.q_rotations = *std::move(of_q);
  made.k_rotations = *std::move(of_k);
  made.options.encoding.q_rotations = &*made.q_rotations;
  made.options.encoding.k_rotations = &*made.k_rotations;
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
  const auto bytes = made.k_8_bits
                         ? rotary::attend_bytes(made.q, keys_in_8_bits(made), made.options)
                         : rotary::attend_bytes(made.q, made.k, made.v, made.options);
  if (!bytes) return false;
  made.bytes = *bytes;
  made.memory = memory_of(made.bytes);
  made.options.memory = {made.memory.get(), made.bytes};
  return true;
}

}  // namespace

void* attention_rotary_make(const attention_job* job) {
  const rotary::Extents queries{
      .batch = 1, .tokens = job->queries, .heads = job->heads, .features = job->head_dim};
  const rotary::Extents keys{
      .batch = 1, .tokens = job->keys, .heads = job->key_heads, .features = job->head_dim};
  auto made = std::make_unique<Attention>(Attention{.job = *job,
                                                    .q = view_of(*job, job->q, queries),
                                                    .k = view_of(*job, job->k, keys),
                                                    .v = view_of(*job, job->v, keys),
                                                    .out = view_of(*job, job->out, queries)});
  made->options.scale = 1 / std::sqrt(static_cast<double>(job->head_dim));
  made->options.mask.order = rotary::AttentionOrder::causal;
  set_bias(*made);
  const bool ready =
      set_threads(*made) && quantize(*made) && set_rotations(*made) && set_memory(*made);
  return ready ? made.release() : nullptr;
}

std::int32_t attention_rotary_run(void* made) {
  const auto& each = *static_cast<const Attention*>(made);
  const auto status = each.k_8_bits
                          ? rotary::attend(each.out, each.q, keys_in_8_bits(each), each.options)
                          : rotary::attend(each.out, each.q, each.k, each.v, each.options);
  return status ? 0 : -1;
}

std::int64_t attention_rotary_bytes(void* made) {
  return static_cast<std::int64_t>(static_cast<const Attention*>(made)->bytes);
}

void attention_rotary_free(void* made) { delete static_cast<Attention*>(made); }

double attention_peak(std::int64_t steps) { return rotary::bench::multiply_and_add(steps); }

void attention_read(const void* data, std::int64_t count) {
  rotary::bench::read_bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(count));
}
