// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace rotary::check {

// The result of comparing a call's results with exact ones.
struct Verdict {
  std::string fault = {};        // names the first number beyond its bound; empty: none
  std::int64_t rows_beyond = 0;  // rows with numbers that the contract does not cover
};

}  // namespace rotary::check
