// SPDX-License-Identifier: Apache-2.0
#include "fuzz/views_written.hpp"

#include <cstdint>
#include <cstring>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"

namespace rotary::fuzz {
namespace {

Turn turn_of(const ViewsCase& views, const Rotations& rotations, const HeadIndex& index,
             std::int64_t pair) {
  Turn turn{.direction = views.direction, .attention_factor = rotations.attention_factor()};
  const std::int64_t batch = rotations.batch() == 1 ? 0 : index.batch;
  const auto at = static_cast<std::size_t>(pair);
  if (rotations.row_dtype() == RowDType::f64) {
    turn.cos = rotations.cos<double>(batch, index.token)[at];
    turn.sin = rotations.sin<double>(batch, index.token)[at];
  } else {
    turn.cos = rotations.cos(batch, index.token)[at];
    turn.sin = rotations.sin(batch, index.token)[at];
  }
  return turn;
}

// Where each element of one destination and its source lies, before and after.
struct Transfer {
  ConstHeadsView dst;
  ConstHeadsView src;
  std::span<const std::byte> before;
  std::span<std::byte> after;

  [[nodiscard]] const std::byte* source(const HeadIndex& index, std::int64_t feature) const {
    return before.data() + place_of(src, after.data(), index, feature);
  }
  [[nodiscard]] const std::byte* result(const HeadIndex& index, std::int64_t feature) const {
    return after.data() + place_of(dst, after.data(), index, feature);
  }
};

void check_pair(const Transfer& transfer, const Turn& turn, const HeadIndex& index,
                const PairFeatures& features) {
  const Pair in{.x = value_at(turn.dtype, transfer.source(index, features.read_x)),
                .y = value_at(turn.dtype, transfer.source(index, features.read_y))};
  if (!is_within_range(turn, in)) return;
  const Pair out{.x = value_at(turn.dtype, transfer.result(index, features.written_x)),
                 .y = value_at(turn.dtype, transfer.result(index, features.written_y))};
  if (!keeps_contract(turn, in, out)) fail("a pair must be turned within the bound");
}

void check_passed(const Transfer& transfer, const HeadWindow& window, const HeadIndex& index) {
  const auto size = static_cast<std::size_t>(size_in_bytes(transfer.dst.dtype));
  const std::int64_t end = window.first_feature + window.rotary_dim;
  for (std::int64_t f = 0; f < window.head_dim; ++f) {
    if (f >= window.first_feature && f < end) continue;
    if (std::memcmp(transfer.result(index, f), transfer.source(index, f), size) != 0) {
      fail("a feature outside the window must pass unchanged");
    }
  }
}

void check(const Transfer& transfer, const ViewsCase& views, const Rotations& rotations) {
  for_each_head(transfer.dst.extents, [&](const HeadIndex& index) {
    for (std::int64_t pair = 0; pair < views.window.pairs(); ++pair) {
      Turn turn = turn_of(views, rotations, index, pair);
      turn.dtype = transfer.dst.dtype;
      check_pair(transfer, turn, index, features_of(views.window, views.direction, pair));
    }
    check_passed(transfer, views.window, index);
  });
}

void put_back(const ConstHeadsView& dst, std::span<const std::byte> before,
              std::span<std::byte> after) {
  for_each_head(dst.extents, [&](const HeadIndex& index) {
    for (std::int64_t f = 0; f < dst.extents.features; ++f) {
      const std::size_t at = place_of(dst, after.data(), index, f);
      std::memcpy(after.data() + at, before.data() + at,
                  static_cast<std::size_t>(size_in_bytes(dst.dtype)));
    }
  });
}

}  // namespace

void check_written(const ViewsCase& views, const Rotations& rotations,
                   std::span<const std::byte> before, std::span<std::byte> after) {
  const bool both = views.operation == Operation::rotate_qk;
  const ConstHeadsView first_source = both ? views.dst : views.src;
  check({views.dst, first_source, before, after}, views, rotations);
  if (both) {
    check({views.src, views.src, before, after}, views, rotations);
    put_back(views.src, before, after);
  }
  put_back(views.dst, before, after);
  if (std::memcmp(before.data(), after.data(), before.size()) != 0) {
    fail("bytes that belong to no destination must stay");
  }
}

}  // namespace rotary::fuzz
