// SPDX-License-Identifier: Apache-2.0
#include "rotary/shift.hpp"

#include "attention/cache/shift_checks.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "rotary/rotate.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {

Status check_shift(const Rotations& by) {
  if (by.role()) {
    return invalid_argument(
        "rotations of a shift must serve keys alone, got rows of xPos for role ",
        to_string(*by.role()));
  }
  if (by.numerics() != Numerics::exact) {
    return unsupported("rotations of a shift must be of numerics exact, got ",
                       to_string(by.numerics()));
  }
  if (keeps_order(by.window().pairing)) return {};
  return invalid_argument(
      "rotations of a shift must be those of make_shift: keys of interleaved_to_half lie in halves "
      "once they are rotated, got rotations that read neighbours");
}

namespace {

// Repeats rotate()'s refusal with the name the caller knows: keys instead of dst.
Status refusal(const Status& of_rotate, HeadsView keys, const Rotations& by) {
  if (of_rotate.error().code == ErrorCode::out_of_memory) return of_rotate;
  keys = without_unused_strides(keys);
  if (auto status = check_view("keys", keys, by); !status) return status;
  if (auto status = check_distinct("keys", keys); !status) return status;
  return of_rotate;
}

}  // namespace

Status shift(HeadsView keys, const Rotations& by, const ShiftOptions& options) noexcept {
  return guarded<ModesOfTheCaller>([&]() -> Status {
    if (auto status = check_shift(by); !status) return status;
    auto status = rotate(keys, keys, by, {.executor = options.executor});
    return status ? status : refusal(status, keys, by);
  });
}

Status shift(HeadsView keys, const RotatedAt& from, const RotatedAt& to,
             const ShiftOptions& options) noexcept {
  return guarded([&]() -> Status {
    const RowDType rows = keys.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
    const auto by = make_shift(from, to, {.rows = rows});
    if (!by) return by.error();
    return shift(keys, *by, options);
  });
}

}  // namespace rotary
