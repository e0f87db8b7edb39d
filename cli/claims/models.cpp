// SPDX-License-Identifier: Apache-2.0
// Claims 18 and 26: effects on training. Claim 19: linear attention. Claim 21: the encodings that
// models use.
#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "cli/model_cards.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::int64_t map_features = 64;  // elu + 1 keeps the head's number of features

// Independent normal q and k of one head, and v.
struct LinearInputs {
  std::int64_t tokens;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
};

LinearInputs normal_inputs(std::int64_t tokens, std::vector<float> v) {
  Random random(19);
  std::vector<float> q = random.normals<float>(tokens * map_features);
  return {.tokens = tokens,
          .q = std::move(q),
          .k = random.normals<float>(tokens * map_features),
          .v = std::move(v)};
}

Rotations rotations_from(std::int64_t first, std::int64_t tokens) {
  return value_or_fail(make_rotations(plain_frequencies(map_features),
                                      ConsecutivePositions{.first = first, .tokens = tokens}));
}

// Linear attention with elu + 1 and no mask.
std::vector<float> linear_attended(const LinearInputs& inputs,
                                   std::optional<NumeratorRotations> rotations) {
  std::vector<float> out(inputs.v.size());
  const auto view = [&](auto& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return heads_view(values.data(),
                      {.tokens = inputs.tokens, .heads = 1, .features = count / inputs.tokens});
  };
  ok_or_fail(linear_attend(view(out), {view(inputs.q), view(inputs.k), view(inputs.v)},
                           EluPlusOne{},
                           {.mask = LinearMask::bidirectional, .rotations = rotations}));
  return out;
}

// Linear attention that rotates features only in the numerator (RoFormer's equation 19).
std::vector<float> numerator_turned(const LinearInputs& inputs, std::int64_t first) {
  const Rotations rotations = rotations_from(first, inputs.tokens);
  return linear_attended(inputs, NumeratorRotations{.q = rotations, .k = rotations});
}

// Linear attention that rotates q and k before the feature map.
std::vector<float> inputs_turned(LinearInputs inputs, std::int64_t first) {
  const Rotations rotations = rotations_from(first, inputs.tokens);
  inputs.q = rotated(std::move(inputs.q), rotations);
  inputs.k = rotated(std::move(inputs.k), rotations);
  return linear_attended(inputs, std::nullopt);
}

struct Weights {
  double negative;  // share of negative weights
  double least_sum;
  double largest_sum;
};

Weights weights_of(std::int64_t tokens) {
  const std::vector<float> all =
      numerator_turned(normal_inputs(tokens, identity(static_cast<std::size_t>(tokens))), 0);
  const auto negative =
      static_cast<double>(std::ranges::count_if(all, [](float weight) { return weight < 0; }));
  const std::vector<float> ones(static_cast<std::size_t>(tokens), 1.0F);
  const std::vector<float> sums = numerator_turned(normal_inputs(tokens, ones), 0);
  const auto [least, largest] = std::ranges::minmax(sums);
  return {negative / static_cast<double>(all.size()), static_cast<double>(least),
          static_cast<double>(largest)};
}

std::vector<Evidence> linear_attention() {
  constexpr std::int64_t moved = 1000;
  constexpr double rounding = 1e-5;
  const LinearInputs inputs = normal_inputs(64, Random(20).normals<float>(64 * map_features));
  const double turned =
      largest_difference(numerator_turned(inputs, 0), numerator_turned(inputs, moved));
  const double before = largest_difference(inputs_turned(inputs, 0), inputs_turned(inputs, moved));
  const Weights few = weights_of(64);
  const Weights many = weights_of(512);
  const Weights most = weights_of(2048);
  return {
      as_claimed("linear attention over 64 normal q, k and v of 64 features, elu + 1, "
                 "bidirectional (seed 19), at positions 0 to 63 and 1000 to 1063; features rotate "
                 "only in the numerator (RoFormer, equation 19)",
                 "the result depends only on differences of positions", turned <= rounding,
                 {{"largest difference", turned, {0, rounding}}}),
      beyond("the same with q and k rotated before the feature map",
             "the result depends only on differences of positions", before <= rounding,
             {{"largest difference", before, {0.01, 10}}}),
      aside("weights of equation 19 over 64, 512 and 2048 tokens",
            "the price: weights become negative, and rows no longer sum to 1",
            few.negative < many.negative && many.negative < most.negative && most.largest_sum < 1,
            {{"negative weights, 64 tokens", few.negative, {0, 0.001}},
             {"negative weights, 512 tokens", many.negative, about(0.009, 0.003)},
             {"negative weights, 2048 tokens", most.negative, about(0.087, 0.01)},
             {"least sum of a row, 64 tokens", few.least_sum, about(0.50, 0.08)},
             {"largest sum, 64 tokens", few.largest_sum, about(0.73, 0.08)},
             {"least sum of a row, 2048 tokens", most.least_sum, about(0.13, 0.08)},
             {"largest sum, 2048 tokens", most.largest_sum, about(0.42, 0.08)}})};
}

