// SPDX-License-Identifier: Apache-2.0
// The answer of `rotary identify`, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/json.hpp"
#include "rotary/identify.hpp"

namespace rotary::cli {

// How two programs' numbers for the same q differ.
enum class Parting {
  none,      // the same bits
  rounding,  // the same explanation, but different rounding
  more,      // different explanations
  unknown,   // at least one is unexplained
};

struct OtherProgram {
  Identification found;
  Parting parting = Parting::unknown;
};

struct IdentifyAnswer {
  Identification found;
  std::string layout = {};  // layout of heads: "bthd", …; empty for tables
  std::string config;       // as given; empty: none
  // Another layout with which the numbers fit the config; empty: none.
  std::string right_layout = {};
  std::vector<std::string> notes = {};     // other facts from a TRACE
  std::optional<OtherProgram> other = {};  // for --other
};

// "base 500000 -> 10000", or the cause's name if no field differs.
[[nodiscard]] std::string fields_text(const Cause& cause);

// Requires numbers that are not bit-identical.
[[nodiscard]] Parting parting_of(const Identification& one, const Identification& other);

[[nodiscard]] std::string identification_text(const IdentifyAnswer& answer);
[[nodiscard]] Json identification_json(const IdentifyAnswer& answer);

}  // namespace rotary::cli
