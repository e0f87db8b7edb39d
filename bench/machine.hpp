// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/goals.hpp"

namespace rotary::bench {

struct Machine {
  std::string cpu;              // as the system names it, or "unknown"
  std::int64_t processors = 0;  // that this process can use
  Caches caches;
};

[[nodiscard]] Machine this_machine();

struct Build {
  std::string_view compiler;  // "GNU 12.2.0"
  std::string_view flags;
  std::string_view type;    // "Release"
  std::string_view commit;  // "unknown" outside git; ends with "-dirty" after uncommitted changes
};

[[nodiscard]] Build this_build() noexcept;

// Bytes of memory that a new process can get now.
[[nodiscard]] std::int64_t available_memory_bytes();

}  // namespace rotary::bench
