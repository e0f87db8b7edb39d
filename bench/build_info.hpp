// SPDX-License-Identifier: Apache-2.0
// Filled in by the build.
#pragma once

#include <string_view>

namespace rotary::bench {

extern const std::string_view build_compiler;
extern const std::string_view build_flags;
extern const std::string_view build_type;
extern const std::string_view build_commit;

}  // namespace rotary::bench
