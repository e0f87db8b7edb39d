// SPDX-License-Identifier: Apache-2.0
// tools/counts/counts.py runs this program under callgrind. callgrind zeroes its counters on entry
// to counted_call and writes them on exit. Prints the compiler, the instruction set, and the names
// of the calls in the order of counting.
#include <fmt/core.h>

#include "bench/counts/operations.hpp"
#include "rotary/instruction_set.hpp"

using rotary::bench::CountedOperation;

// callgrind finds this function by its name.
extern "C" [[gnu::noinline]] void counted_call(const CountedOperation* operation,
                                               rotary::Status* status) {
  *status = operation->call();
}

int main() try {
  const auto operations = rotary::bench::counted_operations();
  const auto instruction_set = rotary::bench::made(rotary::instruction_set());
#if defined(__clang__)
  fmt::print("clang {}.{}\n", __clang_major__, __clang_minor__);
#else
  fmt::print("gcc {}.{}\n", __GNUC__, __GNUC_MINOR__);
#endif
  fmt::print("{}\n", instruction_set);
  for (const CountedOperation& operation : operations) {
    // This call is not counted: a first call may choose kernels and touch new memory.
    rotary::bench::require(operation.call());
    rotary::Status status;
    counted_call(&operation, &status);
    rotary::bench::require(status);
    fmt::print("{}\n", operation.name);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "rotary-counts: {}\n", error.what());
  return 70;
}
