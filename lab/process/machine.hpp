// SPDX-License-Identifier: Apache-2.0
// Machine: what a run was made on and with. It is recorded with a result, and is no part of what
// identifies a cell.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rotary::lab {

struct Machine {
  std::string cpu = {};     // as the processor calls itself
  std::string blas = {};    // as blas_in_use() says it
  std::string torch = {};   // version
  std::string rotary = {};  // version
  std::string commit = {};  // that was checked out when the build was configured; "" where unknown
  int threads = 1;          // of each process
  int ranks = 1;            // processes that shared a step

  [[nodiscard]] bool operator==(const Machine& other) const = default;
};

// But for torch, threads and ranks, which others know.
[[nodiscard]] Machine this_machine();

[[nodiscard]] nlohmann::json to_json(const std::vector<Machine>& machines);
// Source is what messages call it.
[[nodiscard]] std::vector<Machine> parse_machines(const nlohmann::json& list,
                                                  const std::string& source);

// "AMD EPYC 9R14, 1 thread, OpenBLAS SkylakeX, OpenMP, torch 1.13.0, rotary 0.1.0 (c8997cb0)"
[[nodiscard]] std::string text_of(const Machine& machine);

}  // namespace rotary::lab
