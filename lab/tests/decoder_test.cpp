// SPDX-License-Identifier: Apache-2.0
// The decoder with its KV cache, token by token, against libtorch's forward of the whole text in
// f64, with every encoding. The bound follows each rounding of the decoder through later
// operations.
#include "lab/generate/decoder.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "lab/generate/dense.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/clipped_angle.hpp"
#include "lab/torch/transformer.hpp"
#include "lab/torch/views.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::lab {
namespace {

constexpr double unit = 0x1p-24;

// Exact rows [tokens, features], and the largest Euclidean distance that a row of the decoder may
// have from them.
struct Tracked {
  at::Tensor exact;
  double error = 0;
};

double largest_norm(const at::Tensor& rows) { return rows.norm(2, -1).max().item<double>(); }
double largest_size(const at::Tensor& numbers) { return numbers.abs().max().item<double>(); }

// Adds one rounding of each number to float.
Tracked stored(const at::Tensor& exact, double error) {
  return {exact, error + unit * (largest_norm(exact) + error)};
}

class Tracker {
 public:
  Tracker(Transformer& model, const ModelConfig& config) : model_(model), config_(config) {
    for (const auto& module : model->named_modules()) modules_[module.key()] = module.value();
  }

  Tracked linear(const std::string& name, const Tracked& x) {
    auto& module = *modules_.at(name)->as<torch::nn::Linear>();
    const double slope = at::linalg_svdvals(module.weight).max().item<double>();
    return stored(module.forward(x.exact), slope * x.error);
  }

  // If x changes by d, x / sqrt(variance + epsilon) changes by at most d / sqrt(variance +
  // epsilon), with the smallest variance on the way. The root itself changes by at most d /
  // sqrt(features).
  Tracked layer_norm(const std::string& name, const Tracked& x) {
    auto& module = *modules_.at(name)->as<torch::nn::LayerNorm>();
    const double smallest = (x.exact.var(-1, false) + 1e-5).min().item<double>();
    const double features = static_cast<double>(x.exact.size(-1));
    const double root = std::sqrt(smallest) - x.error / std::sqrt(features);
    return stored(module.forward(x.exact), largest_size(module.weight) / root * x.error);
  }

  Tracked attention(const Tracked& qkv, const LayerTerms& terms, double bias_size) const;

  Tracked layer(const Tracked& x, std::int64_t index, const LayerTerms& terms, double bias_size) {
    const std::string name = "layer_" + std::to_string(index) + ".";
    const Tracked qkv = linear(name + "qkv", layer_norm(name + "attention_norm", x));
    const Tracked seen = sum(x, linear(name + "attention_out", attention(qkv, terms, bias_size)));
    Tracked wide = linear(name + "up", layer_norm(name + "feed_forward_norm", seen));
    // GELU's steepest slope is 1.129, at √2.
    wide = stored(torch::gelu(wide.exact), 1.13 * wide.error);
    return sum(seen, linear(name + "down", wide));
  }

  Tracked logits(const at::Tensor& inputs) {
    const auto embedded = modules_.at("tokens")->as<torch::nn::Embedding>()->forward(inputs);
    const auto x = model_->positions()->add_absolute(embedded).flatten(0, 1);
    // Roundings of a sine, its product with the scale, and the sum.
    Tracked tracked{x, 3 * unit * (largest_norm(x) + largest_norm(embedded.flatten(0, 1)))};
    const auto terms = model_->positions()->terms(inputs.size(1), at::kDouble);
    for (std::int64_t index = 0; index < config_.layers; ++index) {
      const LayerTerms& of_layer = terms[static_cast<std::size_t>(index)];
      tracked = layer(tracked, index, of_layer, bias_terms);
    }
    const Tracked normal = layer_norm("norm", tracked);
    auto& last = *modules_.at("logits")->as<torch::nn::Linear>();
    const auto exact = last.forward(normal.exact);
    return {exact, largest_norm(last.weight) * normal.error + unit * largest_size(exact)};
  }

  // The largest sum of magnitudes that a bias adds, if it exceeds |bias|.
  double bias_terms = 0;

 private:
  static Tracked sum(const Tracked& one, const Tracked& other) {
    return stored(one.exact + other.exact, one.error + other.error);
  }

