// SPDX-License-Identifier: Apache-2.0
#include "model/bias_readers.hpp"

#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

namespace rotary {
namespace {

constexpr SizeFacts heads_facts = {"heads", &ConfigKeys::heads, &ClassSizes::heads};

std::optional<RelativeBias> alibi(const ModelConfig& config, Sources& sources, AlibiForm form) {
  const auto heads = read_size(config, heads_facts, sources);
  if (!heads) return {};
  return Alibi{.heads = *heads, .form = form};
}

std::optional<RelativeBias> t5(const ModelConfig& config, Sources& sources, T5Direction direction) {
  constexpr std::string_view buckets_key = "relative_attention_num_buckets";
  constexpr std::string_view distance_key = "relative_attention_max_distance";
  const auto heads = read_size(config, heads_facts, sources);
  if (!heads) return {};
  Reader& reader = config.reader;
  const auto buckets = reader.integer(buckets_key);
  const auto distance = reader.integer(distance_key);
  note(sources, "buckets", stated_if(buckets.has_value()), buckets_key);
  note(sources, "max_distance", stated_if(distance.has_value()), distance_key);
  const std::int64_t rows = buckets.value_or(32);
  return T5Bias{
      .buckets = {.buckets = rows, .max_distance = distance.value_or(128), .direction = direction},
      .table = {.rows = rows, .features = *heads, .row_stride = *heads}};
}

}  // namespace

std::optional<RelativeBias> bloom_bias(const ModelConfig& config, Sources& sources) {
  return alibi(config, sources, AlibiForm::key_position);
}

std::optional<RelativeBias> mpt_bias(const ModelConfig& config, Sources& sources) {
  constexpr double usual = 8;
  auto bias = alibi(config, sources, AlibiForm::key_position);
  if (!bias) return {};
  auto attention = config.reader.object("attn_config");
  const auto stated = attention ? attention->number("alibi_bias_max") : std::nullopt;
  note(sources, "bias_max", stated_if(stated.has_value()), "attn_config.alibi_bias_max");
  std::get<Alibi>(*bias).bias_max = stated.value_or(usual);
  if (stated.value_or(usual) != usual) {
    config.reader.dispute(every_transformers, "attn_config.alibi_bias_max ", *stated,
                          " is read as in the model's own code; Transformers 5.23 computes with ",
                          usual, " whatever it is");
  }
  return bias;
}

std::optional<RelativeBias> falcon_bias(const ModelConfig& config, Sources& sources) {
  auto bias = alibi(config, sources, AlibiForm::key_position);
  const auto hidden_size = read_size(config, hidden_size_facts, sources);
  if (!bias || !hidden_size) return {};
  auto& of = std::get<Alibi>(*bias);
  auto slopes = alibi_slopes(of);
  if (!slopes) {
    config.reader.findings().fail(
        blamed(ErrorCode::malformed_input, "config, alibi: ", slopes.error()));
    return {};
  }
  const std::int64_t head_dim = *hidden_size / of.heads;
  const double scale = std::sqrt(static_cast<double>(head_dim));
  for (double& slope : *slopes) slope /= scale;
  of.slopes = *std::move(slopes);
  return bias;
}

std::optional<RelativeBias> baichuan_bias(const ModelConfig& config, Sources& sources) {
  return alibi(config, sources, AlibiForm::causal);
}

std::optional<RelativeBias> t5_encoder_bias(const ModelConfig& config, Sources& sources) {
  return t5(config, sources, T5Direction::bidirectional);
}

std::optional<RelativeBias> t5_decoder_bias(const ModelConfig& config, Sources& sources) {
  return t5(config, sources, T5Direction::causal);
}

}  // namespace rotary
