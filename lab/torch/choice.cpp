// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/choice.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/data/examples.hpp"
#include "lab/torch/positions.hpp"
#include "lab/torch/transformer.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {
namespace {

// Weights have the same names as Transformer's, so that its checkpoints can start this model.
class ChoiceModelImpl : public torch::nn::Module {
 public:
  ChoiceModelImpl(const Cell& cell, const ChoiceShape& shape) : shape_(shape) {
    namespace nn = torch::nn;
    const ModelConfig& model = cell.model;
    torch::manual_seed(cell.seed);
    tokens_ = register_module("tokens", nn::Embedding(model.vocabulary(), model.d_model));
    nn::init::normal_(tokens_->weight, 0, weight_std);
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      layers_.push_back(register_module("layer_" + std::to_string(layer), Layer(model)));
    norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({model.d_model})));
    // Pre-trained models have no segment rows. Rows of 0 leave their outputs unchanged.
    segments_ = register_parameter("segments", at::zeros({2, model.d_model}));
    const std::int64_t features = two_segments() ? 2 * model.d_model : model.d_model;
    scores_ = register_module("scores", make_linear(features, shape.scores, weight_std));
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

  // One segment: the mean over its tokens. Two segments: a smoothed difference and the product of
  // their means (Conneau et al. 2017). BERT's pooling of the first token needs more examples to
  // learn anything.
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
  double loss = 0;      // per example: nats, or for similarity the squared error
  at::Tensor expected;  // [rows]
  at::Tensor scores;    // [rows, choices], in f64
};

constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 %

// Equal values share their mean rank.
at::Tensor ranks_of(const at::Tensor& values) {
  const auto column = values.unsqueeze(1);
  return (column > values).sum(1) + (column == values).sum(1).to(at::kDouble) / 2;
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
    const std::int64_t first = share.begin(rows);
    const Examples part = part_of(examples, shape_, first, share.end(rows) - first);
    return {.sum = loss_sum(scores(part), part.answers), .count = part.rows};
  }

  double validation_loss() override { return answers().loss; }

  void examine(Outcome& outcome, const RunDirectory& /*directory*/) override {
    const Answers& given = answers();
    const std::int64_t rows = cell_.training.validation_rows;
    std::int64_t documents = 0;
    for (const auto& group : documents_.validation) documents += std::ssize(group);
    outcome.metrics = {{"examples", static_cast<double>(rows)},
                       {"documents", static_cast<double>(documents)}};
    if (is_graded()) {
      const double correlation = spearman(given.expected, given.scores.squeeze(1)).value_or(0);
      add_metric(outcome, "spearman", correlation, spearman_interval(correlation, rows));
      return;
    }
    const auto chosen = given.scores.argmax(1);
    const auto right = (chosen == given.expected).sum().item<std::int64_t>();
    add_metric(outcome, "accuracy", static_cast<double>(right) / static_cast<double>(rows),
               wilson_interval(right, rows));
    if (cell_.model.task != Task::same_document) return;
    const auto found = (chosen * given.expected).sum().item<double>();
    const auto yes = (chosen + given.expected).sum().item<double>();
    outcome.metrics["f1"] = 2 * found / std::max(1.0, yes);
  }

 private:
  [[nodiscard]] bool is_graded() const { return cell_.model.task == Task::similarity; }

  static void add_metric(Outcome& outcome, const std::string& name, double value,
                         const Interval& interval) {
    outcome.metrics[name] = value;
    outcome.metrics[name + "_low"] = interval.low;
    outcome.metrics[name + "_high"] = interval.high;
  }

  // In nats. For similarity: the squared error of answer / maximum, as in fine-tuning for STS-B
  // (Devlin et al. 2019).
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
    std::vector<at::Tensor> of_parts;
    for (std::int64_t first = 0; first < rows; first += cell_.training.batch) {
      const Examples part =
          part_of(all, shape_, first, std::min(cell_.training.batch, rows - first));
      of_parts.push_back(scores(part).to(at::kCPU).to(at::kDouble));
    }
    const auto scored = at::cat(of_parts);
    const double loss = loss_sum(scored, all.answers).item<double>() / static_cast<double>(rows);
    answers_ = {.loss = loss, .expected = torch::tensor(all.answers, at::kLong), .scores = scored};
    return *answers_;
  }

  Cell cell_;
  ChoiceDocuments documents_;
  ChoiceShape shape_;
  ChoiceModel model_;
  std::optional<Answers> answers_;  // of the current model
};

}  // namespace

Interval wilson_interval(std::int64_t right, std::int64_t count) noexcept {
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(right) / n;
  const double center = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double reach =
      z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // The interval of a share of 0 or 1 ends exactly at that share, despite rounding.
  return {.low = std::min(center - reach, share), .high = std::max(center + reach, share)};
}

std::optional<double> spearman(const at::Tensor& one, const at::Tensor& other) {
  const auto ranks = at::stack({ranks_of(one), ranks_of(other)});
  const auto correlation = at::corrcoef(ranks)[0][1].item<double>();
  return std::isnan(correlation) ? std::nullopt : std::optional(correlation);
}

Interval spearman_interval(double correlation, std::int64_t count) noexcept {
  const double reach = z * std::sqrt(1.06 / static_cast<double>(count - 3));
  const double center = std::atanh(std::clamp(correlation, -1 + 1e-15, 1 - 1e-15));
  return {.low = std::tanh(center - reach), .high = std::tanh(center + reach)};
}

std::unique_ptr<Learner> make_choice(const Cell& cell, const Dataset& data) {
  return std::make_unique<Choice>(cell, data);
}

}  // namespace rotary::lab
