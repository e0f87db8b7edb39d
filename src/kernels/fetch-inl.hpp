// SPDX-License-Identifier: Apache-2.0
// Prefetching, which affects only speed. Addresses may be beyond the memory that is read.

#if defined(ROTARY_KERNELS_FETCH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_FETCH_INL_HPP
#undef ROTARY_KERNELS_FETCH_INL_HPP
#else
#define ROTARY_KERNELS_FETCH_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {

inline constexpr std::int64_t cache_line = 64;

enum class CacheLevel { first, second };

template <CacheLevel level = CacheLevel::second>
HWY_INLINE void fetch([[maybe_unused]] std::uintptr_t address) {
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  // NOLINTNEXTLINE(performance-no-int-to-ptr): pointers beyond an array may not be formed
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, level == CacheLevel::first ? 3 : 2);
#endif
}

HWY_INLINE std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

// Prefetches into L1 the lines of `elements` elements that begin `ahead` bytes after `from`.
template <class T>
HWY_INLINE void fetch_lines(const T* from, std::int64_t elements, std::uintptr_t ahead) {
  const std::uintptr_t first = address_of(from) + ahead;
  for (std::int64_t i = 0; i < elements; i += static_cast<std::int64_t>(cache_line / sizeof(T))) {
    fetch<CacheLevel::first>(first + static_cast<std::uintptr_t>(i) * sizeof(T));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
