// SPDX-License-Identifier: Apache-2.0
// The requirements on a norm and on what heads are stored as, of every function that takes them.
#pragma once

#include <string_view>

#include "rotary/head_norm.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Checks that the norm is well-formed and fits this well-formed view.
[[nodiscard]] Status check_norm(std::string_view name, const HeadNorm& norm,
                                const ConstHeadsView& view);

// Checks that elements of dtype `from` can be stored as `to`.
[[nodiscard]] Status check_conversion(std::string_view name, DType from, DType to);

}  // namespace rotary
