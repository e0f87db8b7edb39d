// SPDX-License-Identifier: Apache-2.0
// Encoding: how positions enter a model, as a value. Names stand for JSON settings
// (named_encodings), which experiments can change.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "lab/encodings/bias_encoding.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::lab {

// No encoding: a causal model still sees how many tokens precede (Haviv et al. 2022).
struct NoEncoding {};

// A learned row for each position of a training sequence, added to embeddings.
struct LearnedEncoding {};

// scale times transformer_sinusoidal, added to embeddings. The paper instead multiplies embeddings
// by sqrt(d_model), so that sines do not drown them. Here every model's embeddings start with a
// standard deviation of 0.02, so the scale reduces the sines.
struct SinusoidalEncoding {
  double base = 0;
  double scale = 0;
};

// Layers whose index is a multiple of full_every see all tokens, the others a sliding window.
struct WindowedLayers {
  std::int64_t window = 0;      // tokens that a query sees on either side, itself included
  std::int64_t full_every = 0;  // >= 1
};

// Rotates queries and keys. The spec may have any scaling rule (p-RoPE, clipped) or xPos.
struct RotaryEncoding {
  RotarySpec spec;
  std::optional<WindowedLayers> layers = {};
};

// A pair's relative angle grows with the distance up to max_angle and stays there (ClippedAngle in
// position_maps.hpp). For keys after the query the limit is -max_angle.
struct ClippedAngleEncoding {
  RotarySpec spec;
  double max_angle = 0;  // radians
};

// Learned vectors per distance, clipped to the window on either side, for keys and values.
struct ShawEncoding {
  std::int64_t window = 0;  // tokens
};

struct Encoding {
  std::string name;
  std::variant<NoEncoding, LearnedEncoding, SinusoidalEncoding, RotaryEncoding,
               ClippedAngleEncoding, ShawEncoding, BiasEncoding>
      kind;
};

struct NamedEncoding {
  std::string_view name;
  std::string_view settings;  // a JSON object
  std::string_view summary;
};

[[nodiscard]] std::span<const NamedEncoding> named_encodings() noexcept;

// Expands an experiment's entry: a name, or an object. The object has "like" (a named encoding) and
// settings to replace. If it replaces any, it also has a new "name". The result has "name", "kind"
// and all settings, for parse_encoding and a cell's configuration.
[[nodiscard]] nlohmann::json encoding_settings(const nlohmann::json& entry);

// Makes an encoding from settings. Fails with its name if a setting is unknown or invalid.
[[nodiscard]] Encoding parse_encoding(const nlohmann::json& object, std::int64_t head_dim);

struct Stretch {
  std::int64_t factor = 1;  // how many times longer
  std::int64_t tokens = 0;  // of a training sequence
};

// linear:  position interpolation (Chen et al. 2023)
// ntk:     NTK-aware with alpha = factor (bloc97 2023)
// dynamic: NTK-aware with alpha 2 s - 1 for an evaluated length of s times the trained one
//          (emozilla 2023; configs say factor 2): alpha 3 at twice the length, 7 at four times
// yarn:    YaRN (Peng et al. 2023)
// abf:     base 500000 for every factor (Xiong et al. 2023, who continue training with it)
inline constexpr std::array<std::string_view, 5> rescaling_rules = {"linear", "ntk", "dynamic",
                                                                    "yarn", "abf"};

[[nodiscard]] bool is_rescaling_rule(std::string_view rule) noexcept;

// Applies one of rescaling_rules to a spec without a scaling rule; other specs stay as they are.
[[nodiscard]] RotarySpec rescaled(RotarySpec spec, std::string_view rule, const Stretch& stretch);

}  // namespace rotary::lab
