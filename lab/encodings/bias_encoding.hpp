// SPDX-License-Identifier: Apache-2.0
// Trainable relative biases: their initial numbers, and the core library's RelativeBias for given
// numbers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lab/data/batches.hpp"
#include "lab/experiment/model_config.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::lab {

// A bias without the model's sizes and the learned numbers, which make_bias() adds.
struct BiasEncoding {
  // The settings. Training learns a multiplier of FIRE's threshold, as in DAPE. FIRE's
  // hidden_weight has the network's width.
  RelativeBias bias;
  // The standard deviation of T5's table; absent: 1/sqrt(d_model), as in T5.
  std::optional<double> initial_std = {};
};

// The trainable numbers. Number n of the bias (in parameter_count's order) starts as start[n] *
// scale[n]; its gradient is scaled too. Empty if nothing is trained.
struct BiasParameters {
  std::vector<double> start;
  std::vector<double> scale;
};

[[nodiscard]] BiasParameters initial_parameters(const BiasEncoding& encoding,
                                                const ModelConfig& model, Random& random);

// Limits the numbers to the allowed range, as KERPLE's authors do before each use.
void constrain(const BiasEncoding& encoding, const ModelConfig& model, std::span<double> numbers);

// The numbers must outlive the bias, because T5's bias keeps a view of them.
[[nodiscard]] RelativeBias make_bias(const BiasEncoding& encoding, const ModelConfig& model,
                                     std::span<const double> numbers);

// Whether all layers share one bias (T5, ALiBi, Sandwich).
[[nodiscard]] bool shared_by_layers(const BiasEncoding& encoding) noexcept;

}  // namespace rotary::lab
