// SPDX-License-Identifier: Apache-2.0
// A model's gradient against differences of its loss, in f64.
//
// (8 (L(x + h) - L(x - h)) - (L(x + 2h) - L(x - 2h))) / 12h differs from the derivative by
// h⁴ L⁽⁵⁾ / 30 and by rounding, about 1.5 · 2^-53 · |L| / h. With h = 1e-5 and |L| = 5.5 rounding
// is about 1e-10. The first term is below 1e-9 if L⁽⁵⁾ is below 3e12. L⁽⁵⁾ is only about 6e6: a
// layer norm divides embeddings of about 0.02, so the n-th derivative is about 50^(n - 1).
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/encodings/encoding.hpp"

namespace rotary::lab {

// The derivative of loss() by the number. loss() returns an at::Tensor: the mean over a batch.
double difference(const auto& loss, double& number) {
  constexpr double step = 1e-5;
  const torch::NoGradGuard no_gradient;
  const double kept = number;
  const auto loss_beside = [&](double steps) {
    number = kept + steps * step;
    return loss().template item<double>();
  };
  const double near = loss_beside(1) - loss_beside(-1);
  const double far = loss_beside(2) - loss_beside(-2);
  number = kept;
  return (8 * near - far) / (12 * step);
}

// Up to 95 indices, evenly spaced, of an encoding's parameter; up to three of another parameter.
inline std::vector<std::int64_t> indices_to_check(const at::Tensor& parameter, bool of_encoding) {
  const std::int64_t count = parameter.numel();
  const std::int64_t stride =
      of_encoding ? std::max<std::int64_t>(1, count / 48) : std::max<std::int64_t>(1, count / 2);
  std::vector<std::int64_t> indices;
  for (std::int64_t index = 0; index < count; index += stride) indices.push_back(index);
  return indices;
}

// Converts the model to f64 and enlarges its scores. Initial scores are almost 0, so positions
// would have almost no effect.
inline void enlarge_scores(torch::nn::Module& model) {
  model.to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (auto& parameter : model.named_parameters()) {
    const std::string& name = parameter.key();
    if (name.ends_with("qkv.weight") || name.ends_with("cross_q.weight")) parameter.value().mul_(8);
  }
}

void expect_gradients_of_differences(torch::nn::Module& model, const auto& loss) {
  constexpr double tolerance = 1e-9;
  enlarge_scores(model);
  loss().backward();
  for (auto& parameter : model.named_parameters()) {
    const bool of_encoding = parameter.key().find("positions.") != std::string::npos;
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    const auto gradient = parameter.value().grad().contiguous();
    for (const std::int64_t index : indices_to_check(parameter.value(), of_encoding)) {
      double& number = parameter.value().template data_ptr<double>()[index];
      const double expected = difference(loss, number);
      EXPECT_NEAR(gradient.template data_ptr<double>()[index], expected,
                  tolerance * (1 + std::abs(expected)))
          << parameter.key() << " " << index;
    }
  }
}

// FIRE's hidden units have corners (ReLU). With 32 units, some corner would be within 2h.
inline nlohmann::json settings_for_differences(const NamedEncoding& named) {
  nlohmann::json settings = encoding_settings(std::string(named.name));
  if (named.name == "fire") settings["width"] = 4;
  return settings;
}

}  // namespace rotary::lab
