// SPDX-License-Identifier: Apache-2.0
// Describes embeddings and layers in the words that inspect, report and explain share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli {

// "llama, 32 layers, one rotary embedding". The model_type is the config's text, not escaped:
// callers use printable().
[[nodiscard]] std::string summary_text(const ModelSpec& model);

// For either direction of turning.
[[nodiscard]] double turns_within(double inv_freq, std::int64_t tokens);

// Infinite for a pair that stands still.
[[nodiscard]] double wavelength_tokens(double inv_freq);

[[nodiscard]] std::int64_t pairs_that_turn(const Frequencies& frequencies, std::int64_t tokens);

// At least four digits; an exponent only for very large or small numbers.
[[nodiscard]] std::string plain(double number);

// "dual chunk: other distances beyond 262144 tokens, chunks of 262144 and 8192 local".
[[nodiscard]] std::string dual_chunk_text(const DualChunk& map);

// "all 128 turn".
[[nodiscard]] std::string window_text(const HeadWindow& window, std::int64_t nope_head_dim);

// "in blocks": how the pairs are dealt to axes.
[[nodiscard]] std::string_view arrangement_text(AxisArrangement arrangement) noexcept;

// "16, 24, 24 pairs in blocks, exponents shared": of each axis, in the order of coordinates.
[[nodiscard]] std::string axes_text(const Axes& axes);

// True if each axis has its own frequencies, as for patches: then distances in tokens mean nothing.
[[nodiscard]] bool begins_anew_on_axes(const RotarySpec& spec) noexcept;

// The unit of a wavelength: "tokens"; "steps" for axes with frequencies of their own; "units of the
// coordinate" where coordinates are multiplied.
[[nodiscard]] std::string_view unit_of(const RotarySpec& spec) noexcept;

// "1: scores keep their size".
[[nodiscard]] std::string attention_text(const ModelRotary& rotary, double attention_factor);

// "6.283 tokens (fastest pair) to 54410 (slowest)".
[[nodiscard]] std::string wavelengths_text(const std::vector<double>& inv_freq,
                                           std::string_view unit);

// "39 of 64 pairs complete a turn within 131072 tokens".
[[nodiscard]] std::string turning_text(const Frequencies& frequencies, std::int64_t tokens);

// "layers 0, 2-5": those with this rotary embedding; "" when the model lists no layers.
[[nodiscard]] std::string layers_with_rotary(const ModelSpec& model, std::size_t rotary);

// Layers that treat positions alike.
struct LayerGroup {
  LayerEncoding encoding;
  std::string kind;               // "rotary", "none (NoPE)"
  std::vector<std::string> runs;  // "0-2", "4"; at least one
  std::string temperature;        // what queries are multiplied with; "" for 1
};

// The factor of a layer's queries; "" for 1.
[[nodiscard]] std::string temperature_text(const QueryTemperature& temperature);

// In the order of their first layers; empty when the model lists none.
[[nodiscard]] std::vector<LayerGroup> layer_groups(const ModelSpec& model);

using ParameterValue = std::variant<double, std::int64_t, std::string_view, std::vector<double>>;

struct ScalingParameter {
  ParameterFacts facts;  // whose name is the key of config files
  ParameterValue value;
};

// In the rule's order, without optional ones that are not given and enumerators of the default.
[[nodiscard]] std::vector<ScalingParameter> scaling_parameters(const Scaling& scaling);

// A list of more than 8 numbers shows the first, the last and how many.
[[nodiscard]] std::string parameter_text(const ParameterValue& value);

// " [class default]" for values that the config does not state, " [rule, family]" for two origins;
// "" if it states all of them.
[[nodiscard]] std::string origin_mark(const std::vector<ValueSource>& sources,
                                      std::initializer_list<std::string_view> values);

// Explains the marks in a text, one a line; "" where it has none.
[[nodiscard]] std::string marks_legend(std::string_view text);

}  // namespace rotary::cli
