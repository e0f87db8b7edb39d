// SPDX-License-Identifier: Apache-2.0

#include "lab/process/rank_environment.hpp"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "apps/failure.hpp"

namespace rotary::lab {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

int number_from(const char* name, int least, int most) {
  const std::string text = variable(name);
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && parsed == end && number >= least && number <= most) return number;
  throw cli::Failure(
      cli::ExitCode::usage,
      fmt::format("{} must be a number from {} to {}, got '{}'", name, least, most, text));
}

}  // namespace

std::optional<RankEnvironment> rank_environment() {
  if (variable("RANK").empty() && variable("WORLD_SIZE").empty()) return std::nullopt;
  RankEnvironment environment;
  environment.size = number_from("WORLD_SIZE", 1, std::numeric_limits<int>::max());
  environment.rank = number_from("RANK", 0, environment.size - 1);
  environment.host = variable("MASTER_ADDR");
  if (environment.host.empty()) {
    throw cli::Failure(cli::ExitCode::usage,
                       "MASTER_ADDR must be the host of rank 0 if RANK is set, got none");
  }
  environment.port = static_cast<std::uint16_t>(number_from("MASTER_PORT", 1, 65535));
  // torch.distributed.run says whether it hosts the store, and how often it restarted the ranks.
  environment.hosts_store =
      environment.rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
  environment.prefix = "rotary-lab/" + variable("TORCHELASTIC_RESTART_COUNT");
  return environment;
}

namespace {

// The lab's only global state: signal handlers can reach nothing else.
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
