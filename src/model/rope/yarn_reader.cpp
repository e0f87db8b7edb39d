// SPDX-License-Identifier: Apache-2.0
#include "model/rope/scaling_readers.hpp"

namespace rotary {
namespace {

// Warns if factor and the two lengths contradict one another.
void warn_about_ratio(RopeReader& reader, const YarnScaling& rule) {
  const auto trained = reader.context().max_position_embeddings;
  if (!trained || rule.original_context_tokens <= 0) return;
  const double ratio =
      static_cast<double>(*trained) / static_cast<double>(rule.original_context_tokens);
  if (ratio == 1 || ratio == rule.factor) return;
  reader.warn("factor ", rule.factor,
              " is not max_position_embeddings / original_max_position_embeddings = ", ratio,
              "; factor is used");
}

// Reads the ramp from truncate (configs and specs) or ramp (specs only).
YarnRamp read_ramp(RopeReader& reader) {
  if (reader.is_null("truncate")) reader.malformed("truncate must be true or false, got null");
  const auto truncate = reader.boolean("truncate");
  const auto by_truncate = truncate.value_or(true) ? YarnRamp::whole_pairs : YarnRamp::fractional;
  if (reader.document() == Document::config) return by_truncate;
  const auto name = reader.text("ramp");
  if (name && truncate) {
    reader.malformed("ramp and truncate must not both be given, got ramp ", describe(*name),
                     " and truncate ", *truncate ? "true" : "false");
  }
  return read_enumerator(reader, "ramp", by_truncate);
}

}  // namespace

Scaling read_yarn(RopeReader& reader) {
  YarnScaling rule;
  const auto factor = reader.number("factor");
  rule.original_context_tokens = reader.original_context();
  if (!reader.has("factor")) reader.required_number("factor");
  const auto trained = reader.context().max_position_embeddings;
  if (factor) {
    rule.factor = *factor;
    warn_about_ratio(reader, rule);
  } else if (trained && rule.original_context_tokens > 0) {  // "factor": null
    rule.factor = static_cast<double>(*trained) / static_cast<double>(rule.original_context_tokens);
  }
  reader.warn_below_one(rule.factor);
  // Transformers reads `beta or default`, so 0 means the default.
  if (const auto beta = reader.number("beta_fast"); beta && *beta != 0) rule.beta_fast = *beta;
  if (const auto beta = reader.number("beta_slow"); beta && *beta != 0) rule.beta_slow = *beta;
  rule.attention_factor = reader.number("attention_factor");
  rule.mscale = reader.number("mscale");
  rule.mscale_all_dim = reader.number("mscale_all_dim");
  const Json* const given = reader.find("attention_factor");
  if (given != nullptr && given->is_integer()) {
    reader.warn("attention_factor is an integer, ", describe(*given),
                "; Transformers warns unless it is a float");
  }
  reader.boolean("finetuned");  // in models of YaRN's authors; has no effect
  reader.explain("attn_factor",
                 "it is vLLM's, where it multiplies the computed factor; attention_factor, which "
                 "replaces it, is Transformers' name");
  rule.ramp = read_ramp(reader);
  return rule;
}

}  // namespace rotary
