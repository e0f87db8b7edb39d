// SPDX-License-Identifier: Apache-2.0
// rotary models families: which model_types resolve, and what is assumed about each.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli {

// Of the families with part in their model_type, encoding or note, in any case; "" is all of them.
[[nodiscard]] std::string families_text(std::string_view part);
[[nodiscard]] std::string families_json(std::string_view part);

}  // namespace rotary::cli
