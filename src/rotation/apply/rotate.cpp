// SPDX-License-Identifier: Apache-2.0
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

// A call with a plain direction and plain views (plain_view.hpp) skips the checks of
// rotate_checks.hpp, which saves about 100 ns.
bool is_plain(Direction direction) {
  return direction == Direction::forward || direction == Direction::transpose;
}

// The bytes that a call with plain views writes and reads.
using Spans = std::array<ByteSpan, 2>;

std::optional<Spans> plain_spans(const HeadsView& in_place, const Rotations& rotations) {
  const auto span = plain_span(in_place, rotations);
  return span ? std::optional(Spans{*span, *span}) : std::nullopt;
}

std::optional<Spans> plain_spans(const Transfer& of, const Rotations& rotations) {
  const auto& [dst, src] = of;
  if (src == dst) return plain_spans(dst, rotations);
  const auto written = plain_span(dst, rotations);
  const auto read = plain_span(src, rotations);
  const bool is_plain = written && read && src.dtype == dst.dtype && src.extents == dst.extents &&
                        share_no_byte(*written, *read);
  return is_plain ? std::optional(Spans{*written, *read}) : std::nullopt;
}

bool are_apart(const Spans& q, const Spans& k) {
  return share_no_byte(q[0], k[0]) && share_no_byte(q[0], k[1]) && share_no_byte(k[0], q[1]);
}

// A call of rotate() or rotate_qk() that has passed all checks.
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
  // The product cannot overflow, because a transfer that is not empty has fewer than 2^63 elements.
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

Transfer transfer_of(const HeadsView& in_place) { return {.dst = in_place, .src = in_place}; }
const Transfer& transfer_of(const Transfer& of) { return of; }

Transfer without_unused(const Transfer& of) {
  return {.dst = without_unused_strides(of.dst), .src = without_unused_strides(of.src)};
}

// View: a Transfer, or the HeadsView of a call in place.
template <class View>
Status rotate_both(const View& q, const View& k, const Rotations& rotations,
                   const RotateOptions& options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    std::array both{transfer_of(q), transfer_of(k)};
    const auto q_spans = plain_spans(q, rotations);
    const auto k_spans = plain_spans(k, rotations);
    const bool is_plain_call = is_plain(options.direction) && !rotations.role() && q_spans &&
                               k_spans && both[0].dst.extents.batch == both[1].dst.extents.batch &&
                               are_apart(*q_spans, *k_spans);
    if (!is_plain_call) {
      for (Transfer& each : both) each = without_unused(each);
      auto status = check_rotate_qk(both[0], both[1], rotations, options.direction);
      if (!status) return status;
    }
    return apply(both, rotations, options);
  });
}

}  // namespace

Status rotate(HeadsView dst, ConstHeadsView src, const Rotations& rotations,
              RotateOptions options) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    Transfer of{.dst = dst, .src = src};
    if (!is_plain(options.direction) || !plain_spans(of, rotations)) {
      of = without_unused(of);
      if (auto status = check_rotate(of, rotations, options.direction); !status) return status;
    }
    return apply({&of, 1}, rotations, options);
  });
}

Status rotate_qk(HeadsView q, HeadsView k, const Rotations& rotations,
                 RotateOptions options) noexcept {
  return rotate_both(q, k, rotations, options);
}

Status rotate_qk_into(const Transfer& q, const Transfer& k, const Rotations& rotations,
                      RotateOptions options) noexcept {
  return rotate_both(q, k, rotations, options);
}

}  // namespace rotary
