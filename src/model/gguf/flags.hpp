// SPDX-License-Identifier: Apache-2.0
// Changes to a GGUF file's model by a user of llama.cpp: other values of keys, and flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Flags of llama.cpp (common/arg.cpp, src/llama-context.cpp); absent: the file decides.
struct LlamaCppFlags {
  std::optional<std::string> scaling = {};  // none, linear, yarn
  std::optional<double> factor = {};        // of --rope-scale, or 1 / --rope-freq-scale
  std::optional<double> base = {};
  std::optional<std::int64_t> original_context_tokens = {};
  std::optional<double> ext_factor = {};
  std::optional<double> attn_factor = {};
  std::optional<double> beta_slow = {};
  std::optional<double> beta_fast = {};

  friend bool operator==(const LlamaCppFlags&, const LlamaCppFlags&) = default;
};

// The given flag that sets this parameter (of a rule, rope_type or base); empty if there is none.
[[nodiscard]] std::string_view flag_of(const LlamaCppFlags& flags, std::string_view parameter);

struct GgufChanges {
  LlamaCppFlags flags = {};
  std::vector<ConfigOverride> keys = {};  // by their full names
};

// Sorts overrides into flags and keys, and sets the keys in the metadata. Error: invalid_argument.
[[nodiscard]] Result<GgufChanges> apply_gguf_overrides(std::span<const ConfigOverride> overrides,
                                                       std::string_view architecture,
                                                       GgufMetadata& metadata);

}  // namespace rotary
