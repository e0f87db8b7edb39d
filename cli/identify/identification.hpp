// SPDX-License-Identifier: Apache-2.0
// The answer of `rotary identify`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/json.hpp"
#include "rotary/identify.hpp"

namespace rotary::cli {

struct IdentifyAnswer {
  Identification found;
  std::string layout;  // of the heads: "bthd", …; empty for tables
  std::string config;  // as it was given; empty: none
  // Another reading of the axes, with which the config explains the numbers; empty: none.
  std::string right_layout = {};
  std::vector<std::string> notes = {};  // what a TRACE says besides
};

[[nodiscard]] std::string identification_text(const IdentifyAnswer& answer);
[[nodiscard]] Json identification_json(const IdentifyAnswer& answer);

}  // namespace rotary::cli
