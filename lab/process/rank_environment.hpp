// SPDX-License-Identifier: Apache-2.0
// The place of this process among those that were started together, in torchrun's terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rotary::lab {

struct RankEnvironment {
  int rank = 0;
  int size = 1;
  // The address of the store by which they find one another.
  std::string host = {};
  std::uint16_t port = 0;
  bool hosts_store = false;  // this process does; otherwise rank 0, or the launcher
  std::string prefix = {};   // of the store's keys: different after each restart of all
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; absent if neither of the first two is set.
// Fails if one of the four is missing or not such a number.
[[nodiscard]] std::optional<RankEnvironment> rank_environment();

// SIGINT and SIGTERM as a question that the training loop asks between two steps.
// From now on the two signals only set the result of interrupted(); a second one ends the process.
void watch_interruption();

[[nodiscard]] bool interrupted() noexcept;

}  // namespace rotary::lab
