// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/choice.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/data/examples.hpp"
#include "lab/experiment/statistics.hpp"
#include "lab/torch/positions.hpp"
#include "lab/torch/transformer.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {
namespace {

// Weights have Transformer's names, so that it can start from its checkpoints.
class ChoiceModelImpl : public torch::nn::Module {
 public:
  ChoiceModelImpl(const Cell& cell, const ChoiceShape& shape) : shape_(shape) {
    namespace nn = torch::nn;
    const ModelConfig& model = cell.model;
    constexpr double weight_std = 0.02;
    torch::manual_seed(cell.seed);
    tokens_ = register_module("tokens", nn::Embedding(model.vocabulary(), model.d_model));
    nn::init::normal_(tokens_->weight, 0, weight_std);
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      layers_.push_back(register_module("layer_" + std::to_string(layer), Layer(model)));
    norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({model.d_model})));
    // A pre-trained model has no rows for segments. Zeros change nothing until they are learned.
    segments_ = register_parameter("segments", at::zeros({2, model.d_model}));
    const std::int64_t features = two_segments() ? 2 * model.d_model : model.d_model;
    scores_ = register_module("scores", nn::Linear(features, shape.scores));
    nn::init::normal_(scores_->weight, 0, weight_std);
    nn::init::zeros_(scores_->bias);
    positions_ = register_module("positions", Positions(cell.encoding, model, cell.seed));
  }

  // inputs [sequences, tokens] to scores [sequences, shape.scores].
  [[nodiscard]] at::Tensor forward(const at::Tensor& inputs) {
    const auto segment = at::arange(shape_.tokens, device()).ge(shape_.first_segment).to(at::kLong);
    auto x = positions_->add_absolute(tokens_(inputs) + segments_.index_select(0, segment));
    const auto terms = positions_->terms(shape_.tokens, x.scalar_type());
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
      x = layers_[layer]->forward(x, terms[layer]);
    return scores_(pooled(norm_(x)));
  }

 private:
  [[nodiscard]] bool two_segments() const { return shape_.first_segment < shape_.tokens; }

  // The mean over a segment's tokens; for two segments, how they differ and agree per feature
  // (Conneau et al. 2017, with a smoothed difference). BERT's pooling of the first token needs more
  // examples to learn anything.
  [[nodiscard]] at::Tensor pooled(const at::Tensor& x) const {
    const auto first = x.slice(1, 0, shape_.first_segment).mean(1);
    if (!two_segments()) return first;
    const auto second = x.slice(1, shape_.first_segment).mean(1);
    return at::cat({((first - second).square() + 0.01).sqrt(), first * second}, 1);
  }

  ChoiceShape shape_;
  torch::nn::Embedding tokens_ = nullptr;
  at::Tensor segments_;  // [2, d_model]
  std::vector<Layer> layers_;
  torch::nn::LayerNorm norm_ = nullptr;
  torch::nn::Linear scores_ = nullptr;
  Positions positions_ = nullptr;
};
TORCH_MODULE(ChoiceModel);

// Answers to all validation questions.
struct Answers {
  double loss = 0;  // nats per example
  std::int64_t right = 0;
  // Counts for answer 1.
  std::int64_t true_positives = 0, false_positives = 0, false_negatives = 0;
  // similarity: expected and given numbers.
  std::vector<double> expected = {}, given = {};
};

void count(Answers& answers, const std::vector<std::int64_t>& expected, const at::Tensor& given) {
  for (std::size_t n = 0; n < expected.size(); ++n) {
    const std::int64_t answer = given.data_ptr<std::int64_t>()[n];
    answers.right += answer == expected[n] ? 1 : 0;
    answers.true_positives += answer == 1 && expected[n] == 1 ? 1 : 0;
    answers.false_positives += answer == 1 && expected[n] != 1 ? 1 : 0;
    answers.false_negatives += answer != 1 && expected[n] == 1 ? 1 : 0;
  }
}

class Choice final : public Learner {
 public:
  Choice(const Cell& cell, const Dataset& data)
      : cell_(cell),
        documents_(choice_documents(data, cell.model.task, cell.model.tokens)),
        shape_(choice_shape(cell.model.task, cell.model.tokens, documents_.classes.size())),
        model_(cell, shape_) {
    model_->to(device());
  }

  // Discards answers, since the caller may change the model.
  torch::nn::Module& model() override {
    answers_.reset();
    return *model_;
  }

