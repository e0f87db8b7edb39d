// SPDX-License-Identifier: Apache-2.0
// Relative encodings with any numbers, positions and strides. Accepted calls must be right. Refused
// calls must give a reason and change nothing.
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  static Buffers buffers;
  Bytes input(data, size);
  switch (input.number(0, 7)) {
    case 0:
    case 1:
    case 2:
    case 3:
      fuzz_bias(input, buffers);
      break;
    case 4:
      fuzz_numbers(input, buffers);
      break;
    case 5:
    case 6:
      fuzz_shaw(input, buffers);
      break;
    default:
      fuzz_cope(input, buffers);
      break;
  }
  return 0;
}