// The backward pass: gradients of q from those of the rotated q.
std::vector<Evidence> kept_gradients() {
  const std::vector<double> gradient = Random(18).normals(usual_head_dim);
  std::vector<double> passed(gradient.size());
  const Extents extents{.tokens = 1, .heads = 1, .features = usual_head_dim};
  ok_or_fail(rotate(heads_view(passed.data(), extents), heads_view(gradient.data(), extents),
                    rows_at(plain_frequencies(), 5000), {.direction = Direction::transpose}));
  const double ratio = std::sqrt(dot(passed, passed) / dot(gradient, gradient));
  return {
      aside("length of a gradient of 128 features after the rotation at position 5000, divided "
            "by its length before (seed 18)",
            "a rotation keeps the length of gradients; its orthogonality says no more about "
            "training",
            std::abs(ratio - 1) <= 1e-14, {{"ratio of lengths", ratio, about(1, 1e-14)}})};
}

double rotating_share(std::string_view card_name) {
  const ModelCard* card = find_model_card(card_name);
  if (card == nullptr) fail(ExitCode::internal, "the tool has no model card '{}'", card_name);
  const ModelSpec model = value_or_fail(resolve(card->json), card_name);
  const auto rotating =
      std::ranges::count(model.layers, LayerEncoding::rotary, &ModelLayer::encoding);
  return static_cast<double>(rotating) / static_cast<double>(model.layers.size());
}

std::vector<Evidence> used_by() {
  const double llama = rotating_share("llama-3.1-8b");
  const double mistral = rotating_share("mistral-7b-v0.1");
  return {
      as_claimed("share of layers that rotate in the configs llama-3.1-8b and mistral-7b-v0.1 "
                 "(`rotary models show NAME`)",
                 "every layer rotates", llama == 1 && mistral == 1,
                 {{"llama-3.1-8b", llama, exactly(1)}, {"mistral-7b-v0.1", mistral, exactly(1)}}),
      aside("the same share in bert-base-multilingual", "not every model rotates",
            rotating_share("bert-base-multilingual") == 0,
            {{"bert-base-multilingual", rotating_share("bert-base-multilingual"), exactly(0)}})};
}

}  // namespace

std::vector<Claim> model_claims() {
  using enum Verdict;
  return {
      {19, "linear-attention", "rotary embedding works with linear attention", holds_only_if,
       "features rotate after the feature map, and only in the numerator. Some weights then "
       "become negative, and their sums shrink as the context grows",
       linear_attention,
       Publications{{"Performer on enwik8: loss 1.70 without and 1.53 with it at 20k steps, 1.30 "
                     "and 1.21 at 97k (read off the figure)",
                     "Su et al. 2021, arXiv 2104.09864, figure 3"}},
       Experiments{"e5-linear-attention"}},
      {18, "convergence", "rotary embedding trains faster", needs_training,
       "rotary-lab trains it. Published losses of language models are lower at equal steps, and "
       "equal at the end of training",
       kept_gradients,
       Publications{{"125 million parameters, 55k steps: loss 2.759 rotary, 2.801 T5, 2.809 "
                     "learned; 1.4 billion, 8k steps: 2.173, 2.223, 2.240",
                     "EleutherAI 2021, Rotary Embeddings: A Relative Revolution"},
                    {"WikiText-103 to the end, 512 tokens: perplexity 20.07 rotary, 20.05 "
                     "sinusoidal, 19.65 T5, 19.73 ALiBi",
                     "Press et al. 2022, arXiv 2108.12409"},
                    {"no explanation for the faster convergence is known to the authors",
                     "Su et al. 2021, arXiv 2104.09864, 4.5.5"}},
       Experiments{"e1-causal-lm", "e2-masked-lm", "e5-linear-attention"}},
      {26, "stable", "rotary embedding makes training more stable", needs_training,
       "rotary-lab trains at several learning rates. A rotation keeps the length of gradients "
       "but bounds no score: models that rotate have diverged",
       kept_gradients,
       Publications{{"PaLM, which rotates: the loss of the largest model spiked about 20 times, "
                     "in spite of clipped gradients",
                     "Chowdhery et al. 2022, arXiv 2204.02311, 5.1"},
                    {"small models that rotate diverge at high learning rates, where scores "
                     "grow; normalising q and k helps",
                     "Wortsman et al. 2023, arXiv 2309.14322, 3.1"},
                    {"orthogonality ensures stability while positions are encoded (stated, not "
                     "measured)",
                     "Su et al. 2021, arXiv 2104.09864, 3.2.2"}},
       Experiments{"e1-learning-rates", "e1-stability"}},
      {21, "used-by", "PaLM, Llama and Mistral use rotary embedding", holds,
       "the configs of Llama and Mistral say so, and the paper of PaLM, which has no public "
       "config",
       used_by,
       Publications{{"PaLM uses rotary embedding", "Chowdhery et al. 2022, arXiv 2204.02311"}}},
  };
}

}  // namespace rotary::cli::claims
