// SPDX-License-Identifier: Apache-2.0

#include "lab/commands/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace rotary::lab {

namespace {

// "4:05", "1:04:05"
std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02d}", whole / 60, whole % 60);
  return fmt::format("{}:{:02d}:{:02d}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Ignores errors, because training must go on even if nobody reads this. Escapes nothing, because
// the text moves the terminal's cursor. The caller must escape names from files.
void write(const std::string& text) { (void)std::fputs(text.c_str(), stderr); }

}  // namespace

ProgressLine::ProgressLine(std::string title, Audience audience)
    : title_(std::move(title)),
      audience_(audience),
      terminal_(audience == Audience::person && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ || audience_ == Audience::nobody) return;
  next_ = now + (terminal_                       ? std::chrono::milliseconds(250)
                 : audience_ == Audience::person ? std::chrono::seconds(10)
                                                 : std::chrono::seconds(30));
  write(fmt::format("{}{}: step {}/{}, loss {:.3f}, {:.0f} tokens/s, {} left{}",
                    terminal_ ? "\r" : "", title_, progress.step, progress.steps,
                    progress.train_loss, progress.tokens_per_s, duration(progress.seconds_left),
                    terminal_ ? "   " : "\n"));
}

void ProgressLine::finish(std::string_view what) const {
  if (audience_ == Audience::nobody) return;
  write(fmt::format("{}{}: {}{}\n", terminal_ ? "\r" : "", title_, what,
                    terminal_ ? std::string(50, ' ') : ""));
}

}  // namespace rotary::lab
