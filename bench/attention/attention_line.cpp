// SPDX-License-Identifier: Apache-2.0
#include "bench/attention/attention_line.hpp"

#include <fmt/format.h>

namespace rotary::bench {
namespace {

constexpr std::int64_t peak_from = 2048;     // tokens of a prefill
constexpr std::int64_t read_from = 32'768;   // keys of a decode step
constexpr double least_of_peak = 0.70;       // share of a core's peak of multiply-adds
constexpr double least_of_bandwidth = 0.85;  // share of the speed of reading keys and values

// Goals of n > 1 threads.
constexpr double least_speedup = 0.95;              // prefill: share of n times one thread's speed
constexpr double least_of_shared_bandwidth = 0.90;  // decode: share of the bandwidth of n threads

// The most time of a decode step over an int8 cache, relative to a cache of the shape's dtype. With
// one query head per key head, memory limits the speed. With several, multiply-adds do.
constexpr double most_of_int8 = 0.35;
constexpr double most_of_grouped_int8 = 0.5;

bool is_base(const AttentionLine& line) { return line.encoding == &bench_encodings().front(); }

std::int64_t elements(const AttentionLine& line, std::int64_t tokens, std::int64_t heads) {
  return tokens * heads * line.shape.head_dim;
}

}  // namespace

std::string_view to_string(AttentionStep step) noexcept {
  return step == AttentionStep::prefill ? "prefill" : "decode";
}

std::string describe(const AttentionLine& line) {
  return fmt::format("{}: {} of {} token{}{}", line.encoding->name, to_string(line.step),
                     line.tokens, line.tokens == 1 ? "" : "s",
                     line.threads == 1 ? std::string() : fmt::format(", {} threads", line.threads));
}

double operations_of(const AttentionLine& line) {
  const auto tokens = static_cast<double>(line.tokens);
  const double pairs = line.step == AttentionStep::prefill ? tokens * (tokens + 1) / 2 : tokens;
  return 4 * pairs * static_cast<double>(line.shape.heads * line.shape.head_dim);
}

std::int64_t cache_bytes(const AttentionLine& line) {
  if (line.quantized()) {
    const std::int64_t heads = 2 * line.tokens * line.shape.key_heads;
    return heads * (line.shape.head_dim + size_in_bytes(DType::f32));
  }
  return 2 * elements(line, line.tokens, line.shape.key_heads) * size_in_bytes(line.shape.dtype);
}

std::int64_t needed_bytes(const AttentionLine& line) {
  const std::int64_t q = 2 * elements(line, line.queries(), line.shape.heads);
  const std::int64_t k = elements(line, line.tokens, line.shape.key_heads);
  const std::int64_t doubles = line.quantized() ? 5 * k : 4 * k;  // copies of k and v in double
  const std::int64_t int8 = line.quantized() ? cache_bytes(line) : 0;
  return (q + 2 * k) * size_in_bytes(line.shape.dtype) + doubles * size_in_bytes(DType::f64) + int8;
}

std::int64_t scores_bytes(const AttentionLine& line) {
  return line.shape.heads * line.queries() * line.tokens * size_in_bytes(DType::f32);
}

std::optional<AttentionGoal> goal_of(const AttentionLine& line) {
  using Unit = AttentionGoalUnit;
  const bool alone = line.threads == 1;
  if (line.step == AttentionStep::decode) {
    if (line.tokens < read_from) return std::nullopt;
    if (line.quantized() && alone) {
      const bool grouped = line.shape.heads > line.shape.key_heads;
      return AttentionGoal{Unit::ratio, grouped ? most_of_grouped_int8 : most_of_int8};
    }
    if (!is_base(line)) return std::nullopt;
    return AttentionGoal{Unit::share, alone ? least_of_bandwidth : least_of_shared_bandwidth};
  }
  if (is_base(line)) {
    if (line.tokens < peak_from) return std::nullopt;
    if (alone) return AttentionGoal{Unit::share, least_of_peak};
    return AttentionGoal{Unit::speedup, least_speedup * static_cast<double>(line.threads)};
  }
  std::optional<AttentionGoal> goal;
  if (!alone) return goal;
  for (const RatioGoal& of : line.encoding->goals) {
    if (line.tokens >= of.tokens) goal = AttentionGoal{Unit::ratio, of.most};
  }
  return goal;
}

}  // namespace rotary::bench
