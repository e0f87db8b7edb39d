// SPDX-License-Identifier: Apache-2.0
// Other names of keys that resolve() needs, for configs of unknown models.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/json/reader.hpp"

namespace rotary {

// The end of a message, "; in the tool add --key hidden_size=d_model, if ...", which proposes the
// config's other names for `keys`. Empty if there are none.
[[nodiscard]] std::string other_names_in(const Reader& config,
                                         std::span<const std::string_view> keys);

// The end of a message about a key of an unknown model: rename it, or set it to null.
[[nodiscard]] std::string way_round(const Reader& config, std::string_view name);

}  // namespace rotary
