// SPDX-License-Identifier: Apache-2.0
// Fuzzes relative encodings with any numbers, positions and strides. Accepted calls must be right.
// Refused calls must give a reason and change nothing.
#include <array>
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  static Buffers buffers;
  Bytes input(data, size);
  constexpr std::array kinds = {fuzz_bias,    fuzz_bias, fuzz_bias, fuzz_bias,
                                fuzz_numbers, fuzz_shaw, fuzz_shaw, fuzz_cope};
  kinds[input.byte() % kinds.size()](input, buffers);
  return 0;
}
