// SPDX-License-Identifier: Apache-2.0

#include "lab/torch/learner.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/torch/choice.hpp"
#include "lab/torch/evaluate.hpp"
#include "lab/torch/pair_influence.hpp"
#include "lab/torch/transformer.hpp"
#include "lab/torch/translation.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {

namespace {

// Learns causal_lm and masked_lm: a transformer on the bytes of a text.
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
    const std::int64_t first = share.begin(shape.rows);
    return loss_of(model_, part_of(batch, first, share.end(shape.rows) - first));
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

struct Answers {
  double loss = 0;  // the sum over all bytes
  std::int64_t bytes = 0;
  std::int64_t right_bytes = 0;
  std::int64_t questions = 0;
  std::int64_t right_questions = 0;
};

void add_answers(Answers& answers, Transformer& model, const Batch& batch) {
  const auto inputs = to_tensor(batch.inputs).view({batch.shape.rows, batch.shape.tokens});
  const auto targets = to_tensor(batch.targets);
  const auto logits = model->forward(inputs, to_tensor(batch.predicted));
  answers.loss += at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum).item<double>();
  const auto right = logits.argmax(1) == targets;
  // All questions have the same number of symbols, so all answers have the same number of bytes.
  const auto of_questions = right.view({batch.shape.rows, -1}).all(1);
  answers.right_bytes += right.sum().item<std::int64_t>();
  answers.right_questions += of_questions.sum().item<std::int64_t>();
  answers.bytes += std::ssize(batch.targets);
  answers.questions += batch.shape.rows;
}

// Learns copy, reverse and addition: a decoder trained on short questions and tested with 1, 1.5
// and 2 times as many symbols. Its metrics, here for 1.5x:
//   loss@1.5x      nats per byte of the answers
//   accuracy@1.5x  share of answer bytes that the model predicts after the right preceding bytes
//   exact@1.5x     share of answers whose bytes are all predicted: the model would write them
class Sequences final : public Learner {
 public:
  explicit Sequences(const Cell& cell)
      : cell_(cell),
        symbols_(symbols_that_fit(cell.model.task, cell.model.tokens)),
        model_(cell.model, cell.encoding, cell.seed) {
    model_->to(device());
  }

  torch::nn::Module& model() override { return *model_; }

  LossSum training_loss(std::int64_t step, const Share& share) override {
    const std::int64_t rows = cell_.training.batch;
    const Batch batch = sequence_training_batch(
        {.task = cell_.model.task, .rows = rows, .symbols = symbols_}, cell_.seed, step);
    const std::int64_t first = share.begin(rows);
    return loss_of(model_, part_of(batch, first, share.end(rows) - first));
  }

  double validation_loss() override {
    const Answers answers = ask(symbols_);
    return answers.loss / static_cast<double>(answers.bytes);
  }

  void examine(Outcome& outcome, const RunDirectory& /*directory*/) override {
    for (const auto& [name, symbols] :
         {std::pair("@1x", symbols_), std::pair("@1.5x", symbols_ * 3 / 2),
          std::pair("@2x", symbols_ * 2)}) {
      if (!model_->positions()->reaches(sequence_tokens(cell_.model.task, symbols))) continue;
      const Answers answers = ask(symbols);
      const auto bytes = static_cast<double>(answers.bytes);
      outcome.metrics[std::string("loss") + name] = answers.loss / bytes;
      outcome.metrics[std::string("accuracy") + name] =
          static_cast<double>(answers.right_bytes) / bytes;
      outcome.metrics[std::string("exact") + name] =
          static_cast<double>(answers.right_questions) / static_cast<double>(answers.questions);
    }
  }

 private:
  // Questions of `symbols` symbols, the same in all cells of the task.
  Answers ask(std::int64_t symbols) {
    const torch::NoGradGuard no_gradient;
    const std::int64_t rows = cell_.training.validation_rows;
    const Batch all =
        sequence_validation_batch({.task = cell_.model.task, .rows = rows, .symbols = symbols});
    Answers answers;
    for (std::int64_t first = 0; first < rows; first += cell_.training.batch) {
      const std::int64_t some = std::min(cell_.training.batch, rows - first);
      add_answers(answers, model_, part_of(all, first, some));
    }
    return answers;
  }

  Cell cell_;
  std::int64_t symbols_;  // of the longest question in training
  Transformer model_;
};

}  // namespace

std::unique_ptr<Learner> make_learner(const Cell& cell, const Dataset& data) {
  switch (cell.model.task) {
    case Task::causal_lm:
    case Task::masked_lm:
      return std::make_unique<LanguageModel>(cell, data);
    case Task::translation:
      return make_translation(cell, data);
    case Task::triplets:
    case Task::sections:
    case Task::same_document:
    case Task::similarity:
      return make_choice(cell, data);
    case Task::copy:
    case Task::reverse:
    case Task::addition:
      return std::make_unique<Sequences>(cell);
  }
  throw cli::Failure(cli::ExitCode::unsupported,
                     fmt::format("{} is not a task of this version", to_string(cell.model.task)));
}

}  // namespace rotary::lab
