// SPDX-License-Identifier: Apache-2.0
// Trainable relative biases: their initial numbers, and the core library's RelativeBias for given
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lab/data/batches.hpp"
#include "lab/experiment/model_config.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::lab {

struct T5Encoding {
  std::int64_t buckets = 0;
  std::int64_t max_distance = 0;
  // The table's standard deviation; absent: 1/sqrt(d_model), as in T5.
  std::optional<double> initial_std = {};
};

// ALiBi's slopes are not learned.
struct AlibiEncoding {
  double bias_max = 8;
};

// A bias that is a formula of the distance and each head's numbers: KERPLE, TISA. The facts of its
// parameters (rotary/describe.hpp) give their initial values.
struct FormulaEncoding {
  std::string name;        // one of relative_bias_names()
  std::int64_t units = 0;  // terms of a sum: TISA's kernels
};

// The network starts like torch's Linear: uniform in ±1/sqrt(inputs).
struct FireEncoding {
  std::int64_t width = 0;
  double c = 0;
  double threshold = 0;  // in tokens; training learns a multiplier of it, as in DAPE
};

struct SandwichEncoding {
  double base = 0;
};

using BiasEncoding =
    std::variant<T5Encoding, AlibiEncoding, FormulaEncoding, FireEncoding, SandwichEncoding>;

// The trainable numbers. Number n of the bias (in parameter_count's order) starts as start[n] *
// scale[n]; its gradient is scaled too. Empty if nothing is trained.
struct BiasParameters {
  std::vector<double> start;
  std::vector<double> scale;
};

[[nodiscard]] BiasParameters initial_parameters(const BiasEncoding& encoding,
                                                const ModelConfig& model, Random& random);

// Limits the numbers to the allowed range, as KERPLE's authors do before each use.
void constrain(const BiasEncoding& encoding, std::span<double> numbers);

// The numbers must outlive the bias, because T5's bias keeps a view of them.
[[nodiscard]] RelativeBias make_bias(const BiasEncoding& encoding, const ModelConfig& model,
                                     std::span<const double> numbers);

// Whether all layers share one bias (T5, ALiBi, Sandwich).
[[nodiscard]] bool shared_by_layers(const BiasEncoding& encoding) noexcept;

}  // namespace rotary::lab
