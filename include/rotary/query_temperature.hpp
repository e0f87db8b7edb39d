// SPDX-License-Identifier: Apache-2.0
// A factor on each query that depends on its position and keeps attention sharp over long contexts.
//
//   query_factor(LognTemperature{.trained_tokens = 8192}, 100000);  // > 1
#ifndef ROTARY_QUERY_TEMPERATURE_HPP
#define ROTARY_QUERY_TEMPERATURE_HPP

#include <cstdint>
#include <variant>

#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// 1 at every position.
struct NoTemperature {
  friend bool operator==(const NoTemperature&, const NoTemperature&) = default;
};

// 1 + scale * ln(1 + floor((position + offset) / interval)). Llama 4: scale 0.1, interval 8192,
// offset 1 (llama4/modeling_llama4.py). Ministral 3, Mistral 4: scale llama_4_scaling_beta,
// interval the original context, offset 0 (ministral3/modeling_ministral3.py).
struct StepTemperature {
  double scale = 0;                  // [0, 2^20]
  std::int64_t interval_tokens = 0;  // > 0
  std::int64_t offset = 0;           // 0 or 1

  friend bool operator==(const StepTemperature&, const StepTemperature&) = default;
};

// max(1, ln(position + 1) / ln(trained_tokens)): Qwen 1's use_logn_attn with seq_length.
struct LognTemperature {
  std::int64_t trained_tokens = 0;  // > 1

  friend bool operator==(const LognTemperature&, const LognTemperature&) = default;
};

// (1 + (position + 1) / interval)^exponent. Beam, in layers without rotation: exponent 0.1,
// interval 2048 (compute_attention_scaling in beam/modeling_beam.py).
struct PowerTemperature {
  double exponent = 0;               // [0, 1]
  std::int64_t interval_tokens = 0;  // > 0

  friend bool operator==(const PowerTemperature&, const PowerTemperature&) = default;
};

using QueryTemperature =
    std::variant<NoTemperature, StepTemperature, LognTemperature, PowerTemperature>;

// Checks the ranges above; within them the factors are finite at every position.
[[nodiscard]] ROTARY_API Status validate(const QueryTemperature& temperature) noexcept;

// The factor of a query at this position. Requires the ranges above and position >= 0.
[[nodiscard]] ROTARY_API double query_factor(const QueryTemperature& temperature,
                                             std::int64_t position) noexcept;

}  // namespace rotary

#endif  // ROTARY_QUERY_TEMPERATURE_HPP