  LossSum training_loss(std::int64_t step, const Share& share) override {
    answers_.reset();
    const std::int64_t rows = cell_.training.batch;
    const Examples examples =
        training_examples(questions(documents_.train), rows, cell_.seed, step);
    const std::int64_t first = rows * share.part / share.parts;
    const std::int64_t end = rows * (share.part + 1) / share.parts;
    const Examples part = part_of(examples, shape_, first, end - first);
    return {.sum = loss_sum(scores(part), part.answers), .count = part.rows};
  }

  double validation_loss() override { return answers().loss; }

  void examine(Outcome& outcome, const RunDirectory& /*directory*/) override {
    const Answers& given = answers();
    const std::int64_t rows = cell_.training.validation_rows;
    if (is_graded()) {
      const double correlation = spearman(given.expected, given.given).value_or(0);
      const Interval interval = spearman_interval(correlation, rows);
      outcome.metrics = {{"spearman", correlation},
                         {"spearman_low", interval.low},
                         {"spearman_high", interval.high}};
      add_questions(outcome);
      return;
    }
    const Interval interval = wilson_interval(given.right, rows);
    outcome.metrics = {{"accuracy", static_cast<double>(given.right) / static_cast<double>(rows)},
                       {"accuracy_low", interval.low},
                       {"accuracy_high", interval.high}};
    add_questions(outcome);
    if (cell_.model.task != Task::same_document) return;
    const auto wrong = static_cast<double>(given.false_positives + given.false_negatives);
    const auto found = 2 * static_cast<double>(given.true_positives);
    outcome.metrics["f1"] = found / std::max(1.0, found + wrong);
  }

 private:
  [[nodiscard]] bool is_graded() const { return cell_.model.task == Task::similarity; }

  void add_questions(Outcome& outcome) const {
    std::size_t documents = 0;
    for (const auto& group : documents_.validation) documents += group.size();
    outcome.metrics["examples"] = static_cast<double>(cell_.training.validation_rows);
    outcome.metrics["documents"] = static_cast<double>(documents);
  }

  // In nats. For similarity: the squared difference to the answer as a share of the maximum, as in
  // fine-tuning for STS-B (Devlin et al. 2019).
  [[nodiscard]] at::Tensor loss_sum(const at::Tensor& scored,
                                    const std::vector<std::int64_t>& answers) const {
    const auto expected = to_tensor(answers).to(scored.device());
    if (!is_graded()) return at::cross_entropy_loss(scored, expected, {}, at::Reduction::Sum);
    const auto shares = expected.to(scored.scalar_type()) / static_cast<double>(most_similar);
    return (scored.squeeze(1) - shares).square().sum();
  }

  [[nodiscard]] Questions questions(const DocumentGroups& documents) const {
    return {.task = cell_.model.task, .shape = shape_, .documents = documents};
  }

  // [rows, choices]
  [[nodiscard]] at::Tensor scores(const Examples& examples) {
    return model_->forward(to_tensor(examples.inputs).view({-1, shape_.tokens}))
        .view({examples.rows, shape_.choices()});
  }

  const Answers& answers() {
    if (answers_) return *answers_;
    const torch::NoGradGuard no_gradient;
    const std::int64_t rows = cell_.training.validation_rows;
    const Examples all = validation_examples(questions(documents_.validation), rows);
    Answers given;
    for (std::int64_t first = 0; first < rows; first += cell_.training.batch) {
      const Examples part =
          part_of(all, shape_, first, std::min(cell_.training.batch, rows - first));
      const auto scored = scores(part).to(at::kCPU).to(at::kDouble);
      given.loss += loss_sum(scored, part.answers).item<double>();
      if (is_graded()) {
        given.expected.insert(given.expected.end(), part.answers.begin(), part.answers.end());
        const auto numbers = scored.flatten().contiguous();
        given.given.insert(given.given.end(), numbers.data_ptr<double>(),
                           numbers.data_ptr<double>() + numbers.numel());
      } else {
        count(given, part.answers, scored.argmax(1).contiguous());
      }
    }
    given.loss /= static_cast<double>(rows);
    answers_ = given;
    return *answers_;
  }

  Cell cell_;
  ChoiceDocuments documents_;
  ChoiceShape shape_;
  ChoiceModel model_;
  std::optional<Answers> answers_;  // of the current model
};

}  // namespace

std::unique_ptr<Learner> make_choice(const Cell& cell, const Dataset& data) {
  return std::make_unique<Choice>(cell, data);
}

}  // namespace rotary::lab
