// SPDX-License-Identifier: Apache-2.0
// Files of the checkout that tests read.
#pragma once

#include <string>
#include <string_view>

namespace rotary::test {

// The path of a file or folder that is named from the root of the checkout: "docs/families.md".
[[nodiscard]] std::string source_path(std::string_view name);

}  // namespace rotary::test
