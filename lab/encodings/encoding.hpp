// SPDX-License-Identifier: Apache-2.0
// Encoding: how positions enter a model, as a value. What a name stands for is JSON
// (named_encodings), so an experiment can change it.
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

// Nothing: a causal model still sees how many tokens there are before (Haviv et al. 2022).
struct NoEncoding {};

// A row for each position, added to the embeddings; as many rows as the model trains tokens.
struct LearnedEncoding {};

// scale times transformer_sinusoidal, added to the embeddings. The paper multiplies embeddings by
// sqrt(d_model), which makes the two of one size; here embeddings begin with a size of 0.02 in
// every model, and so the sines shrink instead. Without it positions drown the tokens.
struct SinusoidalEncoding {
  double base = 0;
  double scale = 0;
};

// Layers whose index is a multiple of full_every see everything, all others a sliding window.
struct WindowedLayers {
  std::int64_t window = 0;      // tokens that a query sees, itself included; on either side of it
  std::int64_t full_every = 0;  // >= 1
};

// Queries and keys turn: every scaling rule, p-RoPE, clipped frequencies, xPos.
struct RotaryEncoding {
  RotarySpec spec;
  std::optional<WindowedLayers> layers = {};
};

// Pairs turn up to an angle, where they stay (ClippedAngle of position_maps.hpp); towards keys that
// stand after the query, by its negative.
struct ClippedAngleEncoding {
  RotarySpec spec;
  double max_angle = 0;  // radians
};

// Learned vectors by distance, clipped at window on either side; for keys and for values.
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

// The settings that the text or object stands for: a name, or an object with the named encoding
// that it is "like", settings that replace those of that one, and where there are any a "name" of
// its own. The result has "name" and "kind" and all settings, for parse_encoding and for a cell's
// configuration.
[[nodiscard]] nlohmann::json encoding_settings(const nlohmann::json& entry);

// Makes an encoding of such settings. Fails, with the encoding's name, on one that it does not have
// or that breaks a requirement.
[[nodiscard]] Encoding parse_encoding(const nlohmann::json& object, std::int64_t head_dim);

// How a trained rotary encoding is stretched over longer sequences, by name.

struct Stretch {
  std::int64_t factor = 1;  // how many times longer
  std::int64_t tokens = 0;  // of a sequence in training
};

// linear:  position interpolation (Chen et al. 2023)
// ntk:     NTK-aware, alpha the factor (bloc97 2023)
// dynamic: NTK-aware for the length that is evaluated, which grows twice as fast as the length
//          does (emozilla 2023; configs say factor 2); at twice the length alpha 3, at four times 7
// yarn:    YaRN (Peng et al. 2023)
// abf:     base 500000 whatever the factor (Xiong et al. 2023), who train on with it
inline constexpr std::array<std::string_view, 5> rescaling_rules = {"linear", "ntk", "dynamic",
                                                                    "yarn", "abf"};

[[nodiscard]] bool is_rescaling_rule(std::string_view rule) noexcept;

// A spec without a scaling rule as this one, one of rescaling_rules, makes it; any other leaves it.
[[nodiscard]] RotarySpec rescaled(RotarySpec spec, std::string_view rule, const Stretch& stretch);

}  // namespace rotary::lab
