// SPDX-License-Identifier: Apache-2.0
// Machine: the hardware and software of a run. It is recorded with a result, but is not part of a
// cell's identity.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rotary::lab {

struct Machine {
  std::string cpu = {};     // the processor's name; the architecture if Linux has none
  std::string blas = {};    // from blas_in_use()
  std::string torch = {};   // version
  std::string rotary = {};  // version
  std::string commit = {};  // checked out when the build was configured; "" if unknown
  int threads = 1;          // of each process
  int ranks = 1;            // processes that shared a step

  [[nodiscard]] bool operator==(const Machine& other) const = default;
};

// Without torch, threads and ranks, which the caller sets.
[[nodiscard]] Machine this_machine();

[[nodiscard]] nlohmann::json to_json(const std::vector<Machine>& machines);
// Messages call it `source`.
[[nodiscard]] std::vector<Machine> parse_machines(const nlohmann::json& list,
                                                  const std::string& source);

// "AMD EPYC 9R14, 1 thread, OpenBLAS SkylakeX, OpenMP, torch 1.13.0, rotary 0.1.0 (c8997cb0)"
[[nodiscard]] std::string text_of(const Machine& machine);

}  // namespace rotary::lab
