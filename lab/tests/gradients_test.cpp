// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <set>
#include <string>
#include <string_view>

#include "lab/tests/finite_differences.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/learner.hpp"

namespace rotary::lab {
namespace {

const Dataset& data_for(const Cell& cell) {
  static const Dataset documents = tagged_documents(200, 160);
  if (is_choice(cell.model.task)) return documents;
  return cell.model.task == Task::translation ? small_pairs() : small_data();
}

class Gradients : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tasks, Gradients,
                         testing::Values("causal_lm", "masked_lm", "translation", "triplets",
                                         "sections", "same_document", "similarity"),
                         [](const auto& task) { return std::string(task.param); });

TEST_P(Gradients, EqualFiniteDifferences) {
  // One encoding for each place in a model.
  const std::set<std::string_view> places = {"rope", "learned", "t5", "shaw"};
  for (const NamedEncoding& named : named_encodings()) {
    Cell cell = tiny_cells(GetParam(), {std::string(named.name)}, 1)[0];
    const bool is_language_model =
        cell.model.task == Task::causal_lm || cell.model.task == Task::masked_lm;
    if (!is_language_model && !places.contains(named.name)) continue;
    SCOPED_TRACE(named.name);
    cell.model.d_model = 16;
    if (cell.model.task != Task::translation) cell.model.tokens = 11;
    cell.training.batch = 2;
    cell.encoding = parse_encoding(settings_for_differences(named), cell.model.head_dim());
    const auto learner = make_learner(cell, data_for(cell));
    if (at::Tensor* segments = learner->model().named_parameters().find("segments")) {
      // Segments start at zero, where their gradients are equal. Other values make them differ.
      const torch::NoGradGuard no_gradient;
      segments->copy_(at::arange(32, at::kFloat).view({2, 16}) * 0.001);
    }
    expect_gradients_of_differences(learner->model(), [&] {
      const auto [sum, count] = learner->training_loss(0, {});
      return sum / count;
    });
  }
}

}  // namespace
}  // namespace rotary::lab
