// SPDX-License-Identifier: Apache-2.0
// The features of a token in a model, which its positions do not depend on, and which a common
// mistake takes for those of a head.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary::cli {

// Where no config says it: that of Llama 2 7B, Mistral 7B and Llama 3.1 8B.
inline constexpr std::int64_t usual_hidden_size = 4096;

// The config, which resolve() accepts with these options, or the language model within it says it;
// absent where neither does.
[[nodiscard]] std::optional<std::int64_t> hidden_size_of(std::string_view config_json,
                                                         const ResolveOptions& options);

// How many heads of queries and of keys the model has, as far as its config says.
[[nodiscard]] std::vector<std::int64_t> head_counts_of(std::string_view config_json);

}  // namespace rotary::cli
