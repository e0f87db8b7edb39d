// SPDX-License-Identifier: Apache-2.0
// Claims 18 and 21: what models are made of, and what training says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "cli/model_cards.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::claims {
namespace {

// The backward pass: gradients of q from those of the rotated q.
std::vector<Evidence> convergence() {
  const std::vector<double> gradient = Random(18).normals(usual_head_dim);
  std::vector<double> passed(gradient.size());
  const Extents extents{.tokens = 1, .heads = 1, .features = usual_head_dim};
  const Strides strides = strides_bthd(extents);
  ok_or_fail(rotate({passed.data(), DType::f64, extents, strides},
                    {gradient.data(), DType::f64, extents, strides},
                    rows_at(frequencies_of(rope(usual_head_dim)), 5000),
                    {.direction = Direction::transpose}));
  const double ratio = std::sqrt(dot(passed, passed) / dot(gradient, gradient));
  return {{.computed =
               "length of a gradient of 128 features through the rotation at position 5000, "
               "divided by its length before (seed 18)",
           .relation = "a rotation neither lets gradients grow nor vanish, which is all that its "
                       "orthogonality says about stability",
           .setting = Setting::aside,
           .holds = std::abs(ratio - 1) <= 1e-14,
           .numbers = {{"ratio of lengths", ratio, about(1, 1e-14)}}}};
}

double rotating_share(std::string_view card_name) {
  const ModelCard* card = find_model_card(card_name);
  if (card == nullptr)
    throw Failure(ExitCode::internal, fmt::format("the tool has no model card '{}'", card_name));
  const ModelSpec model = value_or_fail(resolve(card->json), card_name);
  const auto rotating =
      std::ranges::count(model.layers, LayerEncoding::rotary, &ModelLayer::encoding);
  return static_cast<double>(rotating) / static_cast<double>(model.layers.size());
}

std::vector<Evidence> used_by() {
  const double llama = rotating_share("llama-3.1-8b");
  const double mistral = rotating_share("mistral-7b-v0.1");
  return {
      {.computed = "share of the layers that rotate, of the configs llama-3.1-8b and "
                   "mistral-7b-v0.1 (`rotary models show NAME`)",
       .relation = "every layer does",
       .setting = Setting::met,
       .holds = llama == 1 && mistral == 1,
       .numbers = {{"llama-3.1-8b", llama, exactly(1)}, {"mistral-7b-v0.1", mistral, exactly(1)}}},
      {.computed = "the same of bert-base-multilingual",
       .relation = "not every model does",
       .setting = Setting::aside,
       .holds = rotating_share("bert-base-multilingual") == 0,
       .numbers = {
           {"bert-base-multilingual", rotating_share("bert-base-multilingual"), exactly(0)}}}};
}

}  // namespace

std::vector<Claim> model_claims() {
  return {
      {.number = 18,
       .name = "convergence",
       .statement = "rotary embedding trains faster and is more stable",
       .verdict = Verdict::needs_training,
       .condition = "rotary-lab trains them; published losses are lower at equal steps in language "
                    "models, and equal where both were trained to the end",
       .examine = convergence,
       .published = {{"125 million parameters, 55k steps: loss 2.759 rotary, 2.801 T5, 2.809 "
                      "learned; 1.4 billion, 8k steps: 2.173, 2.223, 2.240",
                      "EleutherAI 2021, Rotary Embeddings: A Relative Revolution"},
                     {"WikiText-103 to the end, 512 tokens: perplexity 20.07 rotary, 20.05 "
                      "sinusoidal, 19.65 T5, 19.73 ALiBi",
                      "Press et al. 2022, arXiv 2108.12409"},
                     {"no explanation for the faster convergence is known to the authors",
                      "Su et al. 2021, arXiv 2104.09864, 4.5.5"}},
       .experiments = {"e1-causal-lm", "e2-masked-lm", "e5-linear-attention"}},
      {.number = 21,
       .name = "used-by",
       .statement = "PaLM, Llama and Mistral use rotary embedding",
       .verdict = Verdict::holds,
       .condition = "as their configs say; PaLM, which has no public config, by its paper",
       .examine = used_by,
       .published = {{"PaLM uses rotary embedding", "Chowdhery et al. 2022, arXiv 2204.02311"}}},
  };
}

}  // namespace rotary::cli::claims
