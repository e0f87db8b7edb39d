// SPDX-License-Identifier: Apache-2.0
// A RotarySpec as JSON text, as the C ABI and other languages pass it.
//
//   const auto text = to_json(spec);                  // {"base":500000.0,"head_dim":128,…
//   const auto same = parse_rotary_spec(text.value());
#ifndef ROTARY_SPEC_JSON_HPP
#define ROTARY_SPEC_JSON_HPP

#include <string>
#include <string_view>

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// An object with the members of RotarySpec (docs/schema/rotary-spec.schema.json):
//   {"head_dim": 128, "base": 500000, "pairing": "half",
//    "scaling": {"rope_type": "linear", "factor": 8}}
// head_dim, base and pairing must be given. Optional: rotary_dim, first_feature, scaling, axes,
// blocks, "sense": "positive" or "negative", "xpos": {"scale_base": 512, "center": 0}, numerics and
// rounding. No key may be null. scaling needs a rope_type; its other keys are those of a config's
// rope_parameters, except for rope_theta (base) and, outside the rule proportional,
// partial_rotary_factor (rotary_dim). Errors name the key, the requirement and what was got:
// malformed_input for bad JSON (as resolve()) and for unknown, missing or mistyped keys;
// unsupported for an unknown rope_type. make_frequencies() checks the values.
[[nodiscard]] ROTARY_API Result<RotarySpec> parse_rotary_spec(std::string_view json) noexcept;

// One line of text that parse_rotary_spec() reads as the same spec, bit for bit. Keys are in
// alphabetical order, without those that have their default value. Error: invalid_argument for a
// number that is not finite, a value that is no enumerator, or a parameter that
// validate(spec.scaling) refuses.
[[nodiscard]] ROTARY_API Result<std::string> to_json(const RotarySpec& spec) noexcept;

}  // namespace rotary

#endif  // ROTARY_SPEC_JSON_HPP