  Transformer& model_;
  ModelConfig config_;
  std::map<std::string, std::shared_ptr<torch::nn::Module>> modules_;
};

// The largest factor by which a rotation lengthens a vector (xPos, attention factors).
double growth(const std::shared_ptr<const Rotations>& rotations) {
  double most = 1;
  if (!rotations) return most;
  for (std::int64_t token = 0; token < rotations->tokens(); ++token) {
    const auto cos = rotations->cos<double>(0, token);
    const auto sin = rotations->sin<double>(0, token);
    for (std::size_t pair = 0; pair < cos.size(); ++pair)
      most = std::max(most, std::hypot(cos[pair], sin[pair]));
  }
  return most;
}

// If scores are off by d, softmax weights and their averages change by a factor of at most e^(2d).
// attend()'s own rounding comes from the numeric contract.
Tracked Tracker::attention(const Tracked& qkv, const LayerTerms& terms, double bias_size) const {
  const std::int64_t tokens = qkv.exact.size(0);
  const auto parts = qkv.exact.view({1, tokens, 3, config_.heads, config_.head_dim()});
  const auto q = parts.select(2, 0);
  const auto k = parts.select(2, 1);
  const auto v = parts.select(2, 2);
  const double scale = 1 / std::sqrt(static_cast<double>(config_.head_dim()));
  const double q_error = growth(terms.q_rotations) * qkv.error;
  const double k_error = growth(terms.k_rotations) * qkv.error;
  const double q_size = growth(terms.q_rotations) * largest_norm(q) + q_error;
  const double k_size = growth(terms.k_rotations) * largest_norm(k) + k_error;
  const bool shaw = terms.shaw_keys.defined();
  const double a_size = shaw ? largest_norm(terms.shaw_keys) : 0;
  const double score_error = scale * (q_error * (k_size + a_size) + k_error * q_size);
  const bool turns = terms.q_rotations || terms.clip;
  const double turned = turns ? 2 * rotate_error_bound(Direction::forward, 2, tokens) : 0;
  const AttendedRow row{.head_dim = config_.head_dim(),
                        .keys = tokens,
                        .score_size = scale * q_size * (k_size + a_size) + bias_size,
                        .rotation = turned,
                        .distance_size = scale * q_size * a_size,
                        .value_distances = shaw ? std::min(tokens, terms.window.rows()) : 0};
  const double value_norm = largest_norm(v) + (shaw ? largest_norm(terms.shaw_values) : 0);
  const double value_size =
      largest_size(v) + qkv.error + (shaw ? largest_size(terms.shaw_values) : 0);
  // A position map has at most one part per pair that stops turning, and one more.
  const double units = terms.clip ? attend_mapped_error_bound(row, config_.head_dim() / 2 + 1)
                                  : attend_error_bound(row);
  const double of_head = std::expm1(2 * score_error) * (value_norm + qkv.error) + qkv.error;
  const double error = std::sqrt(static_cast<double>(config_.heads)) * of_head +
                       std::sqrt(static_cast<double>(config_.d_model)) * units * unit * value_size;
  return {attend_with(terms, q, k, v).squeeze(0), error};
}

std::vector<nlohmann::json> all_encodings() {
  std::vector<nlohmann::json> all;
  for (const NamedEncoding& named : named_encodings()) {
    nlohmann::json settings = encoding_settings(std::string(named.name));
    if (named.name == "rope-window") settings["layers"]["window"] = 7;
    if (named.name == "fire") settings["threshold"] = 16;
    if (named.name == "shaw") settings["window"] = 5;
    if (named.name == "sinusoidal") settings["scale"] = 0.7;
    if (named.name == "t5") settings.update({{"buckets", 8}, {"max_distance", 20}});
    all.push_back(settings);
  }
  for (const char* scaling : {
           R"({"rope_type": "linear", "factor": 2})",
           R"({"rope_type": "dynamic", "factor": 2, "original_max_position_embeddings": 24})",
           R"({"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 24})",
           R"({"rope_type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 4,
               "original_max_position_embeddings": 24})",
           R"({"rope_type": "longrope", "factor": 2, "original_max_position_embeddings": 24,
               "short_factor": [1, 1, 1, 1, 1, 1, 1, 1],
               "long_factor": [1, 1.2, 1.5, 2, 2, 2, 2, 2]})",
       }) {
    nlohmann::json settings = encoding_settings("rope");
    settings["scaling"] = nlohmann::json::parse(scaling);
    settings["name"] = settings["scaling"]["rope_type"];
    all.push_back(settings);
  }
  return all;
}

constexpr std::int64_t prompt_tokens = 21;
constexpr std::int64_t all_tokens = 41;

// The model is trained on 24 tokens and continues beyond; learned positions end there.
ModelConfig config_for(const nlohmann::json& settings) {
  return {.task = Task::causal_lm,
          .d_model = 32,
          .layers = 2,
          .heads = 2,
          .tokens = settings["kind"] == "learned" ? all_tokens : 24};
}

