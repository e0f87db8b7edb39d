// SPDX-License-Identifier: Apache-2.0
// Progress of a run on standard error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "lab/torch/train_cell.hpp"

namespace rotary::lab {

enum class Audience {
  person,   // one line that changes on a terminal, one line each ten seconds elsewhere
  several,  // other processes write there, too: a line each half a minute
  nobody
};

// The progress of one cell.
class ProgressLine {
 public:
  ProgressLine(std::string title, Audience audience);
  void show(const Progress& progress);
  void finish(std::string_view what) const;

 private:
  std::string title_;
  Audience audience_;
  bool terminal_;
  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace rotary::lab
