// SPDX-License-Identifier: Apache-2.0
// The C functions. Their error text is separate from rotary_last_error(), because this library does
// not link rotary.
#include "rotary/rotary_threads.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/threads.hpp"

struct rotary_threads {
  rotary::Threads threads;
};

namespace {

using rotary::invalid_argument;
using rotary::Status;

// Holds any message of this library without an allocation.
constinit thread_local std::array<char, 256> last_error{};

// Calls body, which returns a Status, and reports its error.
template <class Body>
rotary_status run(Body body) noexcept {
  const Status status = rotary::guarded<rotary::ModesOfTheCaller>(body);
  if (status.ok()) return ROTARY_OK;
  const auto& [code, text] = status.error();
  const std::size_t length = std::min(text.size(), last_error.size() - 1);
  *std::copy_n(text.begin(), length, last_error.begin()) = '\0';
  return static_cast<rotary_status>(code);
}

}  // namespace

rotary_status rotary_threads_start(int64_t concurrency, rotary_threads** out) {
  return run([&]() -> Status {
    if (out == nullptr) return invalid_argument("out must not be NULL");
    *out = nullptr;
    auto threads = rotary::Threads::start(concurrency);
    if (!threads) return std::move(threads).error();
    *out = new rotary_threads{*std::move(threads)};
    return {};
  });
}

const char* rotary_threads_last_error(void) { return last_error.data(); }

rotary_status rotary_threads_executor(const rotary_threads* threads, rotary_executor* executor) {
  return run([&]() -> Status {
    if (threads == nullptr) return invalid_argument("threads must not be NULL");
    if (executor == nullptr) return invalid_argument("executor must not be NULL");
    constexpr std::size_t filled =
        offsetof(rotary_executor, concurrency) + sizeof(rotary_executor::concurrency);
    constexpr std::size_t largest_struct = 4096;  // a larger size is probably uninitialised
    if (executor->struct_size < filled || executor->struct_size > largest_struct) {
      return invalid_argument("executor.struct_size must be sizeof(rotary_executor), ",
                              sizeof(rotary_executor), "; got ", executor->struct_size);
    }
    const rotary::Executor own = threads->threads.executor();
    executor->context = own.context;
    executor->run = own.run;
    executor->concurrency = own.concurrency;
    return {};
  });
}

void rotary_threads_stop(rotary_threads* threads) { delete threads; }