// Makes every number count: initially each Linear has bias 0 and each norm is the identity.
void disturb(Transformer& model) {
  const torch::NoGradGuard no_gradient;
  torch::manual_seed(7);
  for (auto& parameter : model->named_parameters()) {
    const bool embeds = parameter.key() == "tokens.weight";
    const bool of_encoding = parameter.key().starts_with("positions.");
    const double size = embeds ? 1 : of_encoding ? 0.15 : 0.05;
    parameter.value().add_(size * at::randn_like(parameter.value()));
    // KERPLE's powers of the distance would make scores, and so roundings, arbitrarily large.
    if (of_encoding) parameter.value().clamp_(-0.6, 0.6);
  }
}

std::vector<float> token_by_token(Decoder& decoder, const std::vector<std::int64_t>& tokens) {
  const std::span<const std::int64_t> all(tokens);
  std::vector<float> logits = decoder.feed(all.first(prompt_tokens));
  for (const std::int64_t& token : all.subspan(prompt_tokens)) {
    const std::vector<float> more = decoder.feed({&token, 1});
    logits.insert(logits.end(), more.begin(), more.end());
  }
  return logits;
}

at::Tensor as_tensor(const std::vector<float>& numbers, const at::Tensor& like) {
  return torch::tensor(numbers).view(like.sizes()).to(at::kDouble);
}

// FIRE adds products, Sandwich adds cosines; the other biases have a single term.
double bias_terms_of(const Encoding& encoding, const ModelConfig& config, Transformer& model) {
  const auto* bias = std::get_if<BiasEncoding>(&encoding.kind);
  if (bias == nullptr) return 0;
  if (std::holds_alternative<SandwichEncoding>(*bias))
    return static_cast<double>(config.head_dim() * config.heads) / 8;
  if (const auto* fire = std::get_if<FireEncoding>(bias)) {
    double most = 0;
    for (const auto& each : model->positions()->named_parameters()) {
      // c and threshold, then [width] twice, [heads][width], [heads]; the input is at most 1.
      const auto sizes = each.value().abs();
      const auto hidden =
          sizes.slice(0, 2, 2 + fire->width) + sizes.slice(0, 2 + fire->width, 2 + 2 * fire->width);
      const auto out = sizes.slice(0, 2 + 2 * fire->width, -config.heads);
      const auto sums = out.view({config.heads, fire->width}).matmul(hidden);
      most = std::max(most, (sums + sizes.slice(0, -config.heads)).max().item<double>());
    }
    return most;
  }
  double most = 0;
  for (const LayerTerms& terms : model->positions()->terms(all_tokens, at::kDouble))
    most = std::max(most, largest_size(at::nan_to_num(terms.bias, 0.0, 0.0, 0.0)));
  return most;
}

TEST(Decoder, LogitsEqualTorchsOnTheWholeText) {
  at::set_num_threads(1);
  Random random(3);
  std::vector<std::int64_t> tokens;
  for (std::int64_t n = 0; n < all_tokens; ++n) tokens.push_back(random.below(byte_tokens));
  const auto inputs = torch::tensor(tokens).view({1, all_tokens});
  for (const nlohmann::json& settings : all_encodings()) {
    const ModelConfig config = config_for(settings);
    const Encoding encoding = parse_encoding(settings, config.head_dim());
    SCOPED_TRACE(encoding.name);
    const torch::NoGradGuard no_gradient;
    Transformer model(config, encoding, 1);
    disturb(model);
    // Only a forward pass limits learned numbers to the allowed range.
    (void)model->forward(inputs, {});
    const Weights weights = weights_of(model);
    Decoder decoder(encoding, config, weights, all_tokens);
    const std::vector<float> logits = token_by_token(decoder, tokens);

    model->to(at::kDouble);
    Tracker tracker(model, config);
    tracker.bias_terms = bias_terms_of(encoding, config, model);
    const Tracked expected = tracker.logits(inputs);
    ASSERT_LT(largest_size(expected.exact - model->forward(inputs, {})), 1e-12);
    const double difference = largest_size(as_tensor(logits, expected.exact) - expected.exact);
    EXPECT_LE(difference, expected.error);
    // Shows that the bound is not vacuous: without positions it is exceeded.
    Decoder blind({.name = "none", .kind = NoEncoding{}}, config, weights, all_tokens);
    const auto without = as_tensor(token_by_token(blind, tokens), expected.exact);
    if (encoding.name != "none") {
      EXPECT_GT(largest_size(without - expected.exact), expected.error);
    }
  }
}

