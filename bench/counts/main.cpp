// SPDX-License-Identifier: Apache-2.0
// tools/counts/counts.py runs this program under callgrind. callgrind zeroes its counters on entry
// to counted_call and writes them on exit. Prints the compiler, the instruction set, and the names
// of the calls in the order of counting.
#include <fmt/core.h>

#include "bench/counts/operations.hpp"
#include "rotary/instruction_set.hpp"

namespace {

using rotary::bench::CountedOperation;

int fail(const rotary::Error& error) {
  fmt::print(stderr, "rotary-counts: {}\n", error.message);
  return 70;
}

}  // namespace

// callgrind finds this function by its name.
extern "C" [[gnu::noinline]] void counted_call(const CountedOperation* operation,
                                               rotary::Status* status) {
  *status = operation->call();
}

int main() {
  const auto operations = rotary::bench::counted_operations();
  if (!operations) return fail(operations.error());
  const auto instruction_set = rotary::instruction_set();
  if (!instruction_set) return fail(instruction_set.error());
#if defined(__clang__)
  fmt::print("clang {}.{}\n", __clang_major__, __clang_minor__);
#else
  fmt::print("gcc {}.{}\n", __GNUC__, __GNUC_MINOR__);
#endif
  fmt::print("{}\n", *instruction_set);
  for (const CountedOperation& operation : *operations) {
    // This call is not counted: a first call may choose kernels and touch new memory.
    if (auto status = operation.call(); !status) return fail(status.error());
    rotary::Status status;
    counted_call(&operation, &status);
    if (!status) return fail(status.error());
    fmt::print("{}\n", operation.name);
  }
  return 0;
}
