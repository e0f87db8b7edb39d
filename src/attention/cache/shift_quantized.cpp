// SPDX-License-Identifier: Apache-2.0
// int8 keys: the checks of rotate() for elements that DType does not name, then one kernel call per
// batch row of a part.
#include <algorithm>
#include <cstdint>

#include "attention/cache/shift_checks.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "kernels/int8_kernels.hpp"
#include "kernels/kernels.hpp"
#include "rotary/shift.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// The view with elements of two bytes: sizes and distances double, so checks whether they fit and
// are distinct give the same answer.
ConstHeadsView doubled_elements(const QuantizedHeadsView& keys) {
  return {
      .data = keys.data, .dtype = DType::bf16, .extents = keys.extents, .strides = keys.strides};
}

ConstHeadsView scales_of(const QuantizedHeadsView& keys) {
  const Extents& n = keys.extents;
  const ScaleStrides& s = keys.scale_strides;
  return {.data = keys.scales,
          .dtype = DType::f32,
          .extents = {.batch = n.batch, .tokens = n.tokens, .heads = n.heads, .features = 1},
          .strides = {.batch = s.batch, .token = s.token, .head = s.head}};
}

QuantizedHeadsView without_unused_strides(QuantizedHeadsView keys) {
  if (keys.extents.batch <= 1) keys.strides.batch = keys.scale_strides.batch = 0;
  if (keys.extents.tokens <= 1) keys.strides.token = keys.scale_strides.token = 0;
  if (keys.extents.heads <= 1) keys.strides.head = keys.scale_strides.head = 0;
  return keys;
}

Status check_rows(const Rotations& by) {
  if (by.tensors()) {
    return invalid_argument("keys: elements must be ", to_string(*by.tensors()),
                            ", which the rotations were made for (tensors in RotationsOptions); "
                            "got int8");
  }
  if (by.row_dtype() == RowDType::f32) return {};
  return invalid_argument(
      "keys: int8 elements need rotations of f32 rows (RowDType::f32 in RotationsOptions), got f64 "
      "rows");
}

Status check(const QuantizedHeadsView& keys, const Rotations& by) {
  if (auto status = check_rows(by); !status) return status;
  if (auto status = check_extents("keys", keys.extents, by); !status) return status;
  const ConstHeadsView doubled = doubled_elements(keys);
  if (auto status = check_adjacent_features("keys", doubled); !status) return status;
  const auto range = address_range(doubled);
  if (!range) {
    return invalid_argument("keys: the view must span less than 2^61 bytes, got extents ",
                            describe(keys.extents), " with strides ", describe(keys.strides));
  }
  if (range->begin == range->end) return {};
  if (keys.data == nullptr) {
    return invalid_argument("keys: data must not be null, got extents ", describe(keys.extents));
  }
  if (auto status = check_distinct("keys", doubled); !status) return status;
  const ConstHeadsView scales = scales_of(keys);
  if (auto status = check_view("scales", scales); !status) return status;
  if (auto status = check_distinct("scales", scales); !status) return status;
  const ElementsView elements{
      .data = keys.data, .element_bytes = 1, .extents = keys.extents, .strides = keys.strides};
  const ElementsView factors{.data = scales.data,
                             .element_bytes = 4,
                             .extents = scales.extents,
                             .strides = scales.strides};
  if (find_overlap(elements, factors) == Overlap::none) return {};
  return invalid_argument(
      "keys and scales must share no byte, got views that overlap or cannot be told apart");
}

struct QuantizedShift {
  const QuantizedHeadsView& keys;
  const Rotations& by;
  kernels::ShiftInt8 kernel;
};

// Shifts tokens [begin, end) of one batch row.
void shift_row(const QuantizedShift& shift, std::int64_t batch, std::int64_t begin,
               std::int64_t end) {
  const auto& [keys, by, kernel] = shift;
  const Strides& s = keys.strides;
  const ScaleStrides& f = keys.scale_strides;
  const HeadWindow& window = by.window();
  kernel({.data = keys.data + batch * s.batch + begin * s.token,
          .scales = keys.scales + batch * f.batch + begin * f.token,
          .token_stride = s.token,
          .head_stride = s.head,
          .scale_token_stride = f.token,
          .scale_head_stride = f.head,
          .tokens = end - begin,
          .heads = keys.extents.heads,
          .features = window.head_dim,
          .first_feature = window.first_feature,
          .blocks = window.blocks,
          .pairs = window.pairs() / window.blocks,
          .rows = by.cos(by.batch() == 1 ? 0 : batch, begin).data(),
          .row_stride = by.row_stride(),
          .lane_stride = by.lane_stride()});
}

void shift_part(const void* call, TokenRange range) noexcept {
  const auto& shift = *static_cast<const QuantizedShift*>(call);
  const std::int64_t tokens = shift.keys.extents.tokens;
  for (std::int64_t token = range.begin; token < range.end;) {
    const std::int64_t batch = token / tokens;
    const std::int64_t begin = token - batch * tokens;
    const std::int64_t end = std::min(tokens, range.end - batch * tokens);
    shift_row(shift, batch, begin, end);
    token += end - begin;
  }
}

kernels::ShiftInt8 kernel_for(const kernels::KernelTable& table, Pairing pairing) {
  return pairing == Pairing::interleaved ? table.int8->interleaved : table.int8->half;
}

}  // namespace

Status shift(const QuantizedHeadsView& given, const Rotations& by,
             const ShiftOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    if (auto status = check_shift(by); !status) return status;
    const QuantizedHeadsView keys = without_unused_strides(given);
    if (auto status = check(keys, by); !status) return status;
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();
    const Extents& n = keys.extents;
    if (n.batch == 0 || n.tokens == 0 || n.heads == 0) return {};
    const QuantizedShift shift{keys, by, kernel_for(**kernels, by.window().pairing)};
    run_in_parts(n.batch * n.tokens, {.apply = shift_part, .state = &shift}, options.executor);
    return {};
  });
}

Status shift(const QuantizedHeadsView& keys, const RotatedAt& from, const RotatedAt& to,
             const ShiftOptions& options) noexcept {
  return guarded([&]() -> Status {
    const auto by = make_shift(from, to);
    if (!by) return by.error();
    return shift(keys, *by, options);
  });
}

}  // namespace rotary
