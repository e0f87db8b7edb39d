// SPDX-License-Identifier: Apache-2.0
// Every public function that takes sizes, as a row of a table: how many sizes, and a call with any
// of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::test {

// repeated: a stride of 0 lets the size be any number, as does a size that is a number alone.
// each: the size counts elements that exist.
enum class Held { repeated, each };

struct Size {
  std::int64_t natural = 1;  // in a call that does something
  Held held = Held::repeated;
};

using Sizes = std::span<const std::int64_t>;

// function: how one line of tests/c_api/exported_symbols.txt begins and, after a *, what it also
// holds; of a C function all of it. Several rows may have it.
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

// Exported functions that take no size, named likewise; those of C that begin with a name and _.
[[nodiscard]] std::span<const std::string_view> functions_without_sizes();

}  // namespace rotary::test
