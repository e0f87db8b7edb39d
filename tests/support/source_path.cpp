// SPDX-License-Identifier: Apache-2.0
#include "support/source_path.hpp"

namespace rotary::test {

std::string source_path(std::string_view name) {
  return std::string(ROTARY_SOURCE_DIRECTORY "/").append(name);
}

}  // namespace rotary::test
