// SPDX-License-Identifier: Apache-2.0
// A RotarySpec as JSON text. The C ABI and other languages pass specs this way, so a new rule
// changes no function.
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
// rounding. null is not a value. scaling needs a rope_type. Its other keys are those that the rule
// has in a config's rope_parameters, with the same meaning; {"rope_type": "ntk", "alpha": 8} also
// works. scaling has no rope_theta and no partial_rotary_factor: a spec says base and rotary_dim
// instead. Only the rule proportional has a partial_rotary_factor. Errors name the key, the
// requirement and what was got: malformed_input for bad JSON (as resolve) and for unknown, missing
// or mistyped keys; unsupported for an unknown rope_type. make_frequencies checks values against
// the rule.
[[nodiscard]] ROTARY_API Result<RotarySpec> parse_rotary_spec(std::string_view json) noexcept;

// The text, in one line, that parse_rotary_spec reads as this spec. Keys are in alphabetical order;
// keys with the default value are left out. Numbers are read back bit for bit. Error:
// invalid_argument if JSON cannot express the spec, or if its text would be read as another spec.
// Such are an infinite or NaN number, a value that is no enumerator, and a parameter that
// validate(spec.scaling) refuses.
[[nodiscard]] ROTARY_API Result<std::string> to_json(const RotarySpec& spec) noexcept;

}  // namespace rotary

#endif  // ROTARY_SPEC_JSON_HPP
