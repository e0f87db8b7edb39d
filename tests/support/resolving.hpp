// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include "rotary/model_spec.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary::test {

// A llama with head_dim 64, two layers and extra members: R"("rope_theta": 1e6)".
[[nodiscard]] inline std::string llama_with(std::string_view members) {
  std::string config = R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 2,)"
                       R"( "num_hidden_layers": 2, "max_position_embeddings": 4096)";
  if (!members.empty()) config.append(", ").append(members);
  return config + "}";
}

// A model of this type with head_dim 64, four layers and extra members.
[[nodiscard]] inline std::string model_with(std::string_view model_type,
                                            std::string_view members = {}) {
  std::string config = R"({"model_type": ")";
  config.append(model_type)
      .append(R"(", "hidden_size": 128, "num_attention_heads": 2, "head_dim": 64,)")
      .append(R"( "num_hidden_layers": 4, "max_position_embeddings": 4096)");
  if (!members.empty()) config.append(", ").append(members);
  return config + "}";
}

// A JSON member "key": value; value is JSON.
[[nodiscard]] inline std::string member(std::string_view key, std::string_view value) {
  std::string text = "\"";
  return text.append(key).append("\": ").append(value);
}

[[nodiscard]] inline std::string json_object(std::string_view members) {
  std::string text = "{";
  return text.append(members).append("}");
}

[[nodiscard]] inline std::string json_text(std::string_view content) {
  std::string text = "\"";
  return text.append(content).append("\"");
}

[[nodiscard]] inline ModelSpec resolved(std::string_view config,
                                        const ResolveOptions& options = {}) {
  return value_of(resolve(config, options));
}

// The spec of a model with one rotary embedding.
[[nodiscard]] inline RotarySpec resolved_rotary(std::string_view config) {
  const ModelSpec model = resolved(config);
  if (model.rotary.size() != 1) throw std::runtime_error("one rotary embedding expected");
  return model.rotary.front().spec;
}

// Each layer's encoding: R with the index of its rotary embedding, N for none, - for no attention,
// else the name's first letter: "R0 R0 R0 N".
[[nodiscard]] inline std::string layers_of(const ModelSpec& model) {
  std::string text;
  for (const ModelLayer& layer : model.layers) {
    if (!text.empty()) text += ' ';
    switch (layer.encoding) {
      case LayerEncoding::rotary:
        text += "R" + std::to_string(layer.rotary);
        break;
      case LayerEncoding::none:
        text += "N";
        break;
      case LayerEncoding::no_attention:
        text += "-";
        break;
      case LayerEncoding::alibi:
      case LayerEncoding::t5_bias:
      case LayerEncoding::learned:
      case LayerEncoding::sinusoidal:
        text += to_string(layer.encoding).substr(0, 1);
        break;
    }
  }
  return text;
}

[[nodiscard]] inline const ModelRotary& rotary_for(const ModelSpec& model,
                                                   std::string_view layer_type) {
  for (const ModelRotary& each : model.rotary) {
    if (each.layer_type == layer_type) return each;
  }
  throw std::runtime_error("no rotary embedding for " + std::string(layer_type));
}

[[nodiscard]] inline bool warns(const ModelSpec& model, std::string_view about) {
  return std::any_of(model.warnings.begin(), model.warnings.end(), [&](const std::string& warning) {
    return warning.find(about) != std::string::npos;
  });
}

inline void malformed(std::string_view config, Parts parts,
                      const std::source_location& at = std::source_location::current()) {
  SCOPED_TRACE(config);
  refused(resolve(config), parts, ErrorCode::malformed_input, at);
}

inline void not_supported(std::string_view config, Parts parts,
                          const std::source_location& at = std::source_location::current()) {
  SCOPED_TRACE(config);
  refused(resolve(config), parts, ErrorCode::unsupported, at);
}

}  // namespace rotary::test
