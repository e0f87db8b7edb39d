// SPDX-License-Identifier: Apache-2.0
// Progress of a run on standard error: of one cell at a time, or of those of all --jobs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lab/torch/train_cell.hpp"

namespace rotary::lab {

// "4:05", "1:04:05"
[[nodiscard]] std::string duration(double seconds);

enum class Audience {
  person,   // one line that changes on a terminal, one line each ten seconds elsewhere
  display,  // a JobsDisplay: lines of JSON
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

// The progress of several processes that work on `at_once` cells at a time: a line for each, the
// number of cells done, and about how long the rest takes.
class JobsDisplay {
 public:
  JobsDisplay(std::int64_t cells, int at_once);
  ~JobsDisplay();
  JobsDisplay(const JobsDisplay&) = delete;
  JobsDisplay& operator=(const JobsDisplay&) = delete;

  // A line of a process: one of a ProgressLine, or any other, which is kept.
  void take(int job, const std::string& line);
  void say(const std::string& line);
  // Forgets a process that has ended, and its current cell.
  void forget(int job);
  // Says the job's other messages, unless another job said the same.
  void say_kept(int job);
  // Shows the lines if it is time to.
  void show();

 private:
  struct Working {
    std::string title;
    Progress progress;
  };
  [[nodiscard]] std::optional<double> seconds_left() const;
  void erase();
  void draw();

  std::int64_t cells_;
  int at_once_;
  std::int64_t done_ = 0;
  double seconds_of_cells_ = 0;  // of those whose length is known, together
  std::int64_t known_cells_ = 0;
  std::map<int, Working> working_;   // by process
  std::map<int, std::string> kept_;  // by process
  std::set<std::string> said_;
  bool terminal_;
  int drawn_lines_ = 0;
  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace rotary::lab
