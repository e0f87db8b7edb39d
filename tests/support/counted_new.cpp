// SPDX-License-Identifier: Apache-2.0
// A file of its own, so that no caller is compiled together with the replacement.
#include "support/counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations{0};

// More than a machine has. AddressSanitizer's malloc would end the process.
constexpr std::size_t too_many_bytes = std::size_t{1} << 47;

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (bytes >= too_many_bytes) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

namespace rotary::test {

std::size_t allocation_count() noexcept { return allocations; }

}  // namespace rotary::test
