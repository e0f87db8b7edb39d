// SPDX-License-Identifier: Apache-2.0
// Fuzzes absolute encodings with any spec, positions, tables and strides. Accepted calls must be
// right. Refused calls must give a reason and change nothing.
#include <array>
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
  constexpr std::array kinds = {fuzz_sinusoidal, fuzz_lookup, fuzz_interpolation};
  kinds[input.byte() % kinds.size()](input, buffers);
  return 0;
}
