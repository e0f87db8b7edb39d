// SPDX-License-Identifier: Apache-2.0
// One call of attend() on keys and values in 8 bits, and the reference's result for the numbers
// scale * element, which double holds exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/attention.hpp"
#include "support/attention/attended.hpp"
#include "support/int8_heads.hpp"

namespace rotary::test {

// int8 heads in pages, each sequence's in blocks of its own, in no order. Requires sequences.
struct QuantizedPages {
  Int8Heads k;
  Int8Heads v;
  std::vector<std::int32_t> blocks;
  std::int64_t sequences;

  [[nodiscard]] QuantizedKeys keys() const;
};

class QuantizedAttended : public Attended {
 public:
  QuantizedAttended(const AttendCase& made_of, Lying lying);

  [[nodiscard]] QuantizedKeys keys() const { return {.k = int8_k.view(), .v = int8_v.view()}; }
  [[nodiscard]] QuantizedPages pages(std::int64_t slots, Lying lying) const;

  // The reference sees the numbers of int8_k and int8_v as they are now.
  void read_numbers();

  [[nodiscard]] Status run();
  [[nodiscard]] Status run(const QuantizedPages& pages);
  // attend() over the float32 nearest to each number.
  [[nodiscard]] Status run_on_floats();

  Int8Heads int8_k;
  Int8Heads int8_v;
};

[[nodiscard]] testing::AssertionResult is_right(QuantizedAttended& call);

}  // namespace rotary::test
