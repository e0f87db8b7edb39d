// SPDX-License-Identifier: Apache-2.0
#include "support/recorded_bits.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace rotary::test {
namespace {

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::span<const std::byte> bits) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bits) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

void record_bits(std::span<const std::byte> bits) {
  static const char* const path = std::getenv("ROTARY_RECORDED_BITS");
  if (path == nullptr) return;
  static std::ofstream file(path, std::ios::app);
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  file << test->test_suite_name() << '.' << test->name() << ' ' << std::hex << hash_of(bits)
       << '\n';
}

}  // namespace rotary::test