// For the same q, k and v the bound is attend_mapped()'s own, smaller than that of a whole model.
TEST(ClippedAngle, EqualsThePositionMap) {
  torch::manual_seed(5);
  for (const char* pairing : {"half", "interleaved"}) {
    for (const double max_angle : {3.141592653589793, 1.0}) {
      nlohmann::json settings = encoding_settings("clipped-angle");
      settings["pairing"] = pairing;
      settings["max_angle"] = max_angle;
      const Encoding encoding = parse_encoding(settings, 16);
      const auto& clipped = std::get<ClippedAngleEncoding>(encoding.kind);
      const auto q = at::randn({2, 41, 3, 16});
      const auto k = at::randn({2, 41, 3, 16});
      const auto v = at::randn({2, 41, 3, 16});
      const auto out = at::empty_like(v);
      const Frequencies frequencies = cli::value_or_fail(make_frequencies(clipped.spec));
      cli::ok_or_fail(
          attend_mapped(heads_view(out), heads_view(q), heads_view(k), heads_view(v),
                        {.map = rotary::ClippedAngle{.max_angle = max_angle},
                         .frequencies = &frequencies,
                         .attend = {.scale = 0.25, .mask = {.order = AttentionOrder::causal}}}));
      LayerTerms terms;
      terms.clip = make_angle_clip(clipped, 41, at::kDouble);
      terms.mask = at::full({41, 41}, -INFINITY, at::kDouble).triu(1);
      const auto expected =
          attend_with(terms, q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble));
      const AttendedRow row{.head_dim = 16,
                            .keys = 41,
                            .score_size = 0.25 * largest_norm(q) * largest_norm(k),
                            .rotation = 2 * rotate_error_bound(Direction::forward, 1, 41)};
      EXPECT_LE(largest_size(out.flatten(2) - expected),
                attend_mapped_error_bound(row, 9) * unit * largest_size(v))
          << pairing << " " << max_angle;
    }
  }
}

// Reversing a text makes later keys earlier ones, so their angles change sign.
TEST(ClippedAngle, AnglesChangeSignForLaterKeys) {
  torch::manual_seed(6);
  nlohmann::json settings = encoding_settings("clipped-angle");
  const Encoding forwards = parse_encoding(settings, 16);
  settings["sense"] = "negative";
  const Encoding backwards = parse_encoding(settings, 16);
  const auto q = at::randn({1, 41, 2, 16}, at::kDouble);
  const auto k = at::randn({1, 41, 2, 16}, at::kDouble);
  const auto clip_of = [](const Encoding& encoding) {
    return make_angle_clip(std::get<ClippedAngleEncoding>(encoding.kind), 41, at::kDouble);
  };
  const auto scores = clipped_angle_scores(q, k, *clip_of(forwards));
  const auto mirrored = clipped_angle_scores(q.flip(1), k.flip(1), *clip_of(backwards));
  EXPECT_LT(largest_size(scores - mirrored.flip({2, 3})), 1e-12);
}

TEST(Decoder, RefusesModelsThatItCannotContinue) {
  const auto make = [](const char* name, ModelConfig config) {
    const Encoding encoding = parse_encoding(encoding_settings(name), config.head_dim());
    Transformer model(config, encoding, 1);
    const Decoder decoder(encoding, config, weights_of(model), all_tokens);
  };
  ModelConfig config{.task = Task::causal_lm, .d_model = 32, .layers = 1, .heads = 2, .tokens = 24};
  EXPECT_NO_THROW(make("rope", config));
  EXPECT_THROW(make("learned", config), cli::Failure);  // 24 rows for 41 tokens
  config.attention = AttentionKind::linear;
  EXPECT_THROW(make("rope", config), cli::Failure);
  config = {.task = Task::masked_lm, .d_model = 32, .layers = 1, .heads = 2, .tokens = 24};
  EXPECT_THROW(make("rope", config), cli::Failure);
}

TEST(Sampling, DrawsTokensWithTheSoftmaxProbabilities) {
  const std::vector<float> logits = {0.0F, std::log(3.0F), -1e9F, std::log(4.0F)};
  Random random(1);
  EXPECT_EQ(choose(logits, {.temperature = 0}, random), 3);
  EXPECT_EQ(choose(logits, {.temperature = 5, .top_k = 1}, random), 3);
  const auto share = [&](const Sampling& sampling, std::int64_t token) {
    int hits = 0;
    for (int n = 0; n < 20'000; ++n) hits += choose(logits, sampling, random) == token ? 1 : 0;
    return hits / 20'000.0;
  };
  // Five standard deviations of 20,000 draws, each at most 0.5 / sqrt(20,000).
  constexpr double near = 0.018;
  EXPECT_NEAR(share({}, 0), 1.0 / 8, near);
  EXPECT_NEAR(share({}, 1), 3.0 / 8, near);
  EXPECT_EQ(share({}, 2), 0);
  EXPECT_NEAR(share({.temperature = 1, .top_k = 2}, 1), 3.0 / 7, near);
  EXPECT_NEAR(share({.temperature = 0.5}, 3), 16.0 / 26, near);
}

}  // namespace
}  // namespace rotary::lab
