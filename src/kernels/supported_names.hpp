// SPDX-License-Identifier: Apache-2.0
// Names of the instruction sets that this machine can run.
#pragma once

#include <span>
#include <string_view>

namespace rotary::kernels {

// Names of supported_tables(), in the same order.
[[nodiscard]] std::span<const std::string_view> supported_names() noexcept;

}  // namespace rotary::kernels
