// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace rotary::test {

// Takes a path relative to the checkout's root: "docs/families.md".
[[nodiscard]] std::string source_path(std::string_view name);

}  // namespace rotary::test
