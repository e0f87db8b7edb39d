// SPDX-License-Identifier: Apache-2.0
// Shifts int8 keys. Makes the checks of rotate() that need no DType, then calls the kernel once per
// batch row of each part.
#include <algorithm>
#include <cstdint>

#include "attention/cache/shift_checks.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "kernels/int8_kernels.hpp"
#include "kernels/kernels.hpp"
#include "rotary/shift.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/stored_heads.hpp"

namespace rotary {
namespace {

constexpr StoredNames shifted{.elements = "keys", .scales = "scales"};

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

Status check(const WrittenHeads& keys, const Rotations& by) {
  if (auto status = check_rows(by); !status) return status;
  if (auto status = check_extents("keys", keys.extents, by); !status) return status;
  if (auto status = check_stored(shifted, keys); !status) return status;
  return check_distinct(shifted, keys);
}

struct QuantizedShift {
  const WrittenHeads& keys;
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
  kernel({.data = static_cast<std::int8_t*>(keys.data) + batch * s.batch + begin * s.token,
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
  return reads_halves(pairing) ? table.int8->half : table.int8->interleaved;
}

}  // namespace

Status shift(const QuantizedHeadsView& given, const Rotations& by,
             const ShiftOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    if (auto status = check_shift(by); !status) return status;
    const WrittenHeads keys = without_unused_strides(stored(given));
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
