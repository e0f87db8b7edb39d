// SPDX-License-Identifier: Apache-2.0
#include "model/encoding_choice.hpp"

#include <string_view>

#include "base/message.hpp"

namespace rotary {
namespace {

constexpr std::string_view type_key = "position_embedding_type";

struct Choice {
  LayerEncoding if_true;
  LayerEncoding if_false;  // also when absent
};

Result<LayerEncoding> by_switch(const ConfigObject& config, std::string_view key, Choice choice) {
  const auto value = read_boolean(config, key);
  if (!value) return value.error();
  return value->value_or(false) ? choice.if_true : choice.if_false;
}

}  // namespace

Result<LayerEncoding> rope_or_none(const ConfigObject& config, std::vector<std::string>&) {
  const auto type = read_string(config, type_key);
  if (!type) return type.error();
  const std::string name = type->value_or("nope");
  if (name == "rope") return LayerEncoding::rotary;
  if (name == "nope") return LayerEncoding::none;
  return unsupported(config.path, type_key, " must be rope or nope, got '", shorten(name), "'");
}

Result<LayerEncoding> mem_rope_or_none(const ConfigObject& config, std::vector<std::string>&) {
  return by_switch(config, "use_mem_rope", {LayerEncoding::rotary, LayerEncoding::none});
}

Result<LayerEncoding> rotary_or_learned(const ConfigObject& config, std::vector<std::string>&) {
  const auto type = read_string(config, type_key);
  if (!type) return type.error();
  const std::string name = type->value_or("absolute");
  if (name == "rotary") return LayerEncoding::rotary;
  if (name == "absolute") return LayerEncoding::learned;
  return unsupported(config.path, type_key, " must be rotary or absolute, got '", shorten(name),
                     "'");
}

Result<LayerEncoding> absolute_only(const ConfigObject& config, std::vector<std::string>&) {
  const auto type = read_string(config, type_key);
  if (!type) return type.error();
  if (type->value_or("absolute") == "absolute") return LayerEncoding::learned;
  return unsupported(config.path, type_key, " must be absolute, got '", shorten(**type), "'");
}

Result<LayerEncoding> sinusoidal_or_learned(const ConfigObject& config, std::vector<std::string>&) {
  return by_switch(config, "sinusoidal_pos_embds",
                   {LayerEncoding::sinusoidal, LayerEncoding::learned});
}

Result<LayerEncoding> alibi_or_rotary(const ConfigObject& config, std::vector<std::string>&) {
  return by_switch(config, "alibi", {LayerEncoding::alibi, LayerEncoding::rotary});
}

Result<LayerEncoding> mpt_encoding(const ConfigObject& config, std::vector<std::string>&) {
  const Json* const attention = find(config, "attn_config");
  if (attention == nullptr) return LayerEncoding::alibi;
  if (!attention->is_object()) {
    return malformed_input(config.path, "attn_config must be an object, got ",
                           describe(*attention));
  }
  const ConfigObject object{.object = attention, .path = message(config.path, "attn_config.")};
  const auto alibi = read_boolean(object, "alibi");
  if (!alibi) return alibi.error();
  const auto rope = read_boolean(object, "rope");
  if (!rope) return rope.error();
  if (rope->value_or(false)) {
    return unsupported(object.path, "rope must be false, as in Transformers; got true");
  }
  if (alibi->value_or(true)) return LayerEncoding::alibi;
  return unsupported(object.path, "alibi must be true, as in Transformers; got false");
}

Result<LayerEncoding> baichuan_encoding(const ConfigObject& config,
                                        std::vector<std::string>& warnings) {
  const auto hidden_size = read_integer(config, "hidden_size");
  if (!hidden_size) return hidden_size.error();
  const bool rotates = *hidden_size == 4096;
  if (!rotates && *hidden_size != 5120) {
    return unsupported(config.path,
                       "hidden_size must be 4096 (7B, rotary embedding) or 5120 (13B, linear "
                       "biases), because no key of a Baichuan config says which it is; got ",
                       *hidden_size ? to_text(**hidden_size) : std::string("none"));
  }
  warnings.push_back(message("no key of a Baichuan config says how positions enter: hidden_size ",
                             **hidden_size, " is that of the model ",
                             rotates ? "with rotary embedding" : "with linear biases"));
  return rotates ? LayerEncoding::rotary : LayerEncoding::alibi;
}

Result<LayerEncoding> chatglm_encoding(const ConfigObject& config, std::vector<std::string>&) {
  const auto two_axes = read_boolean(config, "position_encoding_2d");
  if (!two_axes) return two_axes.error();
  if (!two_axes->value_or(false)) return LayerEncoding::rotary;
  return unsupported(config.path,
                     "position_encoding_2d must be false: positions of two axes, as in the first "
                     "ChatGLM, are not supported; got true");
}

}  // namespace rotary
