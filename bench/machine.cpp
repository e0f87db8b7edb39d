// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <fstream>

#include "bench/build_info.hpp"

namespace rotary::bench {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// x86 has a line "model name : ...". On Arm the firmware may name the machine.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  std::string model = first_line("/sys/firmware/devicetree/base/model");
  while (!model.empty() && model.back() == '\0') model.pop_back();
  return model.empty() ? "unknown" : model;
}

std::int64_t processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return sysconf(_SC_NPROCESSORS_ONLN);
}

// Parses "48K", "2048K", "260M"; 0 for any other text.
std::int64_t size_from(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return 0;
  if (unit == end) return number;
  return number << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
}

// Reads /sys, because sysconf returns 0 for the caches of Arm processors.
Caches caches_of_first_processor() {
  Caches caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level");
    const std::string type = first_line(folder + "type");
    const std::int64_t size = size_from(first_line(folder + "size"));
    if (type == "Instruction") continue;
    if (level == "1") caches.l1d = size;
    if (level == "2") caches.l2 = size;
    if (level == "3") caches.l3 = size;
  }
  if (caches.l1d == 0) caches.l1d = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  if (caches.l2 == 0) caches.l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (caches.l3 == 0) caches.l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return caches;
}

}  // namespace

Machine this_machine() {
  return {.cpu = cpu_name(), .processors = processors(), .caches = caches_of_first_processor()};
}

Build this_build() noexcept {
  return {
      .compiler = build_compiler, .flags = build_flags, .type = build_type, .commit = build_commit};
}

std::int64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  constexpr std::string_view key = "MemAvailable:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto digit = line.find_first_of("0123456789", key.size());
    return digit == std::string::npos ? 0 : size_from(line.substr(digit)) << 10;
  }
  return std::int64_t{sysconf(_SC_AVPHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

}  // namespace rotary::bench
