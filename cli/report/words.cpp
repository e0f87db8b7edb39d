// SPDX-License-Identifier: Apache-2.0
#include "cli/report/words.hpp"

#include <fmt/format.h>

#include "cli/commands/model_text.hpp"
#include "cli/model_input.hpp"

namespace rotary::cli::page {
namespace {

std::string first_sentence(const ModelSpec& model, std::size_t index) {
  const std::string layers = layers_with_rotary(model, index);
  const auto& type = model.rotary[index].layer_type;
  const std::string who = fmt::format("{}{}", layers.empty() ? "The layers" : "In " + layers,
                                      type ? fmt::format(" ({})", *type) : "");
  return layers.empty()
             ? fmt::format("{} turn queries and keys by their position (rotary embedding, RoPE).",
                           who)
             : fmt::format(
                   "{} queries and keys are turned by their position (rotary embedding, RoPE); "
                   "values are not.",
                   who);
}

}  // namespace

std::string rule_sentence(const Scaling& scaling) {
  std::string text(sentence(scaling));
  for (const auto& [facts, value] : scaling_parameters(scaling)) {
    const std::string key = fmt::format("{{{}}}", facts.name);
    if (const auto at = text.find(key); at != std::string::npos)
      text.replace(at, key.size(), parameter_text(value));
  }
  return text;
}

std::vector<std::string> rotary_sentences(const ModelSpec& model, std::size_t index,
                                          const Frequencies& frequencies) {
  const ModelRotary& rotary = model.rotary[index];
  std::vector<std::string> sentences = {
      first_sentence(model, index),
      fmt::format("Of the features of a head {}, in {} pairs: {}.",
                  window_text(frequencies.window, rotary.nope_head_dim), frequencies.window.pairs(),
                  pairing_text(frequencies.window)),
      fmt::format("A turn takes {}.", wavelengths_text(frequencies.inv_freq)),
      rule_sentence(rotary.spec.scaling)};
  if (rotary.trained_context_tokens) {
    sentences.push_back(fmt::format("The config states a context of {} tokens: {}.",
                                    *rotary.trained_context_tokens,
                                    turning_text(frequencies, *rotary.trained_context_tokens)));
  }
  return sentences;
}

std::string encoding_sentence(LayerEncoding encoding) {
  switch (encoding) {
    case LayerEncoding::rotary:
      return {};
    case LayerEncoding::none:
      return "Some layers have no encoding (NoPE): only the causal mask tells them about order.";
    case LayerEncoding::alibi:
      return "Linear biases (ALiBi): each score falls in proportion to the distance, in each head "
             "with a slope of its own. Queries and keys are not touched.";
    case LayerEncoding::t5_bias:
      return "T5's biases: each score gets a learned number that depends on the head and on the "
             "bucket into which the distance falls. Queries and keys are not touched.";
    case LayerEncoding::learned:
      return "Learned vectors: each position up to the last one of the table has a vector of its "
             "own, which is added to the token's embedding. There is nothing beyond the table.";
    case LayerEncoding::sinusoidal:
      return "Sinusoidal vectors: sines and cosines of the position, at many speeds, are added to "
             "the token's embedding.";
    case LayerEncoding::no_attention:
      return "Some layers have no attention: they mix tokens otherwise.";
  }
  return {};
}

}  // namespace rotary::cli::page
