// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "apps/failure.hpp"
#include "lab/process/program.hpp"

namespace rotary::lab {

inline void write_text(const std::string& path, std::string_view text,
                       std::ios::openmode mode = std::ios::trunc) {
  std::ofstream(path, std::ios::binary | mode) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The message of the failure that the call throws.
inline std::string failure_of(const auto& call) {
  try {
    (void)call();
  } catch (const cli::Failure& failure) {
    return failure.what();
  }
  return "nothing failed";
}

inline testing::AssertionResult has(std::string_view text, std::string_view words) {
  if (text.find(words) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << words << "' is not in: " << text;
}

}  // namespace rotary::lab
