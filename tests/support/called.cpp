// SPDX-License-Identifier: Apache-2.0
#include "support/called.hpp"

namespace rotary::test {

Status called::rotate(const HeadsView& dst, const ConstHeadsView& src, const Rotations& rotations,
                      const RotateOptions& options) {
  return rotary::rotate(dst, src, rotations, options);
}

Status called::rotate_qk(const HeadsView& q, const HeadsView& k, const Rotations& rotations) {
  return rotary::rotate_qk(q, k, rotations);
}

Status called::append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
                      const AppendOptions& options) {
  return rotary::append(cache, heads, slots, options);
}

Status called::shift(const HeadsView& keys, const RotatedAt& from, const RotatedAt& to) {
  return rotary::shift(keys, from, to);
}

Status called::rows(const HeadWindow& window, const CosSinView& view) {
  const auto made = make_rotations(window, view);
  if (!made) return made.error();
  return {};
}

}  // namespace rotary::test
