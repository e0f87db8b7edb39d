// SPDX-License-Identifier: Apache-2.0
#include "fuzz/c_abi/memory.hpp"

#include <array>
#include <cstring>
#include <functional>

#include "fuzz/check.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {
namespace {

alignas(64) std::array<std::byte, largest_buffer> written_by_c;
alignas(64) std::array<std::byte, largest_buffer> written_by_cpp;
alignas(64) std::array<std::byte, largest_buffer> before;

bool is_inside(const std::byte* byte) {
  const std::less_equal<> not_after;  // valid for pointers into different arrays
  const std::byte* const begin = written_by_c.data();
  return not_after(begin, byte) && not_after(byte, begin + written_by_c.size());
}

}  // namespace

std::span<std::byte> CMemory::buffer() { return written_by_c; }

std::byte* CMemory::shadow_of(std::byte* byte) {
  return is_inside(byte) ? written_by_cpp.data() + (byte - written_by_c.data()) : byte;
}

const std::byte* CMemory::shadow_of(const std::byte* byte) {
  return is_inside(byte) ? written_by_cpp.data() + (byte - written_by_c.data()) : byte;
}

void CMemory::copy() { written_by_cpp = written_by_c; }

void CMemory::keep() { before = written_by_c; }

void CMemory::check(bool may_write) {
  if (std::memcmp(written_by_c.data(), written_by_cpp.data(), before.size()) != 0) {
    fail("C must write what C++ writes");
  }
  if (!may_write && std::memcmp(written_by_c.data(), before.data(), before.size()) != 0) {
    fail("nothing must be written on an error");
  }
}

}  // namespace rotary::fuzz
