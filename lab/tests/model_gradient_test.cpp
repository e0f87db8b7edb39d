// SPDX-License-Identifier: Apache-2.0
// The gradient of a whole model, with each encoding, against differences of the loss in f64.
//
// (8 (L(x + h) - L(x - h)) - (L(x + 2h) - L(x - 2h))) / 12h differs from the derivative by h⁴ L⁽⁵⁾
// / 30 and by rounding, 1.5 · 2^-53 · |L| · operations / h. With h = 1e-4, |L| = 5.5 and a few
// hundred operations one after the other rounding is below 1e-9, and so is the first as long as
// L⁽⁵⁾ is below 1e8: a layer norm divides what embeddings of 0.02 begin with, so a derivative of
// order n has the size of 50^(n - 1), 6e6.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/data/batches.hpp"
#include "lab/data/grammar.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/evaluate.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {
namespace {

constexpr double step = 1e-4;
constexpr double tolerance = 1e-9;

double loss_at(Transformer& model, const Batch& batch) {
  const torch::NoGradGuard no_gradient;
  const auto [sum, count] = loss_of(model, batch);
  return sum.item<double>() / static_cast<double>(count);
}

double difference(Transformer& model, const Batch& batch, double& number) {
  const double kept = number;
  const auto loss_beside = [&](double steps) {
    number = kept + steps * step;
    return loss_at(model, batch);
  };
  const double near = loss_beside(1) - loss_beside(-1);
  const double far = loss_beside(2) - loss_beside(-2);
  number = kept;
  return (8 * near - far) / (12 * step);
}

// All that an encoding learns, and of other parameters a few.
std::vector<std::int64_t> indices_of(const at::Tensor& parameter, bool of_encoding) {
  const std::int64_t count = parameter.numel();
  const std::int64_t stride =
      of_encoding ? std::max<std::int64_t>(1, count / 48) : std::max<std::int64_t>(1, count / 2);
  std::vector<std::int64_t> indices;
  for (std::int64_t index = 0; index < count; index += stride) indices.push_back(index);
  return indices;
}

// A hidden unit of FIRE has a corner, and of 32 of them, over all distances, one is within 2h of
// it.
nlohmann::json settings_of(const NamedEncoding& named) {
  nlohmann::json settings = encoding_settings(std::string(named.name));
  if (named.name == "fire") settings["width"] = 4;
  return settings;
}

class Gradients : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(Tasks, Gradients, testing::Values(Task::causal_lm, Task::masked_lm),
                         [](const auto& task) { return std::string(to_string(task.param)); });

TEST_P(Gradients, AreThoseOfDifferences) {
  const ModelConfig config{
      .task = GetParam(), .d_model = 16, .layers = 2, .heads = 2, .tokens = 11};
  const Batch batch = training_batch(
      generate_text(1, 1000).text, {.task = config.task, .rows = 2, .tokens = config.tokens}, 1, 0);
  for (const NamedEncoding& named : named_encodings()) {
    const Encoding encoding = parse_encoding(settings_of(named), config.head_dim());
    Transformer model(config, encoding, 1);
    model->to(at::kDouble);
    {
      // As they begin, scores are next to nothing, and so is what positions do.
      const torch::NoGradGuard no_gradient;
      for (auto& parameter : model->named_parameters()) {
        if (parameter.key().find("qkv.weight") != std::string::npos) parameter.value().mul_(8);
      }
    }
    const auto [sum, count] = loss_of(model, batch);
    (sum / count).backward();
    for (auto& parameter : model->named_parameters()) {
      const bool of_encoding = parameter.key().starts_with("positions.");
      ASSERT_TRUE(parameter.value().grad().defined()) << named.name << ": " << parameter.key();
      const auto gradient = parameter.value().grad().contiguous();
      for (const std::int64_t index : indices_of(parameter.value(), of_encoding)) {
        double& number = parameter.value().data_ptr<double>()[index];
        const double expected = difference(model, batch, number);
        EXPECT_NEAR(gradient.data_ptr<double>()[index], expected,
                    tolerance * (1 + std::abs(expected)))
            << named.name << ": " << parameter.key() << " " << index;
      }
    }
  }
}

}  // namespace
}  // namespace rotary::lab
