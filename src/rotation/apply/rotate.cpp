// SPDX-License-Identifier: Apache-2.0
// All checks of every view of a call come first; once writing begins nothing can fail.
#include "rotary/rotate.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/guard.hpp"
#include "kernels/kernels.hpp"
#include "rotation/apply/apply_rotations.hpp"
#include "rotation/apply/plain_view.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// Plain calls are valid by construction, which saves the checks of rotate_checks.hpp, about 100 ns;
// all other calls take them.
bool is_plain(Direction direction) {
  return direction == Direction::forward || direction == Direction::transpose;
}

bool is_plain_rotate(const HeadsView& dst, const ConstHeadsView& src, const Rotations& rotations,
                     Direction direction) {
  const auto written = plain_span(dst, rotations);
  if (!is_plain(direction) || !written) return false;
  if (src == dst) return true;
  const auto read = plain_span(src, rotations);
  return read && src.dtype == dst.dtype && src.extents == dst.extents &&
         share_no_byte(*written, *read);
}

bool is_plain_rotate_qk(const HeadsView& q, const HeadsView& k, const Rotations& rotations,
                        Direction direction) {
  const auto span_of_q = plain_span(q, rotations);
  const auto span_of_k = plain_span(k, rotations);
  return is_plain(direction) && !rotations.role() && span_of_q && span_of_k &&
         q.extents.batch == k.extents.batch && share_no_byte(*span_of_q, *span_of_k);
}

// One call of rotate() or rotate_qk() after all checks.
struct Rotation {
  std::span<const Transfer> transfers;  // all with the same batch and tokens
  const Rotations& rotations;
  Direction direction;
  const kernels::KernelTable& kernels;
};

void rotate_range(const void* state, TokenRange range) noexcept {
  const auto& [transfers, rotations, direction, kernels] = *static_cast<const Rotation*>(state);
  for (const Transfer& transfer : transfers) {
    apply_rotations(transfer, rotations, direction, kernels, range);
  }
}

bool is_empty(const Transfer& transfer) {
  const auto& n = transfer.dst.extents;
  return n.batch == 0 || n.tokens == 0 || n.heads == 0;
}

void apply_in_parts(const Rotation& rotation, const Executor& executor) noexcept {
  if (std::all_of(rotation.transfers.begin(), rotation.transfers.end(), is_empty)) return;
  // Cannot overflow: a transfer that is not empty has elements, and their number fits. Empty
  // transfers may claim any batch.
  const auto& n = rotation.transfers.front().dst.extents;
  run_in_parts(n.batch * n.tokens, {.apply = rotate_range, .state = &rotation}, executor);
}

Status apply(std::span<const Transfer> transfers, const Rotations& rotations,
             const RotateOptions& options) {
  const auto* kernels = chosen_kernels();
  if (kernels == nullptr) {
    const auto found = active_kernels();
    if (!found) return found.error();
    kernels = *found;
  }
  apply_in_parts({transfers, rotations, options.direction, *kernels}, options.executor);
  return {};
}

}  // namespace

Status rotate(HeadsView dst, ConstHeadsView src, const Rotations& rotations,
              RotateOptions options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    if (!is_plain_rotate(dst, src, rotations, options.direction)) {
      dst = without_unused_strides(dst);
      src = without_unused_strides(src);
      auto status = check_rotate(dst, src, rotations, options.direction);
      if (!status) return status;
    }
    return apply(std::array{Transfer{.dst = dst, .src = src}}, rotations, options);
  });
}

Status rotate_qk(HeadsView q, HeadsView k, const Rotations& rotations,
                 RotateOptions options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    if (!is_plain_rotate_qk(q, k, rotations, options.direction)) {
      q = without_unused_strides(q);
      k = without_unused_strides(k);
      auto status = check_rotate_qk(q, k, rotations, options.direction);
      if (!status) return status;
    }
    return apply(std::array{Transfer{.dst = q, .src = q}, Transfer{.dst = k, .src = k}}, rotations,
                 options);
  });
}

}  // namespace rotary
