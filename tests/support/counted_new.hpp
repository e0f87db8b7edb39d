// SPDX-License-Identifier: Apache-2.0
// Linking support/counted_new.cpp into a test binary replaces every operator new by one that
// counts, and that fails where a test says so.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rotary::test {

// Allocations since the start of the process, those that failed included.
[[nodiscard]] std::size_t allocation_count() noexcept;

// Allocated and not freed.
[[nodiscard]] std::int64_t live_allocations() noexcept;

// Bytes that are allocated and not freed, and the most that there were since the last
// restart_peak().
[[nodiscard]] std::int64_t live_bytes() noexcept;
[[nodiscard]] std::int64_t peak_bytes() noexcept;
void restart_peak() noexcept;

// From now on an allocation of more bytes fails.
void refuse_more_than(std::size_t bytes) noexcept;

enum class Failing {
  one,               // this allocation alone, as when a large block does not fit
  it_and_all_later,  // as when nothing is left
};

// While one lives, allocations of any thread fail. One at a time.
class FailingNew {
 public:
  // index: how many allocations succeed before.
  FailingNew(std::size_t index, Failing which) noexcept;
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  [[nodiscard]] bool has_failed() const noexcept;
};

}  // namespace rotary::test
