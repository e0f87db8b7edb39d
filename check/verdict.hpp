// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace rotary::check {

// A comparison of results with exact ones.
struct Verdict {
  std::string fault = {};        // the first number beyond its bound, and where; empty: none is
  std::int64_t rows_beyond = 0;  // rows that meet numbers of which the contract says nothing
};

}  // namespace rotary::check
