// SPDX-License-Identifier: Apache-2.0
// Bits do not depend on the layout or on prefetching. The fuzz target views compares splits by
// tokens.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "kernels/kernels.hpp"
#include "rotary/rotate.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/of_dtype.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

constexpr Extents extents{.batch = 3, .tokens = 19, .heads = 5, .features = 150};

struct Whole {
  Frequencies frequencies;
  std::vector<std::int64_t> positions;  // [batch][tokens]
  Tensor src;
  Tensor dst;

  [[nodiscard]] Rotations rotations(const Positions& of) const {
    return test::rotations_of(frequencies, of, test::rows_for(src.view().dtype));
  }
};

Whole rotate_at_once(DType dtype, Pairing pairing) {
  const HeadWindow window{
      .head_dim = 150, .rotary_dim = 138, .first_feature = 5, .pairing = pairing};
  Whole whole{.frequencies = test::frequencies_of(window, 1.25),
              .positions = {},
              .src = test::random_tensor({.dtype = dtype, .extents = extents}, 12),
              .dst = Tensor({.dtype = dtype, .extents = extents})};
  test::Random random(13);
  for (std::int64_t i = 0; i < extents.batch * extents.tokens; ++i) {
    whole.positions.push_back(random.integer(-1000, 1'000'000));
  }
  test::require(rotate(whole.dst.view(), whole.src.view(),
                       whole.rotations(positions_of(std::span<const std::int64_t>(whole.positions),
                                                    extents.batch))));
  return whole;
}

template <class Visit>
void for_each_whole(Visit visit) {
  for (const DType dtype : test::all_dtypes) {
    for (const Pairing pairing : all_pairings) {
      SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
      visit(rotate_at_once(dtype, pairing));
    }
  }
}

TEST(RotateBits, AreTheSameInEveryLayout) {
  for_each_whole([](const Whole& whole) {
    const Rotations rotations = whole.rotations(
        positions_of(std::span<const std::int64_t>(whole.positions), extents.batch));
    for (const Layout layout : test::all_layouts) {
      SCOPED_TRACE(to_string(layout));
      Tensor tensor = moved_to(layout, whole.src);
      test::require(rotate(tensor.view(), tensor.view(), rotations));
      ASSERT_EQ(tensor.all_bits(), whole.dst.all_bits());
    }
  });
}

// Tensors larger than the caches are rotated in groups of heads, while the next heads are
// prefetched. The size of a group depends on the machine, so this test calls the kernels directly.
// With 35 heads the last group is partial.
TEST(RotateBits, AreTheSameWithPrefetch) {
  const kernels::KernelTable& table = *test::value_of(active_kernels());
  constexpr Extents n{.batch = 1, .tokens = 3, .heads = 35, .features = 150};
  test::Random random(14);
  std::vector<double> f64_rows(n.tokens * n.features);
  for (double& number : f64_rows) number = 2 * random.unit() - 1;
  const std::vector<float> f32_rows(f64_rows.begin(), f64_rows.end());
  for (const DType dtype : test::all_dtypes) {
    const Tensor src = test::random_tensor({.dtype = dtype, .extents = n}, 15);
    const bool wide = dtype == DType::f64;
    for (const kernels::RotateKernels& order :
         {table.rotate[0][0], table.rotate[0][1], table.rotate[1][0], table.rotate[1][1]}) {
      const kernels::Rotate kernel = of_dtype(order.once, dtype);
      const auto rotated = [&](std::int64_t bytes_ahead) {
        Tensor dst({.dtype = dtype, .extents = n});
        const Strides& from = src.view().strides;
        const Strides& to = dst.view().strides;
        kernel({.src = src.view().data,
                .dst = dst.view().data,
                .src_token_stride = from.token,
                .src_head_stride = from.head,
                .dst_token_stride = to.token,
                .dst_head_stride = to.head,
                .tokens = n.tokens,
                .heads = n.heads,
                .pairs = n.features / 2,
                .rows = wide ? static_cast<const void*>(f64_rows.data()) : f32_rows.data(),
                .row_stride = n.features,
                .lane_stride = n.features / 2,
                .cos_scale = 1,
                .sin_scale = 1,
                .bytes_ahead = bytes_ahead});
        EXPECT_TRUE(dst.guards_intact());
        return dst.all_bits();
      };
      const auto at_once = rotated(0);
      for (const std::int64_t bytes : {1, 4096, 1'000'000}) ASSERT_EQ(rotated(bytes), at_once);
    }
  }
}

}  // namespace
}  // namespace rotary
