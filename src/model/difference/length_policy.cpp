// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/difference/enumerators.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {
namespace {

std::int64_t length_after(LengthPolicy policy, std::int64_t trained,
                          std::span<const std::int64_t> calls) {
  std::int64_t length = trained;
  for (const std::int64_t call : calls) {
    switch (policy) {
      case LengthPolicy::each_call:
        length = call;
        break;
      case LengthPolicy::kept_above_trained:
        length = call < trained ? trained : std::max<std::int64_t>(length, call);
        break;
      case LengthPolicy::last_long_call:
        if (call > trained) length = call;
        break;
      case LengthPolicy::longest_call:
      case LengthPolicy::whole_context:
        length = std::max<std::int64_t>(length, call);
        break;
    }
  }
  return length;
}

}  // namespace

std::string_view to_string(LengthPolicy policy) noexcept { return name_or_unknown(policy); }

Result<std::int64_t> length_in_force(LengthPolicy policy, std::int64_t trained_tokens,
                                     std::span<const std::int64_t> calls) noexcept {
  return guarded([&]() -> Result<std::int64_t> {
    if (!is_enumerator(policy)) return no_enumerator("policy", policy);
    if (trained_tokens < 1)
      return invalid_argument("trained_tokens must be >= 1, got ", trained_tokens);
    if (calls.empty()) return invalid_argument("calls must have at least one length, got none");
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i] < 1) return invalid_argument("calls[", i, "] must be >= 1, got ", calls[i]);
    }
    return length_after(policy, trained_tokens, calls);
  });
}

}  // namespace rotary
