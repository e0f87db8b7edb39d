// SPDX-License-Identifier: Apache-2.0
#include "bench/attention/attention_job.hpp"

#include <cmath>
#include <random>
#include <utility>

#include "rotary/kv_cache.hpp"

namespace rotary::bench {
namespace {

Tensor tensor_of(const AttentionLine& line, std::int64_t tokens, std::int64_t heads) {
  return {line.shape.dtype,
          {.batch = 1, .tokens = tokens, .heads = heads, .features = line.shape.head_dim},
          Layout::heads_first};
}

}  // namespace

Int8Tensor::Int8Tensor(const Extents& n)
    : elements(static_cast<std::size_t>(n.tokens * n.heads * n.features)),
      scales(static_cast<std::size_t>(n.tokens * n.heads)),
      view{elements.data(), scales.data(), n, strides_bhtd(n), scale_strides_bhtd(n)} {}

AttentionTensors::AttentionTensors(const AttentionLine& line)
    : q(tensor_of(line, line.queries(), line.shape.heads)),
      k(tensor_of(line, line.tokens, line.shape.key_heads)),
      v(tensor_of(line, line.tokens, line.shape.key_heads)),
      out(tensor_of(line, line.queries(), line.shape.heads)) {
  q.fill(1);
  k.fill(2);
  v.fill(3);
  out.fill(4);
}

Result<std::unique_ptr<AttentionJob>> AttentionJob::make(const AttentionLine& line,
                                                         const AttentionTensors& tensors,
                                                         Executor executor) {
  std::unique_ptr<AttentionJob> job(new AttentionJob(line, tensors));
  if (auto status = job->make_rotations_of_tokens(); !status) return std::move(status).error();
  if (line.quantized()) {
    if (auto status = job->quantize(); !status) return std::move(status).error();
  }
  job->make_bias();
  job->make_vectors();
  check::AttendCall& call = job->call_;
  call.out = tensors.out.view();
  call.q = tensors.q.view();
  call.k = tensors.k.view();
  call.v = tensors.v.view();
  if (line.quantized()) call.set_quantized(job->k_->view, job->v_->view);
  AttendOptions& options = call.options;
  options.scale = 1 / std::sqrt(static_cast<double>(line.shape.head_dim));
  options.mask.order = AttentionOrder::causal;
  options.executor = executor;
  if (job->q_rotations_) options.encoding.q_rotations = &*job->q_rotations_;
  if (job->k_rotations_) options.encoding.k_rotations = &*job->k_rotations_;
  if (job->definition_.bias) options.encoding.bias = &*job->definition_.bias;
  if (job->shaw_keys_) options.encoding.shaw_keys = &*job->shaw_keys_;
  if (job->shaw_values_) options.encoding.shaw_values = &*job->shaw_values_;
  const auto bytes = check::bytes_for(call);
  if (!bytes) return bytes.error();
  job->memory_bytes_ = *bytes;
  job->memory_ = aligned_memory(*bytes);
  options.memory = {job->memory_.get(), *bytes};
  return job;
}

Status AttentionJob::quantize() {
  k_.emplace(tensors_.k.view().extents);
  v_.emplace(tensors_.v.view().extents);
  return append(QuantizedKvCache{.k = k_->view, .v = v_->view},
                {.k = tensors_.k.view(), .v = tensors_.v.view()}, ConsecutiveSlots{});
}

// Makes no rows for the keys of a decode step, because cached keys are already rotated.
Status AttentionJob::make_rotations_of_tokens() {
  if (line_.encoding->turns == Turns::none) return {};
  auto frequencies = make_frequencies(RotarySpec{.head_dim = line_.shape.head_dim,
                                                 .rotary_dim = line_.shape.head_dim,
                                                 .base = 10'000.0,
                                                 .pairing = Pairing::half});
  if (!frequencies) return frequencies.error();
  definition_.rotary =
      reference::Rotary{.window = frequencies->window, .inv_freq = frequencies->inv_freq};
  const std::int64_t queries = line_.queries();
  auto of_q = make_rotations(
      *frequencies, ConsecutivePositions{.first = line_.tokens - queries, .tokens = queries});
  if (!of_q) return of_q.error();
  q_rotations_ = *std::move(of_q);
  if (line_.step == AttentionStep::prefill) k_rotations_ = q_rotations_;
  return {};
}

void AttentionJob::make_bias() {
  if (line_.encoding->bias == nullptr) return;
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < t5_buckets * line_.shape.heads; ++i) {
    numbers_.push_back(normal(random));
  }
  definition_.bias = line_.encoding->bias(
      {.heads = line_.shape.heads, .head_dim = line_.shape.head_dim, .numbers = numbers_});
}

void AttentionJob::make_vectors() {
  if (line_.encoding->shaw == ShawParts::none) return;
  const ShawWindow window{.left = shaw_clip, .right = shaw_clip};
  const std::int64_t columns = line_.shape.head_dim;
  std::mt19937_64 random(6);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < 2 * window.rows() * columns; ++i) vectors_.push_back(normal(random));
  const auto table = [&](std::int64_t first) {
    return ShawTable{.window = window,
                     .table = {.data = vectors_.data() + first,
                               .dtype = DType::f32,
                               .rows = window.rows(),
                               .features = columns,
                               .row_stride = columns}};
  };
  shaw_keys_ = table(0);
  if (line_.encoding->shaw == ShawParts::keys_and_values)
    shaw_values_ = table(window.rows() * columns);
}

Status AttentionJob::run(std::int64_t calls) const {
  for (std::int64_t call = 0; call < calls; ++call) {
    if (auto status = check::run(call_); !status) return status;
  }
  return {};
}

}  // namespace rotary::bench
