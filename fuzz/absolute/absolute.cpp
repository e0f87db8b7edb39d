// SPDX-License-Identifier: Apache-2.0
// Absolute encodings with any spec, positions, tables and strides. Accepted calls must be right.
// Refused calls must give a reason and change nothing.
#include <cstddef>
#include <cstdint>

#include "fuzz/absolute/absolute_cases.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  static Buffers buffers;
  Bytes input(data, size);
  use_instruction_set(input);
  switch (input.number(0, 2)) {
    case 0:
      fuzz_sinusoidal(input, buffers);
      break;
    case 1:
      fuzz_lookup(input, buffers);
      break;
    default:
      fuzz_interpolation(input, buffers);
      break;
  }
  return 0;
}
