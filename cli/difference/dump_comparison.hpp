// SPDX-License-Identifier: Apache-2.0
// Compares a dump with a model or with another dump.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/difference/dump.hpp"
#include "cli/model_options.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// One side of a comparison: a model or a dump.
struct DumpSide {
  std::optional<ModelSpec> model = {};
  std::optional<Dump> dump = {};
  std::optional<std::string> layer_type = {};  // chooses an embedding of the model
};

// --overrides and --flags apply to the first file of their kind and are then removed from
// `options`.
[[nodiscard]] DumpSide read_side(const std::string& path_or_card, ResolveOptions& options,
                                 const std::optional<std::string>& layer_type);

// At least one side must be a dump. Compares frequencies as models, and rows one by one. A model
// with several embeddings needs a layer type.
[[nodiscard]] ModelDifference compare_dumps(const DumpSide& one, const DumpSide& other,
                                            std::optional<std::int64_t> context_tokens);

}  // namespace rotary::cli
