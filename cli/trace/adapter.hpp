// SPDX-License-Identifier: Apache-2.0
// The text of examples/trace_rope.py, which the build puts into the tool.
#pragma once

#include <string_view>

namespace rotary::cli {

[[nodiscard]] std::string_view trace_adapter() noexcept;

}  // namespace rotary::cli
