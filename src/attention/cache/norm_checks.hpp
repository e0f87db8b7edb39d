// SPDX-License-Identifier: Apache-2.0
// Checks a norm and the dtype in which heads are stored.
#pragma once

#include <cstdint>
#include <string_view>

#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Most features of a head that append() normalises or quantizes: its buffer has a fixed size.
inline constexpr std::int64_t longest_normalized_head = 2048;

// Checks that the norm is well-formed and fits this well-formed view.
[[nodiscard]] Status check_norm(std::string_view name, const HeadNorm& norm,
                                const ConstHeadsView& view);

// Checks that elements of dtype `from` can be stored as `to`.
[[nodiscard]] Status check_conversion(std::string_view name, DType from, DType to);

}  // namespace rotary
