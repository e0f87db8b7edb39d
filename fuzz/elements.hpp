// SPDX-License-Identifier: Apache-2.0
// Elements of views in a case's memory, as numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "check/rotated.hpp"
#include "fuzz/strided.hpp"
#include "tests/support/elements.hpp"

namespace rotary::fuzz {

using check::is_rounded;
using test::value_at;

template <class View>
[[nodiscard]] double number_before(const View& view, const Axes& index, const Memory& memory) {
  return value_at(view.dtype,
                  memory.before.data() + place_of(strided(view), memory.after.data(), index));
}
template <class View>
[[nodiscard]] double number_after(const View& view, const Axes& index, const Memory& memory) {
  return value_at(view.dtype,
                  memory.after.data() + place_of(strided(view), memory.after.data(), index));
}

// The numbers of an array, before the call.
[[nodiscard]] inline std::vector<double> before(std::span<const double> numbers,
                                                const Memory& memory) {
  std::vector<double> all(numbers.size());
  for_each_element(strided(numbers), [&](const Axes& index) {
    all[static_cast<std::size_t>(index[3])] = value_at(
        DType::f64, memory.before.data() + place_of(strided(numbers), memory.after.data(), index));
  });
  return all;
}

}  // namespace rotary::fuzz
