// SPDX-License-Identifier: Apache-2.0
// Linking support/counted_new.cpp replaces operator new by one that counts allocations and fails on
// request.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rotary::test {

// Allocations since the start of the process, including failed ones.
[[nodiscard]] std::size_t allocation_count() noexcept;

// Allocations not yet freed.
[[nodiscard]] std::int64_t live_allocations() noexcept;

// Bytes not yet freed, and their maximum since the last restart_peak().
[[nodiscard]] std::int64_t live_bytes() noexcept;
[[nodiscard]] std::int64_t peak_bytes() noexcept;
void restart_peak() noexcept;

// Makes larger allocations fail from now on.
void refuse_more_than(std::size_t bytes) noexcept;

enum class Failing {
  one,               // only this allocation, as if a large block does not fit
  it_and_all_later,  // as if no memory is left
};

// Makes allocations of any thread fail during its lifetime. Only one may exist at a time.
class FailingNew {
 public:
  // index: how many allocations succeed first.
  FailingNew(std::size_t index, Failing which) noexcept;
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  [[nodiscard]] bool has_failed() const noexcept;
};

}  // namespace rotary::test
