// SPDX-License-Identifier: Apache-2.0
// operator new as on a machine with little memory: requests above 64 MiB fail on every machine. A
// file of its own, so that no caller is compiled together with the replacement.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 26;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > most_bytes) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (void* const memory = std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment))
    return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
