// SPDX-License-Identifier: Apache-2.0

#include "lab/torch/translation.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/data/pieces.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {

namespace {

// Not -Inf: a padding row may hide every key, and a softmax over only -Inf is NaN. A score this far
// below another has a weight that rounds to 0.
constexpr double hidden = -1e9;

// [batch · heads, 1, tokens] for masked_scores.
at::Tensor for_each_head(const at::Tensor& padding, std::int64_t heads) {
  return padding.expand({-1, heads, -1, -1}).flatten(0, 1);
}

void hide_padding(std::vector<LayerTerms>& layers, const at::Tensor& padding, std::int64_t heads) {
  const auto mask = for_each_head(padding, heads);
  for (LayerTerms& terms : layers) {
    if (terms.bias.defined()) {
      terms.bias = terms.bias + padding;
    } else {
      terms.mask = terms.mask.defined() ? terms.mask + mask : mask;
    }
  }
}

ModelConfig with_task(ModelConfig model, Task task) {
  model.task = task;
  return model;
}

}  // namespace

DecoderLayerImpl::DecoderLayerImpl(const ModelConfig& model) : heads_(model.heads) {
  namespace nn = torch::nn;
  const std::int64_t d = model.d_model;
  layer_ = register_module("layer", Layer(model));
  cross_norm_ = register_module("cross_norm", nn::LayerNorm(nn::LayerNormOptions({d})));
  cross_q_ = register_module("cross_q", make_linear(d, d, weight_std));
  cross_kv_ = register_module("cross_kv", make_linear(d, 2 * d, weight_std));
  cross_out_ = register_module("cross_out", make_linear(d, d, residual_std(model)));
}

at::Tensor DecoderLayerImpl::look(const at::Tensor& x, const Encoded& encoded) {
  const std::int64_t head_dim = x.size(2) / heads_;
  const auto q = cross_q_(x).view({x.size(0), x.size(1), heads_, head_dim});
  const auto kv =
      cross_kv_(encoded.texts).view({x.size(0), encoded.texts.size(1), 2, heads_, head_dim});
  LayerTerms terms;
  terms.mask = for_each_head(encoded.padding, heads_);
  return cross_out_(attend_with(terms, q, kv.select(2, 0), kv.select(2, 1)));
}

at::Tensor DecoderLayerImpl::forward(const at::Tensor& x, const LayerTerms& terms,
                                     const Encoded& encoded) {
  const auto seen = layer_->attend(x, terms);
  return layer_->feed_forward(seen + look(cross_norm_(seen), encoded));
}

EncoderDecoderImpl::EncoderDecoderImpl(const ModelConfig& model, const Encoding& encoding,
                                       std::int64_t pieces, std::uint64_t seed)
    : heads_(model.heads) {
  namespace nn = torch::nn;
  // The encoder's layers see the full text, the decoder's only the tokens written so far.
  const ModelConfig reads = with_task(model, Task::masked_lm);
  const ModelConfig writes = with_task(model, Task::causal_lm);
  torch::manual_seed(seed);
  pieces_ = register_module("pieces", nn::Embedding(pieces, model.d_model));
  nn::init::normal_(pieces_->weight, 0, weight_std);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string of_layer = std::to_string(layer);
    encoder_.push_back(register_module("encoder_" + of_layer, Layer(reads)));
    decoder_.push_back(register_module("decoder_" + of_layer, DecoderLayer(writes)));
  }
  const nn::LayerNormOptions norm({model.d_model});
  encoder_norm_ = register_module("encoder_norm", nn::LayerNorm(norm));
  decoder_norm_ = register_module("decoder_norm", nn::LayerNorm(norm));
  source_positions_ = register_module("source_positions", Positions(encoding, reads, seed));
  target_positions_ =
      register_module("target_positions", Positions(encoding, writes, Random(seed).next()));
}

Encoded EncoderDecoderImpl::encode(const at::Tensor& sources) {
  auto x = source_positions_->add_absolute(pieces_(sources));
  const auto padding =
      ((sources == padding_piece).to(x.scalar_type()) * hidden).unsqueeze(1).unsqueeze(1);
  auto terms = source_positions_->terms(sources.size(1), x.scalar_type());
  hide_padding(terms, padding, heads_);
  for (std::size_t layer = 0; layer < encoder_.size(); ++layer)
    x = encoder_[layer]->forward(x, terms[layer]);
  return {.texts = encoder_norm_(x), .padding = padding};
}

