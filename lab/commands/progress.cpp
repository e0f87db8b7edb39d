// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/printable.hpp"

namespace rotary::lab {
namespace {

using nlohmann::json;

bool is_terminal() { return isatty(STDERR_FILENO) == 1; }

std::string text_of(const Progress& progress) {
  return fmt::format("step {}/{}, loss {:.3f}, {:.0f} tokens/s, {} left", progress.step,
                     progress.steps, progress.train_loss, progress.tokens_per_s,
                     duration(progress.seconds_left));
}

std::chrono::steady_clock::duration pause_of(bool terminal) {
  if (terminal) return std::chrono::milliseconds(250);
  return std::chrono::seconds(10);
}

// Ignores errors: without a reader a checkpoint must be written all the same. Moves a terminal's
// cursor, so text from outside must be made printable before.
void write(const std::string& text) { (void)std::fputs(text.c_str(), stderr); }

void write_line(const json& line) { write(line.dump() + '\n'); }

// Seconds of the whole cell, from its first step on.
double seconds_of(const Progress& progress) {
  const auto steps = static_cast<double>(progress.steps);
  const auto left = static_cast<double>(progress.steps - progress.step);
  return left > 0 ? progress.seconds_left * steps / left : 0;
}

}  // namespace

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02d}", whole / 60, whole % 60);
  return fmt::format("{}:{:02d}:{:02d}", whole / 3600, whole / 60 % 60, whole % 60);
}

ProgressLine::ProgressLine(std::string title, Audience audience)
    : title_(std::move(title)), audience_(audience), terminal_(is_terminal()) {}

void ProgressLine::show(const Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ || audience_ == Audience::nobody) return;
  next_ = now + pause_of(terminal_ || audience_ == Audience::display);
  if (audience_ == Audience::person) {
    write(fmt::format("{}{}: {}{}", terminal_ ? "\r" : "", title_, text_of(progress),
                      terminal_ ? "   " : "\n"));
    return;
  }
  const json line = {{"cell", title_},
                     {"step", progress.step},
                     {"steps", progress.steps},
                     {"loss", progress.train_loss},
                     {"tokens_per_s", progress.tokens_per_s},
                     {"seconds_left", progress.seconds_left}};
  write_line(line);
}

void ProgressLine::finish(std::string_view what) const {
  if (audience_ == Audience::nobody) return;
  if (audience_ == Audience::display) {
    write_line({{"cell", title_}, {"ends", what}});
    return;
  }
  write(fmt::format("{}{}: {}{}\n", terminal_ ? "\r" : "", title_, what,
                    terminal_ ? std::string(50, ' ') : ""));
}

JobsDisplay::JobsDisplay(std::int64_t cells, int at_once)
    : cells_(cells), at_once_(at_once), terminal_(is_terminal()) {}

JobsDisplay::~JobsDisplay() { erase(); }

void JobsDisplay::take(int job, const std::string& line) {
  const json message = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object() || !message.contains("cell")) {
    kept_[job] += line + '\n';
    return;
  }
  const std::string title = message["cell"].get<std::string>();
  if (!message.contains("ends")) {
    working_[job] = {.title = title,
                     .progress = {.step = message["step"].get<std::int64_t>(),
                                  .steps = message["steps"].get<std::int64_t>(),
                                  .train_loss = message["loss"].get<double>(),
                                  .tokens_per_s = message["tokens_per_s"].get<double>(),
                                  .seconds_left = message["seconds_left"].get<double>()}};
    return;
  }
  if (const auto worked = working_.find(job); worked != working_.end()) {
    const double seconds = seconds_of(worked->second.progress);
    seconds_of_cells_ += seconds;
    known_cells_ += seconds > 0 ? 1 : 0;
    working_.erase(worked);
  }
  done_ += 1;
  say(fmt::format("{}: {}", title, message["ends"].get<std::string>()));
}

void JobsDisplay::say(const std::string& line) {
  erase();
  write(cli::printable(line) + '\n');
}

void JobsDisplay::say_kept(int job) {
  const std::string& kept = kept_[job];
  if (kept.empty() || !said_.insert(kept).second) return;
  erase();
  write(cli::printable_lines(kept));
}

void JobsDisplay::forget(int job) { working_.erase(job); }

std::optional<double> JobsDisplay::seconds_left() const {
  double left = 0;
  double seconds = seconds_of_cells_;
  std::int64_t known = known_cells_;
  for (const auto& [job, working] : working_) {
    left += working.progress.seconds_left;
    seconds += seconds_of(working.progress);
    known += 1;
  }
  if (known == 0) return std::nullopt;
  const std::int64_t waiting = std::max<std::int64_t>(0, cells_ - done_ - std::ssize(working_));
  return (left + static_cast<double>(waiting) * seconds / static_cast<double>(known)) / at_once_;
}

void JobsDisplay::erase() {
  // To the beginning of the first line that was drawn, and everything after it.
  if (drawn_lines_ > 0) write(fmt::format("\x1b[{}F\x1b[J", drawn_lines_));
  drawn_lines_ = 0;
}

void JobsDisplay::draw() {
  std::string text;
  for (const auto& [job, working] : working_)
    text += fmt::format("{}: {}\n", working.title, text_of(working.progress));
  text += fmt::format("{} of {} cells", done_, cells_);
  if (const auto left = seconds_left()) text += fmt::format(", about {} left", duration(*left));
  // On a narrow terminal each line stays one line: it is cut, not wrapped.
  write(fmt::format("{}{}\n{}", terminal_ ? "\x1b[?7l" : "", text, terminal_ ? "\x1b[?7h" : ""));
  if (terminal_) drawn_lines_ = static_cast<int>(working_.size()) + 1;
}

void JobsDisplay::show() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + pause_of(terminal_);
  erase();
  draw();
}

}  // namespace rotary::lab
