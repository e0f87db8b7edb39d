// SPDX-License-Identifier: Apache-2.0
// The features of a token, which a common mistake takes for those of a head.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary::cli {

// The size of Llama 2 7B, Mistral 7B and Llama 3.1 8B, where no config says it.
inline constexpr std::int64_t usual_hidden_size = 4096;

// From a config that resolve() accepts with these options, or from the language model in it.
[[nodiscard]] std::optional<std::int64_t> hidden_size_of(std::string_view config_json,
                                                         const ResolveOptions& options);

// The numbers of query and key heads that the config states.
[[nodiscard]] std::vector<std::int64_t> head_counts_of(std::string_view config_json);

}  // namespace rotary::cli
