// SPDX-License-Identifier: Apache-2.0
#include "fuzz/c_abi/session.hpp"
#include "fuzz/check.hpp"

namespace rotary::fuzz {
namespace {

// rotary_threads has its own error text, which no other library sets.
void check_threads(rotary_status status, bool is_legal) {
  if ((status == ROTARY_OK) != is_legal) fail("threads must answer as rotary_threads.h says");
  if (is_legal) return;
  if (status != ROTARY_INVALID_ARGUMENT) fail("a wrong argument must give ROTARY_INVALID_ARGUMENT");
  check_text(rotary_threads_last_error());
}

}  // namespace

void Session::use_threads() {
  if (threads_ == nullptr || input_.once_in(4)) {
    const std::int64_t any = input_.integer();
    const bool is_costly = any > 4 && any <= 1024;
    const std::int64_t concurrency = is_costly ? input_.number(0, 3) : any;
    const bool has_out = !input_.once_in(16);
    auto* made = reinterpret_cast<rotary_threads*>(this);
    const rotary_status status = rotary_threads_start(concurrency, has_out ? &made : nullptr);
    check_threads(status, has_out && concurrency >= 0 && concurrency <= 1024);
    if (has_out) check_made(status, made);
    if (status == ROTARY_OK) threads_.reset(made);
  } else if (input_.once_in(4)) {
    threads_.reset();
  }
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  executor.concurrency = -7;
  Passed<rotary_executor> passed(input_, executor);
  const bool is_legal = threads_ != nullptr && passed.has_size();
  check_threads(rotary_threads_executor(threads_.get(), passed.pointer()), is_legal);
  const auto filled = passed.value(ROTARY_EXECUTOR_INIT);
  const bool is_right = !filled || is_legal == (filled->concurrency != -7);
  check_value(is_right, "an executor, which is filled if the call succeeds", false);
}

}  // namespace rotary::fuzz
