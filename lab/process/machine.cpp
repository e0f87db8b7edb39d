// SPDX-License-Identifier: Apache-2.0
#include "lab/process/machine.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/process/startup.hpp"
#include "rotary/version.hpp"

#ifndef ROTARY_LAB_COMMIT
#define ROTARY_LAB_COMMIT ""
#endif

namespace rotary::lab {
namespace {

// Linux names the processor only on x86; elsewhere this is the architecture.
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

nlohmann::json this_machine() {
  return {{"cpu", cpu_name()},
          {"blas", blas_in_use()},
          {"rotary", ROTARY_VERSION_STRING},
          {"commit", ROTARY_LAB_COMMIT}};
}

}  // namespace rotary::lab
