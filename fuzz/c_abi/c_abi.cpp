// SPDX-License-Identifier: Apache-2.0
// The C ABI: any sequence of its calls. Handles are made, used, remade after failures and freed.
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.hpp"
#include "fuzz/c_abi/session.hpp"
#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  constexpr int most_calls = 16;
  {
    Session session(input);
    for (int i = 0; i < most_calls && !input.is_used_up(); ++i) session.call();
  }
  use_instruction_set(rotary::supported_instruction_sets().front());
  return 0;
}