at::Tensor EncoderDecoderImpl::decode(const at::Tensor& inputs, const Encoded& encoded) {
  auto x = target_positions_->add_absolute(pieces_(inputs));
  const auto terms = target_positions_->terms(inputs.size(1), x.scalar_type());
  for (std::size_t layer = 0; layer < decoder_.size(); ++layer)
    x = decoder_[layer]->forward(x, terms[layer], encoded);
  return decoder_norm_(x);
}

at::Tensor EncoderDecoderImpl::logits(const at::Tensor& decoded) {
  return at::linear(decoded, pieces_->weight);
}

namespace {

constexpr double label_smoothing = 0.1;

at::Tensor in_rows(const std::vector<std::int64_t>& numbers, std::int64_t rows) {
  return to_tensor(numbers).view({rows, std::ssize(numbers) / rows});
}

// [rows · target_tokens, pieces]
at::Tensor logits_of(EncoderDecoder& model, const PairBatch& batch) {
  const auto encoded = model->encode(in_rows(batch.sources, batch.rows));
  return model->logits(model->decode(in_rows(batch.inputs, batch.rows), encoded)).flatten(0, 1);
}

// `count` indices at equal distances.
std::vector<std::size_t> spread(std::size_t all, std::int64_t count) {
  const std::size_t chosen = std::min(all, static_cast<std::size_t>(count));
  std::vector<std::size_t> indices;
  for (std::size_t n = 0; n < chosen; ++n) indices.push_back(all * n / chosen);
  return indices;
}

const Dataset& checked(const Dataset& data) {
  if (!data.pieces.empty()) return data;
  throw cli::Failure(cli::ExitCode::usage,
                     fmt::format("translation needs pairs, which '{}' is not: ./dev lab data add "
                                 "NAME --from A --translation B, or grammar-pairs",
                                 data.manifest.name));
}

std::vector<TokenPair> checked(std::vector<TokenPair> pairs, std::int64_t tokens) {
  if (!pairs.empty()) return pairs;
  throw cli::Failure(
      cli::ExitCode::usage,
      fmt::format("model.tokens must be more than the pieces of some pair for validation, got {}",
                  tokens));
}

class Translation final : public Learner {
 public:
  Translation(const Cell& cell, const Dataset& data)
      : cell_(cell),
        pieces_(checked(data).pieces),
        train_(tokenize_pairs(data.train, pieces_, cell.model.tokens)),
        validation_(checked(tokenize_pairs(data.validation, pieces_, cell.model.tokens),
                            cell.model.tokens)),
        questions_(spread(validation_.size(), cell.training.validation_rows)),
        order_(train_, cell.training.batch, cell.seed),
        model_(cell.model, cell.encoding, pieces_.count(), cell.seed) {
    model_->to(device());
  }

  torch::nn::Module& model() override { return *model_; }

  LossSum training_loss(std::int64_t step, const Share& share) override {
    const auto rows = order_.at(step);
    const auto first = static_cast<std::size_t>(share.begin(std::ssize(rows)));
    const auto end = static_cast<std::size_t>(share.end(std::ssize(rows)));
    const auto own = rows.subspan(first, end - first);
    return smoothed_loss(model_, batch_of(train_, own));
  }

  double validation_loss() override { return validate().loss.value(); }

  void examine(Outcome& outcome, const RunDirectory& directory) override {
    outcome.lengths = {validate()};
    outcome.metrics["perplexity"] = std::exp(outcome.lengths[0].loss.value());
    std::vector<std::string> expected;
    for (const std::size_t index : questions_)
      expected.emplace_back(validation_[index].text.target);
    directory.keep("references.txt", fmt::format("{}\n", fmt::join(expected, "\n")));
    directory.keep("hypotheses.txt", fmt::format("{}\n", fmt::join(translations(), "\n")));
  }

