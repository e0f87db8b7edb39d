// SPDX-License-Identifier: Apache-2.0
#include "lab/process/interruption.hpp"

#include <csignal>

namespace rotary::lab {
namespace {

// The only state of the lab that is not handed around: a signal has no other way in.
volatile std::sig_atomic_t stop_asked = 0;

extern "C" void ask_to_stop(int signal) {
  stop_asked = 1;
  (void)std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_interruption() {
  stop_asked = 0;
  (void)std::signal(SIGINT, ask_to_stop);
  (void)std::signal(SIGTERM, ask_to_stop);
}

bool interrupted() noexcept { return stop_asked != 0; }

}  // namespace rotary::lab
