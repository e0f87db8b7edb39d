// SPDX-License-Identifier: Apache-2.0
#include "model/encoding_choice.hpp"

#include <string>
#include <string_view>

#include "model/json/config_json.hpp"

namespace rotary {
namespace {

constexpr std::string_view type_key = "position_embedding_type";

struct Choice {
  std::string_view name;
  LayerEncoding encoding;
};

LayerEncoding by_type(Reader& config, Choice usual, Choice other) {
  const std::string name = config.text(type_key).value_or(std::string(usual.name));
  if (name == other.name) return other.encoding;
  if (name != usual.name) {
    config.not_supported(type_key, " must be ", other.name, " or ", usual.name, ", got '",
                         shorten(name), "'");
  }
  return usual.encoding;
}

}  // namespace

LayerEncoding rope_or_none(Reader& config) {
  return by_type(config, {"nope", LayerEncoding::none}, {"rope", LayerEncoding::rotary});
}

LayerEncoding rotary_or_learned(Reader& config) {
  return by_type(config, {"absolute", LayerEncoding::learned}, {"rotary", LayerEncoding::rotary});
}

LayerEncoding absolute_only(Reader& config) {
  const std::string name = config.text(type_key).value_or("absolute");
  if (name != "absolute") {
    config.not_supported(type_key, " must be absolute, got '", shorten(name), "'");
  }
  return LayerEncoding::learned;
}

LayerEncoding mpt_encoding(Reader& config) {
  auto attention = config.object("attn_config");
  if (!attention) return LayerEncoding::alibi;
  const bool alibi = attention->boolean("alibi").value_or(true);
  if (attention->boolean("rope").value_or(false)) {
    attention->not_supported("rope must be false, as in Transformers; got true");
  }
  if (!alibi) attention->not_supported("alibi must be true, as in Transformers; got false");
  return LayerEncoding::alibi;
}

LayerEncoding baichuan_encoding(Reader& config) {
  const auto hidden_size = config.integer("hidden_size");
  const bool rotates = hidden_size == 4096;
  if (!rotates && hidden_size != 5120) {
    config.not_supported(
        "hidden_size must be 4096 (7B, rotary embedding) or 5120 (13B, linear biases), because no "
        "key of a Baichuan config says which it is; got ",
        text_or_none(hidden_size));
    return LayerEncoding::alibi;
  }
  config.findings().warn("no key of a Baichuan config says how positions enter: hidden_size ",
                         *hidden_size, " is that of the model ",
                         rotates ? "with rotary embedding" : "with linear biases");
  return rotates ? LayerEncoding::rotary : LayerEncoding::alibi;
}

LayerEncoding olmo_encoding(Reader& config) {
  const bool rotates = config.boolean("rope").value_or(config.find("n_heads") == nullptr);
  if (!rotates) {
    config.not_supported("rope must be true: learned positions and the linear biases of this code ",
                         "are not supported; got false");
  }
  return LayerEncoding::rotary;
}

LayerEncoding chatglm_encoding(Reader& config) {
  if (config.boolean("position_encoding_2d").value_or(false)) {
    config.not_supported(
        "position_encoding_2d must be false: positions of two axes, as in the first ChatGLM, are "
        "not supported; got true");
  }
  return LayerEncoding::rotary;
}

}  // namespace rotary
