// SPDX-License-Identifier: Apache-2.0
// The JSON of `rotary inspect` (docs/schema/inspect.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/json.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// A part of the model other than the inspected one. If it has no spec, `error` says why.
struct InspectedPart {
  PartInfo info;
  std::optional<ModelSpec> model = {};
  std::string error = {};
};

struct Inspection {
  ModelSpec model;
  std::vector<Frequencies> frequencies = {};  // one for each of model.rotary
  std::optional<std::int64_t> context_tokens;
  ModelPart part = ModelPart::text;       // the part that `model` describes
  std::vector<InspectedPart> parts = {};  // the other parts
};

[[nodiscard]] Json scaling_json(const Scaling& scaling);

// The JSON members that describe a sinusoidal encoding or a bias.
[[nodiscard]] Json sinusoidal_members(const SinusoidalSpec& spec);
[[nodiscard]] Json bias_members(const RelativeBias& bias);

[[nodiscard]] Json inspection_json(const Inspection& inspection);

}  // namespace rotary::cli
