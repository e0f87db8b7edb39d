// SPDX-License-Identifier: Apache-2.0
// Calls the kernel that packs queries. attend() shows no difference if it leaves numbers behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/attend/attend_kernels.hpp"
#include "runtime/active_kernels.hpp"
#include "support/result.hpp"

namespace rotary::kernels {
namespace {

constexpr std::int64_t head_dim = 5;

// How many packed numbers load_queries leaves as they were.
std::int64_t left_of(std::int64_t rows) {
  const std::vector<float> query(head_dim, 0.5F);
  const std::vector<const void*> heads(static_cast<std::size_t>(rows), query.data());
  const std::vector<float> scales(heads.size(), 1);
  constexpr std::size_t room = 1024;
  alignas(attend_alignment) std::array<float, room> loaded{};
  alignas(attend_alignment) std::array<float, room> packed{};
  packed.fill(std::nanf(""));
  test::value_of(active_kernels())
      ->attend->types.f32.load_queries({.heads = heads.data(),
                                        .rows = rows,
                                        .head_dim = head_dim,
                                        .rotation = {},
                                        .scales = scales.data(),
                                        .loaded = loaded.data(),
                                        .packed = packed.data()});
  return std::count_if(packed.begin(), packed.begin() + packed_queries_size(rows, head_dim),
                       [](float number) { return std::isnan(number); });
}

// Numbers left in padding rows would enter products, and subnormal numbers would slow them down.
TEST(AttendKernels, ThePaddingRowsAreWritten) {
  for (std::int64_t rows = 1; rows < rows_of_group; ++rows)
    EXPECT_LE(left_of(rows), left_of(rows_of_group)) << rows;
}

}  // namespace
}  // namespace rotary::kernels
