// SPDX-License-Identifier: Apache-2.0
// One measurement of `rotary bench attention`: causal attention with one encoding, in a prefill or
// a decode step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/attention/encodings.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

// The heads of one batch row, [heads, tokens, features] in memory.
struct AttentionHeads {
  std::int64_t heads = 8;
  std::int64_t key_heads = 8;
  std::int64_t head_dim = 64;
  DType dtype = DType::f32;  // of q, k, v and the result
};

enum class AttentionStep {
  prefill,  // as many queries as keys
  decode,   // one query, the last
};

[[nodiscard]] std::string_view to_string(AttentionStep step) noexcept;

struct AttentionLine {
  const BenchEncoding* encoding = nullptr;
  AttentionStep step = AttentionStep::prefill;
  std::int64_t tokens = 0;  // keys
  AttentionHeads shape = {};
  std::int64_t threads = 1;

  [[nodiscard]] bool quantized() const {
    return encoding != nullptr && encoding->storage == Storage::int8;
  }
  [[nodiscard]] std::int64_t queries() const { return step == AttentionStep::prefill ? tokens : 1; }
};

// "rope: prefill of 512 tokens, 2 threads".
[[nodiscard]] std::string describe(const AttentionLine& line);

// Arithmetic operations for visible scores and values: 4 per feature, query and key.
[[nodiscard]] double operations_of(const AttentionLine& line);

// Bytes of keys and values, including scales.
[[nodiscard]] std::int64_t cache_bytes(const AttentionLine& line);

// Bytes of the tensors and of the reference's copies in double.
[[nodiscard]] std::int64_t needed_bytes(const AttentionLine& line);

// Bytes of all float32 scores, for an implementation that stores the scores.
[[nodiscard]] std::int64_t scores_bytes(const AttentionLine& line);

// ratio: time relative to attention without encoding. share: fraction of the roofline. speedup:
// over one thread.
enum class AttentionGoalUnit { ratio, share, speedup };

struct AttentionGoal {
  AttentionGoalUnit unit = AttentionGoalUnit::ratio;
  double limit = 0;  // at most this ratio, at least this share or speedup
};

// Absent if the line has no goal.
[[nodiscard]] std::optional<AttentionGoal> goal_of(const AttentionLine& line);

}  // namespace rotary::bench
