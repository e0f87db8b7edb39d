// SPDX-License-Identifier: Apache-2.0
// The table of every public function that takes sizes: the number of sizes, and a call with given
// sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::test {

// repeated: the size may be any number, because a stride of 0 repeats elements or because the size
// is only a number. each: the size counts elements that exist.
enum class Held { repeated, each };

struct Size {
  std::int64_t natural = 1;  // in a call that does something
  Held held = Held::repeated;
};

using Sizes = std::span<const std::int64_t>;

// function: the beginning of a line of tests/c_api/exported_symbols.txt and, after a *, a text that
// the line also contains; for a C function the whole line. Several rows may have the same.
struct Row {
  std::string_view function;
  std::vector<Size> sizes;
  std::function<Status(Sizes)> call;
};

using Rows = std::vector<Row>;

[[nodiscard]] Rows rotation_rows();
[[nodiscard]] Rows cache_rows();
[[nodiscard]] Rows attention_rows();
[[nodiscard]] Rows linear_rows();
[[nodiscard]] Rows absolute_rows();
[[nodiscard]] Rows relative_rows();
[[nodiscard]] Rows spec_rows();
[[nodiscard]] Rows c_rows();

// Exported functions that take no size, named likewise; for C a prefix that ends with _.
[[nodiscard]] std::span<const std::string_view> functions_without_sizes();

}  // namespace rotary::test
