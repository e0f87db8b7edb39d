// SPDX-License-Identifier: Apache-2.0
// A comparison of two models, as text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "cli/model_options.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_difference.hpp"

namespace rotary::cli {

struct Sides {
  std::string one;
  std::string other;
};

struct EngineReading {
  Dialect dialect;
  DialectReading reading;
};

struct Comparison {
  Sides sides;
  std::optional<ModelDifference> difference = {};  // empty if an engine refuses the model
  Agreement agreement = Agreement::unknown;
  std::vector<EngineReading> readings = {};  // of two engines; empty if two models were compared
};

[[nodiscard]] Comparison comparison_of(Sides sides, ModelDifference difference);

// The engines of --between, for help.
inline constexpr std::string_view engines_help =
    "each of transformers, llama.cpp, vllm, mlx, onnxruntime, sglang; transformers@4.51 is a "
    "release";

// Compares how two engines read the config. names: "transformers,llama.cpp".
[[nodiscard]] Comparison compare_engines(const ModelOptions& options, const std::string& names);

// In the form of docs/schema/diff.schema.json.
[[nodiscard]] Json comparison_json(const Comparison& comparison);

[[nodiscard]] std::string comparison_text(const Comparison& comparison);

// "the same", "different", "no difference is known".
[[nodiscard]] std::string_view agreement_text(Agreement agreement);

// For a page: sentences about each engine's reading, and one for each compared pair of embeddings.
[[nodiscard]] std::vector<std::string> comparison_sentences(const Comparison& comparison);

// "0-3, 5".
[[nodiscard]] std::string runs_text(std::span<const std::int64_t> numbers);

}  // namespace rotary::cli
