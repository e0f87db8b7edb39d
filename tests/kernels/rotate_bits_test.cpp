// SPDX-License-Identifier: Apache-2.0
// The same bits for any split of the work, by batch, by tokens, by heads, and in every layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
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

// A part of a view: its own data pointer, fewer elements, the same strides.
template <class View>
View part_of(const View& view, const Extents& begin, const Extents& part) {
  const std::int64_t offset = begin.batch * view.strides.batch + begin.tokens * view.strides.token +
                              begin.heads * view.strides.head;
  View result = view;
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>,
                                  const std::byte, std::byte>;
  result.data = static_cast<Byte*>(view.data) + offset * size_in_bytes(view.dtype);
  result.extents = part;
  return result;
}

// Rotates [begin, begin + part) alone, in place.
void rotate_part(Tensor& tensor, const Whole& whole, const Extents& begin, const Extents& part) {
  const TokenArray<std::int64_t> positions{
      .data = whole.positions.data() + begin.batch * extents.tokens + begin.tokens,
      .batch = part.batch,
      .tokens = part.tokens,
      .batch_stride = extents.tokens};
  const HeadsView view = part_of(tensor.view(), begin, part);
  test::require(rotate(view, view, whole.rotations(positions)));
}

TEST(RotateBits, SameInEveryLayout) {
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

TEST(RotateBits, SameForEveryTokenSplit) {
  for_each_whole([](const Whole& whole) {
    for (const std::int64_t step : {1, 2, 7, 16}) {
      Tensor tensor = whole.src;
      for (std::int64_t t = 0; t < extents.tokens; t += step) {
        rotate_part(tensor, whole, {.batch = 0, .tokens = t},
                    {.batch = extents.batch,
                     .tokens = std::min(step, extents.tokens - t),
                     .heads = extents.heads,
                     .features = extents.features});
      }
      ASSERT_EQ(tensor.all_bits(), whole.dst.all_bits()) << step << " tokens at once";
    }
  });
}

TEST(RotateBits, SameForEachBatchRowAndHeadAlone) {
  for_each_whole([](const Whole& whole) {
    Tensor tensor = whole.src;
    for (std::int64_t b = 0; b < extents.batch; ++b) {
      for (std::int64_t h = 0; h < extents.heads; ++h) {
        rotate_part(
            tensor, whole, {.batch = b, .tokens = 0, .heads = h},
            {.batch = 1, .tokens = extents.tokens, .heads = 1, .features = extents.features});
      }
    }
    ASSERT_EQ(tensor.all_bits(), whole.dst.all_bits());
  });
}

// Tensors beyond the caches are gone through a few heads at a time where they lie as [tokens,
// heads]. 35 heads: the last are fewer.
TEST(RotateBits, SameForTensorsBeyondTheCaches) {
  for (const DType dtype : test::all_dtypes) {
    const Extents n{.batch = 1,
                    .tokens = 17'000'000 / (35 * 148 * size_in_bytes(dtype)) | 1,
                    .heads = 35,
                    .features = 150};
    const Tensor src = test::random_tensor({.dtype = dtype, .extents = n}, 14);
    for (const Pairing pairing : all_pairings) {
      SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
      const Frequencies frequencies = test::frequencies_of(
          {.head_dim = 150, .rotary_dim = 148, .first_feature = 1, .pairing = pairing});
      const auto rotate_tokens = [&](Tensor& tensor, std::int64_t first, std::int64_t count) {
        Extents part = n;
        part.tokens = count;
        const HeadsView view = part_of(tensor.view(), {.batch = 0, .tokens = first}, part);
        test::require(rotate(
            view, view,
            test::rotations_of(frequencies, ConsecutivePositions{.first = first, .tokens = count},
                               test::rows_for(dtype))));
      };
      Tensor whole = src;
      rotate_tokens(whole, 0, n.tokens);
      Tensor parts = src;
      for (std::int64_t t = 0; t < n.tokens; t += 300) {
        rotate_tokens(parts, t, std::min<std::int64_t>(300, n.tokens - t));
      }
      ASSERT_EQ(whole.all_bits(), parts.all_bits());
    }
  }
}

// One row of positions for all batch rows equals a copy of it for each.
TEST(RotateBits, SameForSharedPositions) {
  const Whole whole = rotate_at_once(DType::f32, Pairing::half);
  const auto first_row = std::span<const std::int64_t>(whole.positions).first(extents.tokens);
  std::vector<std::int64_t> repeated;
  for (std::int64_t b = 0; b < extents.batch; ++b) {
    repeated.insert(repeated.end(), first_row.begin(), first_row.end());
  }
  Tensor shared = whole.src;
  Tensor separate = whole.src;
  test::require(rotate(shared.view(), shared.view(),
                       test::rotations_of(whole.frequencies, positions_of(first_row))));
  test::require(rotate(
      separate.view(), separate.view(),
      test::rotations_of(whole.frequencies,
                         positions_of(std::span<const std::int64_t>(repeated), extents.batch))));
  EXPECT_EQ(shared.all_bits(), separate.all_bits());
}

}  // namespace
}  // namespace rotary
