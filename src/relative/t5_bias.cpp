// SPDX-License-Identifier: Apache-2.0
// Buckets in T5's float32 arithmetic. The logarithm is computed in double and rounded. It equals
// logf of torch and of the C library except for a few inputs.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/evaluators.hpp"

namespace rotary {
namespace relative {
namespace {

// The buckets of one direction.
struct Sides {
  std::int64_t buckets = 0;  // n
  std::int64_t exact = 0;    // m: the first m buckets hold a single distance each
};

Sides sides_of(const T5Buckets& buckets) noexcept {
  const bool both = buckets.direction == T5Direction::bidirectional;
  const std::int64_t n = both ? buckets.buckets / 2 : buckets.buckets;
  return {.buckets = n, .exact = n / 2};
}

float log_of(float value) noexcept {
  return static_cast<float>(std::log(static_cast<double>(value)));
}

// The bucket among the n of one direction, for a distance of at least m.
std::int64_t wide_bucket(std::uint64_t distance, const Sides& sides, const T5Buckets& buckets) {
  const auto exact = static_cast<double>(sides.exact);
  const auto wide = static_cast<float>(sides.buckets - sides.exact);
  const double log_of_all = std::log(static_cast<double>(buckets.max_distance) / exact);
  double bucket = 0;
  switch (buckets.rounding) {
    case T5Rounding::transformers: {
      const float ratio = static_cast<float>(distance) / static_cast<float>(sides.exact);
      const float scaled = log_of(ratio) / static_cast<float>(log_of_all) * wide;
      bucket = exact + std::trunc(static_cast<double>(scaled));
      break;
    }
    case T5Rounding::ggml: {
      const auto ratio = static_cast<float>(static_cast<double>(distance) / exact);
      const float product = log_of(ratio) * wide;
      const auto sum = static_cast<float>(exact + static_cast<double>(product) / log_of_all);
      bucket = static_cast<double>(std::floor(sum));
      break;
    }
  }
  const auto last = static_cast<double>(sides.buckets - 1);
  return static_cast<std::int64_t>(std::min(bucket, last));
}

Status check_buckets(const T5Buckets& spec) {
  if (spec.direction != T5Direction::bidirectional && spec.direction != T5Direction::causal) {
    return invalid_argument("direction must be bidirectional or causal, got value ",
                            static_cast<std::int32_t>(spec.direction));
  }
  if (spec.rounding != T5Rounding::transformers && spec.rounding != T5Rounding::ggml) {
    return invalid_argument("rounding must be transformers or ggml, got value ",
                            static_cast<std::int32_t>(spec.rounding));
  }
  const bool both = spec.direction == T5Direction::bidirectional;
  constexpr std::int64_t most_buckets = std::int64_t{1} << 24;  // each is exact in float32
  if (spec.buckets < (both ? 4 : 2) || spec.buckets > most_buckets ||
      (both && spec.buckets % 2 != 0)) {
    return invalid_argument("buckets must be ", both ? "even, from 4 to 2^24" : "from 2 to 2^24",
                            ", got ", spec.buckets);
  }
  const std::int64_t exact = sides_of(spec).exact;
  if (spec.max_distance <= exact) {
    return invalid_argument("max_distance must be more than the ", exact,
                            " buckets of a single distance, got ", spec.max_distance);
  }
  return {};
}

}  // namespace

std::int64_t bucket_of(std::int64_t relative_position, const T5Buckets& buckets) noexcept {
  const Sides sides = sides_of(buckets);
  const bool after = relative_position > 0;
  // Unsigned, because int64 has no +2^63.
  const auto bits = static_cast<std::uint64_t>(relative_position);
  const std::uint64_t magnitude = after ? bits : 0 - bits;
  std::int64_t first = 0;
  std::uint64_t distance = magnitude;
  if (buckets.direction == T5Direction::bidirectional) {
    first = after ? sides.buckets : 0;
  } else if (after) {
    distance = 0;
  }
  if (distance < static_cast<std::uint64_t>(sides.exact))
    return first + static_cast<std::int64_t>(distance);
  return first + wide_bucket(distance, sides, buckets);
}

Status check(const T5Bias& bias) {
  if (auto status = check_buckets(bias.buckets); !status) return status;
  if (bias.table.rows != bias.buckets.buckets || bias.table.features < 1) {
    return invalid_argument("the table must have ", bias.buckets.buckets,
                            " rows, one for each bucket, and a column for each head, got rows ",
                            bias.table.rows, ", columns ", bias.table.features);
  }
  return check_memory(named("table", bias.table));
}

double T5Evaluator::shared_term(const PairOfPositions& pair) const noexcept {
  return static_cast<double>(bucket_of(pair.relative(), bias_.buckets));
}

double T5Evaluator::value(std::int64_t head, double term) const noexcept {
  const ConstTableView& table = bias_.table;
  const auto bucket = static_cast<std::int64_t>(term);
  return load(table.data, table.dtype, bucket * table.row_stride + head * table.feature_stride);
}

void T5Evaluator::add_gradient(std::span<double> sums, const Upstream& upstream) const noexcept {
  const auto bucket = static_cast<std::int64_t>(upstream.term);
  sums[to_size(bucket * bias_.table.features + upstream.head)] += upstream.gradient;
}

}  // namespace relative

Result<std::int64_t> t5_bucket(std::int64_t relative_position, const T5Buckets& buckets) noexcept {
  return guarded([&]() -> Result<std::int64_t> {
    if (auto status = relative::check_buckets(buckets); !status) return status.error();
    return relative::bucket_of(relative_position, buckets);
  });
}

}  // namespace rotary
