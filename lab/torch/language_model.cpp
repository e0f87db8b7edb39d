// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/language_model.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/data/batches.hpp"
#include "lab/torch/device.hpp"
#include "lab/torch/evaluate.hpp"
#include "lab/torch/pair_influence.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {
namespace {

class LanguageModel final : public Learner {
 public:
  LanguageModel(const Cell& cell, const Dataset& data)
      : cell_(cell), data_(data), model_(cell.model, cell.encoding, cell.seed) {
    model_->to(device());
  }

  torch::nn::Module& model() override { return *model_; }

  LossSum training_loss(std::int64_t step, const Share& share) override {
    const BatchShape shape{
        .task = cell_.model.task, .rows = cell_.training.batch, .tokens = cell_.model.tokens};
    const Batch batch = training_batch(data_.train, shape, cell_.seed, step);
    const std::int64_t first = shape.rows * share.part / share.parts;
    const std::int64_t end = shape.rows * (share.part + 1) / share.parts;
    return loss_of(model_, share.parts == 1 ? batch : part_of(batch, first, end - first));
  }

  double validation_loss() override {
    const std::int64_t multiple = cell_.model.tokens / unit_of(cell_);
    return *validate(model_, cell_, data_.validation, multiple).loss;
  }

  void examine(Outcome& outcome, const RunDirectory& /*directory*/) override {
    outcome.lengths = validate_lengths(model_, cell_, data_.validation);
    if (cell_.training.pair_rows == 0) return;
    outcome.pairs = pair_influences(model_, cell_, data_.validation);
    outcome.metrics = metrics_of_pairs(outcome.pairs);
  }

 private:
  Cell cell_;
  const Dataset& data_;
  Transformer model_;
};

}  // namespace

std::unique_ptr<Learner> make_language_model(const Cell& cell, const Dataset& data) {
  return std::make_unique<LanguageModel>(cell, data);
}

}  // namespace rotary::lab
