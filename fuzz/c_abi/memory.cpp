// SPDX-License-Identifier: Apache-2.0
#include "fuzz/c_abi/memory.hpp"

#include <array>
#include <cstring>

#include "fuzz/check.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {
namespace {

alignas(64) std::array<std::byte, largest_buffer> written_by_c;
alignas(64) std::array<std::byte, largest_buffer> written_by_cpp;
alignas(64) std::array<std::byte, largest_buffer> before;

std::uintptr_t address_of(const void* object) { return reinterpret_cast<std::uintptr_t>(object); }

}  // namespace

std::span<std::byte> CMemory::buffer() { return written_by_c; }

std::uintptr_t CMemory::to_shadow(const void* address) {
  const std::uintptr_t begin = address_of(written_by_c.data());
  const bool is_inside = address_of(address) - begin <= written_by_c.size();
  return is_inside ? address_of(written_by_cpp.data()) - begin : 0;
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
