// SPDX-License-Identifier: Apache-2.0
// This process's rank among those started together, in torchrun's terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rotary::lab {

struct RankEnvironment {
  int rank = 0;
  int size = 1;
  // The address of the store by which the ranks find each other.
  std::string host = {};
  std::uint16_t port = 0;
  bool hosts_store = false;  // true for rank 0, unless the launcher hosts the store
  std::string prefix = {};   // of the store's keys; changes with each restart
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; absent if neither of the first two is set.
// Fails if one of the four is missing or malformed.
[[nodiscard]] std::optional<RankEnvironment> rank_environment();

// Makes SIGINT and SIGTERM set interrupted(), which the training loop asks between steps. A second
// signal ends the process.
void watch_interruption();

[[nodiscard]] bool interrupted() noexcept;

}  // namespace rotary::lab
