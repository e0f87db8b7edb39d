// SPDX-License-Identifier: Apache-2.0
#include "base/yarn_growth.hpp"
#include "model/rope/scaling_readers.hpp"

namespace rotary {
namespace {

// The factor as Transformers 5 reads it: the key factor, or else the ratio of the lengths.
// Transformers 4.57, vLLM and llama.cpp always use the ratio.
double config_factor(RopeReader& reader, std::int64_t original) {
  const auto factor = reader.number("factor");
  const auto longest = reader.context().max_position_embeddings;
  if (!longest || original <= 0) {
    if (!factor) {
      reader.malformed(
          "factor must be given, got none (and no max_position_embeddings to be divided by the "
          "original one)");
    }
    return factor.value_or(0);
  }
  const double ratio = static_cast<double>(*longest) / static_cast<double>(original);
  if (!factor) return ratio;
  if (*factor != ratio) {
    reader.warn("factor ", *factor,
                " is not max_position_embeddings / original_max_position_embeddings = ", ratio,
                ", which Transformers 4 and vLLM use; factor is used");
  }
  return *factor;
}

LongRopeScaling read_lists(RopeReader& reader) {
  LongRopeScaling rule;
  rule.short_factor = reader.required_numbers("short_factor");
  rule.long_factor = reader.required_numbers("long_factor");
  rule.original_context_tokens = reader.original_context();
  rule.factor = config_factor(reader, rule.original_context_tokens);
  rule.attention_factor = reader.number("attention_factor");
  rule.short_mscale = reader.number("short_mscale");
  rule.long_mscale = reader.number("long_mscale");
  return rule;
}

}  // namespace

Scaling read_longrope(RopeReader& reader) { return read_lists(reader); }

Scaling read_phi3_yarn(RopeReader& reader) {
  LongRopeScaling rule = read_lists(reader);
  if (rule.attention_factor || !(rule.factor > 1)) return rule;
  rule.attention_factor = yarn_growth(rule.factor);
  reader.dispute(
      transformers_5,
      "rope_type yarn of this family is LongRoPE with the attention factor 0.1 ln(factor) + 1; "
      "Transformers 5 reads it as longrope, with another factor");
  return rule;
}

}  // namespace rotary
