// SPDX-License-Identifier: Apache-2.0
// The features of a token and the numbers of heads that a config states.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary::cli {

// Used if no config states it: the size of Llama 2 7B, Mistral 7B and Llama 3.1 8B.
inline constexpr std::int64_t usual_hidden_size = 4096;

// The language model's hidden size. Absent unless the config states an even number in [2, 65536].
[[nodiscard]] std::optional<std::int64_t> hidden_size_of(std::string_view config_json,
                                                         const ResolveOptions& options);

// The numbers of query heads and key heads.
[[nodiscard]] std::vector<std::int64_t> head_counts_of(std::string_view config_json,
                                                       const ResolveOptions& options);

}  // namespace rotary::cli
