// SPDX-License-Identifier: Apache-2.0
// Answers, notes and progress for the lab's user.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "apps/standard_streams.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {

// print_answer() writes to standard output and fails on I/O errors. print_note() writes to standard
// error and ignores them.
template <class... Arguments>
void print_answer(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  cli::write_standard_output(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void print_note(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  cli::write_standard_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

enum class Audience {
  person,   // on a terminal a line that updates, elsewhere a line every ten seconds
  several,  // other processes share the output: a line every half minute
  nobody
};

// A cell's progress on standard error.
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
