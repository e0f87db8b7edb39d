// SPDX-License-Identifier: Apache-2.0
// Replaces operator new and delete. Callers must not be compiled with the replacements. The array
// forms call them. The nothrow form is replaced, because AddressSanitizer has its own.
#include "support/counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

// From <malloc.h>, which is not standard.
extern "C" std::size_t malloc_usable_size(void* memory) noexcept;

namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

std::atomic<std::size_t> allocations{0};
std::atomic<std::int64_t> live{0};
std::atomic<std::int64_t> bytes_live{0};
std::atomic<std::int64_t> bytes_peak{0};
std::atomic<std::size_t> first_to_fail{never};  // counted from the process's start
std::atomic<std::size_t> last_to_fail{never};
std::atomic<bool> one_failed{false};

// Larger requests fail here. AddressSanitizer's malloc would end the process.
std::atomic<std::size_t> most_bytes{(std::size_t{1} << 47) - 1};

void* counted(std::size_t bytes, std::size_t alignment) {
  const std::size_t index = allocations++;
  const bool fails = index >= first_to_fail && index <= last_to_fail;
  if (fails) one_failed = true;
  if (fails || bytes > most_bytes) throw std::bad_alloc();
  // aligned_alloc requires a multiple of the alignment. 0 bytes also need an address.
  const std::size_t whole = (bytes / alignment + 1) * alignment;
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(bytes > 0 ? bytes : 1)
                           : std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  ++live;
  const std::int64_t now = bytes_live += static_cast<std::int64_t>(malloc_usable_size(memory));
  for (std::int64_t most = bytes_peak; most < now;) {
    if (bytes_peak.compare_exchange_weak(most, now)) break;
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    --live;
    bytes_live -= static_cast<std::int64_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}

void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept try {
  return counted(bytes, 1);
} catch (const std::bad_alloc&) {
  return nullptr;
}

void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}

namespace rotary::test {

std::size_t allocation_count() noexcept { return allocations; }

std::int64_t live_allocations() noexcept { return live; }

std::int64_t live_bytes() noexcept { return bytes_live; }

std::int64_t peak_bytes() noexcept { return bytes_peak; }

void restart_peak() noexcept { bytes_peak = bytes_live.load(); }

void refuse_more_than(std::size_t bytes) noexcept { most_bytes = bytes; }

FailingNew::FailingNew(std::size_t index, Failing which) noexcept {
  one_failed = false;
  first_to_fail = allocations + index;
  last_to_fail = which == Failing::one ? allocations + index : never - 1;
}

FailingNew::~FailingNew() {
  first_to_fail = never;
  last_to_fail = never;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): callers must hold a FailingNew
bool FailingNew::has_failed() const noexcept { return one_failed; }

}  // namespace rotary::test
