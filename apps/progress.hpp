// SPDX-License-Identifier: Apache-2.0
// Shows the current work and its progress in one line on the terminal, after the first second.
// Shows nothing if stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rotary::cli {

class Progress {
 public:
  Progress(std::string what, std::int64_t total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t by = 1);

 private:
  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::int64_t shown_percent_ = -1;
  bool is_terminal_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace rotary::cli
