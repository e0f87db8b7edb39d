// SPDX-License-Identifier: Apache-2.0
#include "apps/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace rotary::cli {
namespace {

// Ignores errors: a closed terminal is no reason to stop.
void show(const char* text) {
  static_cast<void>(std::fputs(text, stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(total),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_percent_ >= 0) show("\r\033[K");
}

void Progress::advance(std::int64_t by) {
  done_ += by;
  const std::int64_t percent = total_ > 0 ? 100 * done_ / total_ : 100;
  if (!is_terminal_ || percent == shown_percent_) return;
  if (std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
  shown_percent_ = percent;
  show(fmt::format("\r\033[K{} {:3d} %", what_, percent).c_str());
}

}  // namespace rotary::cli
