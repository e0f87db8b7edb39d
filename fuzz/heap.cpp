// SPDX-License-Identifier: Apache-2.0
// A separate file, so that no caller is compiled together with the replacement.
#include "fuzz/heap.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocated{0};

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is what containers call
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  allocated += bytes;
  return std::malloc(bytes > 0 ? bytes : 1);
}

void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace rotary::fuzz {

std::size_t allocated_bytes() noexcept { return allocated; }

}  // namespace rotary::fuzz
