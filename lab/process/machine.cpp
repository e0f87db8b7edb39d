// SPDX-License-Identifier: Apache-2.0
#include "lab/process/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/experiment/json_object.hpp"
#include "lab/process/startup.hpp"
#include "rotary/version.hpp"

#ifndef ROTARY_LAB_COMMIT
#define ROTARY_LAB_COMMIT ""
#endif

namespace rotary::lab {
namespace {

// Linux has the name on x86 alone; elsewhere what the kernel calls the architecture.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname names = {};
  return ::uname(&names) == 0 ? std::string(names.machine) : std::string("unknown");
}

}  // namespace

Machine this_machine() {
  return {.cpu = cpu_name(),
          .blas = blas_in_use(),
          .rotary = ROTARY_VERSION_STRING,
          .commit = ROTARY_LAB_COMMIT};
}

nlohmann::json to_json(const std::vector<Machine>& machines) {
  nlohmann::json list = nlohmann::json::array();
  for (const Machine& machine : machines) {
    list.push_back({{"cpu", machine.cpu},
                    {"blas", machine.blas},
                    {"torch", machine.torch},
                    {"rotary", machine.rotary},
                    {"commit", machine.commit},
                    {"threads", machine.threads},
                    {"ranks", machine.ranks}});
  }
  return list;
}

std::vector<Machine> parse_machines(const nlohmann::json& list, const std::string& source) {
  std::vector<Machine> machines;
  for (const nlohmann::json& each : list) {
    JsonObject object(each, source + ": machines");
    machines.push_back({.cpu = object.text("cpu"),
                        .blas = object.text("blas"),
                        .torch = object.text("torch"),
                        .rotary = object.text("rotary"),
                        .commit = object.text("commit"),
                        .threads = static_cast<int>(object.integer("threads", 1)),
                        .ranks = static_cast<int>(object.integer("ranks", 1))});
  }
  return machines;
}

std::string text_of(const Machine& machine) {
  const std::string ranks =
      machine.ranks == 1 ? std::string() : fmt::format("{} processes of ", machine.ranks);
  const std::string commit =
      machine.commit.empty() ? std::string() : fmt::format(" ({})", machine.commit.substr(0, 8));
  return fmt::format("{}, {}{} thread{}, {}, torch {}, rotary {}{}", machine.cpu, ranks,
                     machine.threads, machine.threads == 1 ? "" : "s", machine.blas, machine.torch,
                     machine.rotary, commit);
}

}  // namespace rotary::lab