 private:
  // Calls call(batch, indices) with questions of similar length and their indices in questions_.
  void for_batches(const auto& call) {
    const torch::NoGradGuard no_gradient;
    std::vector<TokenPair> asked;
    for (const std::size_t index : questions_) asked.push_back(validation_[index]);
    std::vector<std::size_t> all(asked.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto sorted = by_length(asked, std::move(all));
    const auto rows = static_cast<std::size_t>(cell_.training.batch);
    for (std::size_t first = 0; first < sorted.size(); first += rows) {
      const auto indices = std::span(sorted).subspan(first, std::min(rows, sorted.size() - first));
      call(batch_of(asked, indices), indices);
    }
  }

  LengthLoss validate() {
    std::vector<double> sums(questions_.size());
    double sum = 0;
    double count = 0;
    for_batches([&](const PairBatch& batch, std::span<const std::size_t> indices) {
      const auto of_rows =
          translation_losses(model_, batch).to(at::kCPU).to(at::kDouble).sum(1).contiguous();
      for (std::size_t n = 0; n < indices.size(); ++n) {
        sums[indices[n]] = of_rows.data_ptr<double>()[n];
        sum += sums[indices[n]];
      }
      count += static_cast<double>(batch.target_count);
    });
    LengthLoss result{.multiple = 1, .loss = sum / count};
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const auto targets = validation_[questions_[n]].target.size() + 1;
      result.windows.push_back(sums[n] / static_cast<double>(targets));
    }
    return result;
  }

  std::vector<std::string> translations() {
    std::vector<std::vector<std::int64_t>> texts(questions_.size());
    for_batches([&](const PairBatch& batch, std::span<const std::size_t> indices) {
      auto written = translate(model_, batch, cell_.model.tokens);
      for (std::size_t n = 0; n < indices.size(); ++n) texts[indices[n]] = std::move(written[n]);
    });
    return pieces_.decode(texts);
  }

  Cell cell_;
  Pieces pieces_;
  std::vector<TokenPair> train_;
  std::vector<TokenPair> validation_;
  std::vector<std::size_t> questions_;  // indices in validation_
  PairOrder order_;
  EncoderDecoder model_;
};

}  // namespace

std::unique_ptr<Learner> make_translation(const Cell& cell, const Dataset& data) {
  return std::make_unique<Translation>(cell, data);
}

at::Tensor translation_losses(EncoderDecoder& model, const PairBatch& batch) {
  const auto targets = in_rows(batch.targets, batch.rows);
  return at::cross_entropy_loss(logits_of(model, batch), targets.flatten(), {}, at::Reduction::None,
                                padding_piece)
      .view(targets.sizes());
}

LossSum smoothed_loss(EncoderDecoder& model, const PairBatch& batch) {
  const auto targets = in_rows(batch.targets, batch.rows).flatten();
  return {.sum = at::cross_entropy_loss(logits_of(model, batch), targets, {}, at::Reduction::Sum,
                                        padding_piece, label_smoothing),
          .count = batch.target_count};
}

std::vector<std::vector<std::int64_t>> translate(EncoderDecoder& model, const PairBatch& batch,
                                                 std::int64_t tokens) {
  const torch::NoGradGuard no_gradient;
  std::vector<std::vector<std::int64_t>> written(static_cast<std::size_t>(batch.rows));
  std::vector<std::size_t> writing(written.size());  // rows that have not ended
  std::iota(writing.begin(), writing.end(), std::size_t{0});
  Encoded encoded = model->encode(in_rows(batch.sources, batch.rows));
  auto inputs =
      at::full({batch.rows, 1}, begin_piece, at::TensorOptions().dtype(at::kLong)).to(device());
  for (std::int64_t token = 0; token < tokens && !writing.empty(); ++token) {
    const auto last = model->decode(inputs, encoded).select(1, token);
    const auto next = model->logits(last).argmax(-1);
    const auto chosen = next.to(at::kCPU).contiguous();
    std::vector<std::int64_t> kept;
    std::vector<std::size_t> still;
    for (std::size_t n = 0; n < writing.size(); ++n) {
      const std::int64_t piece = chosen.data_ptr<std::int64_t>()[n];
      if (piece == end_piece) continue;
      written[writing[n]].push_back(piece);
      kept.push_back(static_cast<std::int64_t>(n));
      still.push_back(writing[n]);
    }
    inputs = at::cat({inputs, next.unsqueeze(1)}, 1);
    if (kept.size() < writing.size() && !kept.empty()) {
      const auto rows = to_tensor(kept);
      inputs = inputs.index_select(0, rows);
      encoded = encoded.rows(rows);
    }
    writing = std::move(still);
  }
  return written;
}

}  // namespace rotary::lab
