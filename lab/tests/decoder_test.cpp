// SPDX-License-Identifier: Apache-2.0
// Compares the decoder's attention, token by token over its KV cache, with attend_with() on the
// full text in f64. The bound is that of the core's attend().
#include "lab/torch/decoder.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "lab/torch/clipped_angle.hpp"
#include "lab/torch/functions.hpp"
#include "lab/torch/transformer.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::lab {
namespace {

constexpr double unit = 0x1p-24;
constexpr std::int64_t prompt_tokens = 21;
constexpr std::int64_t all_tokens = 41;

double largest_norm(const at::Tensor& rows) { return rows.norm(2, -1).max().item<double>(); }
double largest_size(const at::Tensor& numbers) { return numbers.abs().max().item<double>(); }

at::Tensor turned(const at::Tensor& heads, const std::shared_ptr<const Rotations>& rotations) {
  return rotations ? rotate_heads(heads, rotations) : heads;
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
           R"({"rope_type": "dynamic", "factor": 2, "original_max_position_embeddings": 24})",
           R"({"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 24})",
           R"({"rope_type": "longrope", "factor": 2, "original_max_position_embeddings": 24,
               "short_factor": [1, 1, 1, 1, 1, 1, 1, 1],
               "long_factor": [1, 1.2, 1.5, 2, 2, 2, 2, 2]})",
       }) {
    nlohmann::json settings = encoding_settings("rope");
    settings["scaling"] = nlohmann::json::parse(scaling);
    settings["name"] = settings["scaling"]["rope_type"];
    all.push_back(settings);
  }
  for (const char* pairing : {"half", "interleaved"}) {
    nlohmann::json settings = encoding_settings("clipped-angle");
    settings.update({{"name", "clipped-angle-1"}, {"pairing", pairing}, {"max_angle", 1.0}});
    all.push_back(settings);
  }
  return all;
}

// Texts are longer than the trained 24 tokens. Learned positions end at the trained length, so for
// them the trained length is that of the full text.
ModelConfig config_for(const nlohmann::json& settings) {
  return {.task = Task::causal_lm,
          .d_model = 32,
          .layers = 2,
          .heads = 2,
          .tokens = settings["kind"] == "learned" ? all_tokens : 24};
}

// Moves the encoding's learned numbers away from their start, so that they matter.
void disturb(Positions& positions) {
  const torch::NoGradGuard no_gradient;
  for (auto& parameter : positions->named_parameters()) {
    parameter.value().add_(0.15 * at::randn_like(parameter.value()));
    // KERPLE's powers of the distance could make scores, and so rounding errors, very large.
    parameter.value().clamp_(-0.6, 0.6);
  }
}

// A bound on the sum of a bias's terms by absolute value. disturb() limits FIRE's numbers, and its
// input is at most 1. So each of its 32 hidden units adds at most 0.6 (0.6 + 0.6). The other biases
// have smaller sums here.
constexpr double bias_size = 32 * 0.6 * 1.2 + 0.6;

// The error bound of a result, from queries, keys and values in f64.
double error_bound(const LayerTerms& terms, const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const bool shaw = terms.shaw_keys.defined();
  const double q_size = largest_norm(turned(q, terms.q_rotations));
  const double k_size = largest_norm(turned(k, terms.k_rotations));
  const double a_size = shaw ? largest_norm(terms.shaw_keys) : 0;
  const bool turns = terms.q_rotations || terms.clip;
  const AttendedRow row{
      .head_dim = q.size(3),
      .keys = all_tokens,
      .score_size = scale * q_size * (k_size + a_size) + (terms.bias.defined() ? bias_size : 0),
      .rotation = turns ? 2 * rotate_error_bound(Direction::forward, 2, all_tokens) : 0,
      .distance_size = scale * q_size * a_size,
      .value_distances = shaw ? std::min(all_tokens, terms.window.rows()) : 0};
  const double value_size = largest_size(v) + (shaw ? largest_size(terms.shaw_values) : 0);
  // ClippedAngle splits distances into at most one range for each pair, and one more.
  return unit * value_size *
         (terms.clip ? attend_mapped_error_bound(row, q.size(3) / 2 + 1) : attend_error_bound(row));
}

TEST(Decoder, CachedAttentionEqualsAttentionToTheFullText) {
  const torch::NoGradGuard no_gradient;
  torch::manual_seed(7);
  for (const nlohmann::json& settings : all_encodings()) {
    const ModelConfig config = config_for(settings);
    const Encoding encoding = parse_encoding(settings, config.head_dim());
    SCOPED_TRACE(encoding.name);
    Transformer model(config, encoding, 1);
    disturb(model->positions());
    Decoder decoder(encoding, config, model, all_tokens);
    const auto qkv = at::randn({3, 1, all_tokens, config.heads, config.head_dim()});
    std::vector<std::vector<at::Tensor>> outs(2);
    for (std::size_t layer = 0; layer < outs.size(); ++layer) {
      for (std::int64_t first = 0; first < all_tokens;) {
        const std::int64_t end = first == 0 ? prompt_tokens : first + 1;
        const auto now = qkv.slice(2, first, end);
        outs[layer].push_back(decoder.attend(layer, now[0], now[1], now[2]));
        first = end;
      }
    }
    model->to(at::kDouble);
    const auto exact = qkv.to(at::kDouble);
    const auto terms = model->positions()->terms(all_tokens, at::kDouble);
    for (std::size_t layer = 0; layer < outs.size(); ++layer) {
      const auto& of_layer = terms[layer];
      const auto expected = attend_with(of_layer, exact[0], exact[1], exact[2]);
      const double bound = error_bound(of_layer, exact[0], exact[1], exact[2]);
      EXPECT_LE(largest_size(at::cat(outs[layer], 1) - expected), bound);
      // Attention without positions exceeds the bound, so the bound is not vacuous.
      if (!of_layer.q_rotations && !of_layer.clip && !of_layer.bias.defined()) continue;
      LayerTerms blind;
      blind.mask = at::full({all_tokens, all_tokens}, -INFINITY, at::kDouble).triu(1);
      const auto without = attend_with(blind, exact[0], exact[1], exact[2]);
      EXPECT_GT(largest_size(without - expected), bound);
    }
  }
}

TEST(Decoder, LaterTokensGetTheRowsOfTheirPositions) {
  for (const char* name : {"learned", "sinusoidal"}) {
    const nlohmann::json settings = encoding_settings(name);
    Positions positions(parse_encoding(settings, 16), config_for(settings), 1);
    const auto x = at::randn({1, all_tokens, 32});
    const auto later = positions->add_absolute(x.slice(1, prompt_tokens), prompt_tokens);
    EXPECT_TRUE(at::equal(later, positions->add_absolute(x).slice(1, prompt_tokens))) << name;
  }
}

// A reversed text turns later keys into earlier ones, so angles must change sign.
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
    const Decoder decoder(encoding, config, Transformer(config, encoding, 1), all_tokens);
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
  const auto logits = at::tensor({0.0, std::log(3.0), -1e9, std::log(4.0)}, at::kFloat);
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
