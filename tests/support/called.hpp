// SPDX-License-Identifier: Apache-2.0
// The calls that tables of refusals make: those of the library, and, in the tests of cuda/, those
// of a device, which refuse the same with the same words. Suites named OfTheCpuAlone hold the rest.
#pragma once

#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"

namespace rotary::test::called {

[[nodiscard]] Status rotate(const HeadsView& dst, const ConstHeadsView& src,
                            const Rotations& rotations, const RotateOptions& options);
[[nodiscard]] Status rotate_qk(const HeadsView& q, const HeadsView& k, const Rotations& rotations);
[[nodiscard]] Status append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
                            const AppendOptions& options);
[[nodiscard]] Status shift(const HeadsView& keys, const RotatedAt& from, const RotatedAt& to);
// Takes somebody's rows.
[[nodiscard]] Status rows(const HeadWindow& window, const CosSinView& view);

}  // namespace rotary::test::called
