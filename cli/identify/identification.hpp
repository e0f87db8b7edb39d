// SPDX-License-Identifier: Apache-2.0
// The answer of `rotary identify`, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/json.hpp"
#include "rotary/identify.hpp"

namespace rotary::cli {

// The difference between two programs' numbers for the same q.
enum class Parting {
  none,      // the same bits
  rounding,  // one explanation, rounded otherwise
  more,      // two explanations
  unknown,   // one of the two is unexplained
};

struct OtherProgram {
  Identification found;
  Parting parting = Parting::unknown;
};

struct IdentifyAnswer {
  Identification found;
  std::string layout;  // of the heads: "bthd", …; empty for tables
  std::string config;  // as it was given; empty: none
  // Another layout with which the config explains the numbers; empty: none.
  std::string right_layout = {};
  std::vector<std::string> notes = {};     // what a TRACE says besides
  std::optional<OtherProgram> other = {};  // of --other
};

// For numbers with different bits.
[[nodiscard]] Parting parting_of(const Identification& one, const Identification& other);

[[nodiscard]] std::string identification_text(const IdentifyAnswer& answer);
[[nodiscard]] Json identification_json(const IdentifyAnswer& answer);

}  // namespace rotary::cli
