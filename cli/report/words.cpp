// SPDX-License-Identifier: Apache-2.0
#include "cli/report/words.hpp"

#include <fmt/format.h>

#include <variant>

#include "cli/commands/layers_text.hpp"
#include "cli/commands/rotary_text.hpp"
#include "cli/model_input.hpp"

namespace rotary::cli::page {
namespace {

// docs/theory/scaling.md has the formulas.
struct RuleSentence {
  std::string operator()(const NoScaling&) const {
    return "No scaling rule: of d features that turn, pair i turns by base^(-2i/d) radians a "
           "token.";
  }
  std::string operator()(const LinearScaling& rule) const {
    return fmt::format(
        "Linear scaling (position interpolation) divides every frequency by {}: no angle is new, "
        "and neighbouring tokens are that much harder to tell apart.",
        rule.factor);
  }
  std::string operator()(const NtkScaling& rule) const {
    return fmt::format(
        "NTK-aware scaling enlarges the base so that the slowest pair turns {} times slower and "
        "the fastest as before.",
        rule.alpha);
  }
  std::string operator()(const YarnScaling& rule) const {
    return fmt::format(
        "YaRN leaves alone the pairs that make more than {} turns within {} tokens, slows those "
        "that make less than {} by {}, and passes from one to the other between.",
        rule.beta_fast, rule.original_context_tokens, rule.beta_slow, rule.factor);
  }
  std::string operator()(const Llama3Scaling& rule) const {
    return fmt::format(
        "Llama 3's rule leaves alone the pairs that make more than {} turns within {} tokens, "
        "slows those that make less than {} by {}, and blends between.",
        rule.high_freq_factor, rule.original_context_tokens, rule.low_freq_factor, rule.factor);
  }
  std::string operator()(const DynamicNtkScaling& rule) const {
    return fmt::format(
        "Dynamic NTK scaling enlarges the base as the context grows beyond {} tokens, so each "
        "length has frequencies of its own: keys that were cached at one length are wrong at "
        "another.",
        rule.original_context_tokens);
  }
  std::string operator()(const LongRopeScaling& rule) const {
    return fmt::format(
        "LongRoPE divides each pair's frequency by a number of its own, from one list up to {} "
        "tokens and from another beyond: keys that were cached before are wrong after.",
        rule.original_context_tokens);
  }
  std::string operator()(const ProportionalScaling& rule) const {
    return fmt::format(
        "Proportional rotary embedding turns the fastest {} % of the pairs and lets the others "
        "stand still, which then know no position.",
        100 * rule.turning_fraction);
  }
  std::string operator()(const MixedNtkScaling& rule) const {
    return fmt::format(
        "Mixed NTK scaling slows pairs down the more the slower they are, by {} in all.",
        rule.factor);
  }
  std::string operator()(const NtkByPartsScaling& rule) const {
    return fmt::format(
        "NTK-by-parts leaves fast pairs alone and slows slow ones by {}, with ramps between.",
        rule.factor);
  }
  std::string operator()(const ClippedScaling& rule) const {
    return fmt::format("Clipped rotary embedding slows down or stops the {} slowest pairs.",
                       rule.clipped_pairs);
  }
  std::string operator()(const RetNetScaling&) const {
    return "RetNet's exponents: of n pairs, pair i turns by base^(-i/(n - 1)) radians a token.";
  }
  std::string operator()(const ExplicitScaling&) const {
    return "The frequencies are given one by one; no base and no formula.";
  }
};

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

std::string rule_sentence(const Scaling& scaling) { return std::visit(RuleSentence{}, scaling); }

std::vector<std::string> rotary_sentences(const ModelSpec& model, std::size_t index,
                                          const Frequencies& frequencies) {
  const ModelRotary& rotary = model.rotary[index];
  std::vector<std::string> sentences = {
      first_sentence(model, index),
      fmt::format("Of the features of a head {}, in {} pairs: {}.",
                  window_text(frequencies.window, rotary.nope_head_dim), frequencies.window.pairs(),
                  pairing_text(frequencies.window)),
      fmt::format("A turn takes {}.", wavelengths_text(frequencies)),
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
