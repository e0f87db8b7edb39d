// SPDX-License-Identifier: Apache-2.0
// One line of the attention benchmark with its tensors, ready to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/attention/attention_line.hpp"
#include "bench/tensor.hpp"
#include "check/attend_call.hpp"
#include "rotary/executor.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

// Filled tensors. All lines of one step, size and shape share them.
struct AttentionTensors {
  explicit AttentionTensors(const AttentionLine& line);

  Tensor q;
  Tensor k;
  Tensor v;
  Tensor out;
};

// Keys or values in 8 bits, [heads, tokens, features].
struct Int8Tensor {
  std::vector<std::int8_t> elements;
  std::vector<float> scales;
  QuantizedHeadsView view;

  explicit Int8Tensor(const Extents& n);
};

class AttentionJob {
 public:
  // Prepares a call, its working memory, and the data that a model makes once for all layers, such
  // as cos/sin rows. tensors and the executor must outlive the job.
  [[nodiscard]] static Result<std::unique_ptr<AttentionJob>> make(const AttentionLine& line,
                                                                  const AttentionTensors& tensors,
                                                                  Executor executor = {});

  [[nodiscard]] Status run(std::int64_t calls) const;

  [[nodiscard]] const AttentionLine& line() const { return line_; }
  // The call to run, and the definition of its encoding.
  [[nodiscard]] const check::AttendCall& call() const { return call_; }
  [[nodiscard]] const reference::AttentionEncoding& definition() const { return definition_; }
  [[nodiscard]] std::size_t memory_bytes() const { return memory_bytes_; }

 private:
  AttentionJob(const AttentionLine& line, const AttentionTensors& tensors)
      : line_(line), tensors_(tensors) {}
  [[nodiscard]] Status make_rotations_of_tokens();
  [[nodiscard]] Status quantize();
  void make_bias();
  void make_vectors();

  AttentionLine line_;
  const AttentionTensors& tensors_;
  std::optional<Int8Tensor> k_;
  std::optional<Int8Tensor> v_;
  std::optional<Rotations> q_rotations_;
  std::optional<Rotations> k_rotations_;
  std::vector<float> numbers_;
  std::vector<float> vectors_;  // Shaw's vectors for keys, then for values
  std::optional<ShawTable> shaw_keys_;
  std::optional<ShawTable> shaw_values_;
  std::size_t memory_bytes_ = 0;
  AlignedMemory memory_;
  check::AttendCall call_;
  reference::AttentionEncoding definition_;
};

}  // namespace rotary::bench
