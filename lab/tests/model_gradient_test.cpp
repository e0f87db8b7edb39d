// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "lab/data/batches.hpp"
#include "lab/tests/finite_differences.hpp"
#include "lab/tests/made_documents.hpp"
#include "lab/torch/evaluate.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {
namespace {

class Gradients : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(Tasks, Gradients, testing::Values(Task::causal_lm, Task::masked_lm),
                         [](const auto& task) { return std::string(to_string(task.param)); });

TEST_P(Gradients, EqualFiniteDifferences) {
  const ModelConfig config{
      .task = GetParam(), .d_model = 16, .layers = 2, .heads = 2, .tokens = 11};
  const Batch batch = training_batch(
      made_text(1, 1000), {.task = config.task, .rows = 2, .tokens = config.tokens}, 1, 0);
  for (const NamedEncoding& named : named_encodings()) {
    SCOPED_TRACE(named.name);
    Transformer model(config, parse_encoding(settings_for_differences(named), config.head_dim()),
                      1);
    expect_gradients_of_differences(*model, [&] {
      const auto [sum, count] = loss_of(model, batch);
      return sum / count;
    });
  }
}

}  // namespace
}  // namespace rotary::lab
