// SPDX-License-Identifier: Apache-2.0
// Descriptions of embeddings and layers, shared by several commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli {

// "0-3" and "5".
[[nodiscard]] std::vector<std::string> number_runs(std::span<const std::int64_t> numbers);

// "llama, 32 layers, one rotary embedding". The model_type is the config's text, not escaped:
// callers use printable().
[[nodiscard]] std::string summary_text(const ModelSpec& model);

// Turns that a pair makes within the tokens. Never negative, although inv_freq may be.
[[nodiscard]] double turns_within(double inv_freq, std::int64_t tokens);

// Infinite for a frequency of 0.
[[nodiscard]] double wavelength_tokens(double inv_freq);

[[nodiscard]] std::int64_t pairs_that_turn(const Frequencies& frequencies, std::int64_t tokens);

// Four significant digits, or a whole number in [1000, 1e12).
[[nodiscard]] std::string plain(double number);

// "all 128 turn".
[[nodiscard]] std::string window_text(const HeadWindow& window, std::int64_t nope_head_dim);

// "in blocks": how pairs are assigned to axes.
[[nodiscard]] std::string_view arrangement_text(AxisArrangement arrangement) noexcept;

// "16, 24, 24 pairs in blocks, exponents shared": pairs of each axis, in the order of coordinates.
[[nodiscard]] std::string axes_text(const Axes& axes);

// True if each axis has its own frequencies, as for patches. A distance in tokens then means
// nothing.
[[nodiscard]] bool begins_anew_on_axes(const RotarySpec& spec) noexcept;

// The unit of a wavelength: "tokens"; "steps" if each axis has its own frequencies; "units of the
// coordinate" if it also multiplies its coordinates.
[[nodiscard]] std::string_view unit_of(const RotarySpec& spec) noexcept;

// "1: scores keep their size".
[[nodiscard]] std::string attention_text(const ModelRotary& rotary, double attention_factor);

// "6.283 tokens (fastest pair) to 54410 (slowest)".
[[nodiscard]] std::string wavelengths_text(const std::vector<double>& inv_freq,
                                           std::string_view unit);

// "39 of 64 pairs complete a turn within 131072 tokens".
[[nodiscard]] std::string turning_text(const Frequencies& frequencies, std::int64_t tokens);

// "layers 0, 2-5" or "no layer"; "" if the model lists no layers.
[[nodiscard]] std::string layers_with_rotary(const ModelSpec& model, std::size_t rotary);

// Layers with the same encoding and temperature.
struct LayerGroup {
  LayerEncoding encoding;
  std::string kind;               // "rotary", "none (NoPE)"
  std::vector<std::string> runs;  // "0-2", "4"; at least one
  std::string temperature;        // the factor of queries; "" for 1
};

// The factor of a layer's queries; "" for 1.
[[nodiscard]] std::string temperature_text(const QueryTemperature& temperature);

// The groups in the order of their first layers; empty if the model lists no layers.
[[nodiscard]] std::vector<LayerGroup> layer_groups(const ModelSpec& model);

using ParameterValue = std::variant<double, std::int64_t, std::string_view, std::vector<double>>;

struct ScalingParameter {
  ParameterFacts facts;  // its name is the key in config files
  ParameterValue value;
};

// The parameters in the rule's order, without absent ones and without enumerators that are the
// default.
[[nodiscard]] std::vector<ScalingParameter> scaling_parameters(const Scaling& scaling);

// Shows more than 8 numbers as the first two, the last, and the count.
[[nodiscard]] std::string parameter_text(const ParameterValue& value);

// Origins of values that the config does not state: " [class default]"; " [rule, family]" for two.
// "" if the config states all values.
[[nodiscard]] std::string origin_mark(const std::vector<ValueSource>& sources,
                                      std::initializer_list<std::string_view> values);

// Explains each mark of the text on its own line; "" if the text has no marks.
[[nodiscard]] std::string marks_legend(std::string_view text);

}  // namespace rotary::cli
