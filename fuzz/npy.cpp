// SPDX-License-Identifier: Apache-2.0
// The NPY reader: any bytes give an array or an error, and neither takes more memory than the file
// accounts for; an array that is written and read again is the same.
#include "cli/npy/npy.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/heap.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

using cli::NpyArray;

// Twice the file, and what an error message and a shape of 32 dimensions take.
void check_heap(std::size_t allocated, std::size_t file_bytes) {
  constexpr std::size_t small = 8192;
  if (allocated > 2 * file_bytes + small) {
    fail("reading must not allocate more than twice the file", std::to_string(allocated));
  }
}

// Every stride that follows from the shape must fit too, so a dimension of 0 hides no overflow.
void check_array(const NpyArray& array) {
  std::uint64_t bytes = cli::size_in_bytes(array.type);
  bool empty = false;
  for (const std::int64_t dimension : array.shape) {
    if (dimension < 0) fail("a dimension must not be negative");
    empty = empty || dimension == 0;
    const auto factor = static_cast<std::uint64_t>(dimension == 0 ? 1 : dimension);
    if (__builtin_mul_overflow(bytes, factor, &bytes)) fail("the shape must fit in 64 bits");
  }
  if (array.data.size() != (empty ? 0 : bytes)) {
    fail("the data must be as large as the shape says");
  }
}

void check_round_trip(const NpyArray& array) {
  const std::string file = cli::write_npy(array.type, array.shape, array.data);
  const auto again = cli::read_npy(std::as_bytes(std::span(file)));
  if (!again) fail("what was written must be read", again.error().message);
  if (again->type != array.type || again->shape != array.shape || again->data != array.data) {
    fail("what was written must be read as it was");
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  const std::size_t before = fuzz::allocated_bytes();
  const auto array = cli::read_npy(std::as_bytes(std::span(data, size)));
  fuzz::check_heap(fuzz::allocated_bytes() - before, size);
  if (!array) {
    fuzz::check_error(array.error());
    return 0;
  }
  fuzz::check_array(*array);
  fuzz::check_round_trip(*array);
  return 0;
}
