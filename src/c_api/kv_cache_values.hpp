// SPDX-License-Identifier: Apache-2.0
// Converts the structs of rotary_kv_cache.h to values of the C++ API; see values.hpp.
#pragma once

#include <string_view>

#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_kv_cache.h"

namespace rotary::c_api {

[[nodiscard]] Result<KvCache> kv_cache(const rotary_kv* from);
[[nodiscard]] Result<QuantizedKvCache> kv_cache(const rotary_int8_kv* from);
[[nodiscard]] Result<QuantizedHeadsView> int8_view(std::string_view argument,
                                                   const rotary_int8_view* from);
[[nodiscard]] Result<KvHeads> kv_heads(const rotary_kv* from);
[[nodiscard]] Result<Slots> slots(const rotary_slots* from);
[[nodiscard]] Result<HeadNorm> head_norm(std::string_view argument, const rotary_head_norm* from);

// NULL gives the defaults.
[[nodiscard]] Result<AppendOptions> append_options(const rotary_append_options* from);

}  // namespace rotary::c_api
