// SPDX-License-Identifier: Apache-2.0
#include "fuzz/turned.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fuzz/check.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::fuzz {
namespace {

void check_pair(const Head& before, const Head& after, const TurnedBy& by, std::int64_t pair) {
  const HeadWindow& window = by.rotations.window();
  const auto [x, y] = features_read(window, by.direction, pair);
  const auto [to_x, to_y] = features_written(window, by.direction, pair);
  const RowOfPair row = row_of_pair(by, pair);
  const Turn turn{.dtype = after.dtype,
                  .direction = by.direction,
                  .attention_factor = by.rotations.attention_factor(),
                  .cos = row.cos,
                  .sin = row.sin};
  const Pair in{.x = before.at(x), .y = before.at(y)};
  if (!is_within_range(turn, in)) return;
  const Pair out{.x = after.at(to_x), .y = after.at(to_y)};
  if (!keeps_contract(turn, in, out)) fail("a pair must be turned within the bound");
}

// The hardware of this set stores numbers that are subnormal in float32 as 0.
bool is_flushed(DType dtype, double value, double got) {
  if (dtype != DType::bf16 || std::abs(value) >= 0x1p-126 || got != 0) return false;
  const auto set = instruction_set();
  return set && *set == "AVX3_BF16" && std::signbit(got) == std::signbit(value);
}

}  // namespace

RowOfPair row_of_pair(const TurnedBy& by, std::int64_t pair) {
  const std::int64_t batch = by.rotations.batch() == 1 ? 0 : by.batch;
  const auto at = static_cast<std::size_t>(pair);
  if (by.rotations.row_dtype() == RowDType::f64) {
    return {.cos = by.rotations.cos<double>(batch, by.token)[at],
            .sin = by.rotations.sin<double>(batch, by.token)[at]};
  }
  return {.cos = by.rotations.cos(batch, by.token)[at],
          .sin = by.rotations.sin(batch, by.token)[at]};
}

void check_turned(const Head& before, const Head& after, const TurnedBy& by) {
  const HeadWindow& window = by.rotations.window();
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) check_pair(before, after, by, pair);
  for (std::int64_t f = 0; f < window.head_dim; ++f) {
    if (check::turns(window, f)) continue;
    check_stored(before, after, f, "a feature that does not turn must stay or be rounded once");
  }
}

void check_turned(const TurnedView& view, const Rotations& rotations, const Memory& memory) {
  const Strided before = strided(view.before);
  const Strided after = strided(view.after);
  Strided heads = after;
  heads.counts[3] = std::min<std::int64_t>(heads.counts[3], 1);
  const std::byte* const buffer = memory.after.data();
  for_each_element(heads, [&](const Axes& index) {
    const Head in{.first = memory.before.data() + place_of(before, buffer, index),
                  .dtype = view.before.dtype,
                  .stride = view.before.strides.feature};
    const Head out{.first = buffer + place_of(after, buffer, index),
                   .dtype = view.after.dtype,
                   .stride = view.after.strides.feature};
    check_turned(in, out,
                 {.rotations = rotations,
                  .direction = view.direction,
                  .batch = index[0],
                  .token = index[1]});
  });
}

void check_stored(const Head& before, const Head& after, std::int64_t feature,
                  std::string_view what) {
  const std::byte* const got = after.element(feature);
  const double value = before.at(feature);
  if (std::isnan(value) && std::isnan(after.at(feature))) return;
  if (before.dtype == after.dtype) {
    const auto size = static_cast<std::size_t>(size_in_bytes(after.dtype));
    if (std::memcmp(got, before.element(feature), size) != 0) fail(what);
  } else if (!is_rounded(after.dtype, got, value) &&
             !is_flushed(after.dtype, value, after.at(feature))) {
    fail(what);
  }
}

}  // namespace rotary::fuzz
