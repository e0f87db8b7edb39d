// SPDX-License-Identifier: Apache-2.0
// Relative biases as an encoding to train: what they begin with, and the RelativeBias of the core
// library that the numbers of one moment make.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lab/experiment/model_config.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::lab {

struct T5Encoding {
  std::int64_t buckets = 0;
  std::int64_t max_distance = 0;
  // Standard deviation of the table. Absent: 1/sqrt(d_model), as T5 begins (Mesh TensorFlow;
  // Transformers).
  std::optional<double> initial_std = {};
};

// Slopes are not learned.
struct AlibiEncoding {
  double bias_max = 8;
};

// A bias that is a formula of the distance and of each head's numbers: KERPLE, TISA. The facts of
// its parameters (rotary/describe.hpp) say where they begin.
struct FormulaEncoding {
  std::string name;        // of relative_bias_names()
  std::int64_t units = 0;  // of a sum: TISA's kernels
};

// The network begins as torch's Linear does: uniform in ±1/sqrt(inputs).
struct FireEncoding {
  std::int64_t width = 0;
  double c = 0;
  double threshold = 0;  // tokens; what is learned is a multiplier of it, as in DAPE
};

struct SandwichEncoding {
  double base = 0;
};

using BiasEncoding =
    std::variant<T5Encoding, AlibiEncoding, FormulaEncoding, FireEncoding, SandwichEncoding>;

// A number in (0, 1), another one at each call.
using Uniform = std::function<double()>;

// The numbers that training changes: number n of the bias (in the order of parameter_count) is
// start[n] * scale[n] in the beginning, and its gradient is scaled likewise. Empty: nothing.
struct BiasParameters {
  std::vector<double> start;
  std::vector<double> scale;
};

[[nodiscard]] BiasParameters initial_parameters(const BiasEncoding& encoding,
                                                const ModelConfig& model, const Uniform& uniform);

// Keeps the numbers in what the encoding allows, as the authors of KERPLE do before each use.
void constrain(const BiasEncoding& encoding, std::span<double> numbers);

// A bias that reads numbers, which must outlive it: T5 keeps a view of them.
[[nodiscard]] RelativeBias make_bias(const BiasEncoding& encoding, const ModelConfig& model,
                                     std::span<const double> numbers);

// Whether one bias serves all layers (T5, ALiBi, Sandwich) or each layer has its own.
[[nodiscard]] bool shared_by_layers(const BiasEncoding& encoding) noexcept;

}  // namespace rotary::lab
