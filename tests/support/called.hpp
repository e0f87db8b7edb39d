// SPDX-License-Identifier: Apache-2.0
// Tests of errors make these calls. The tests of cuda/ replace them with calls on the GPU, which
// must give the same messages. Suites whose names end in OfTheCpuAlone run on the CPU only.
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
// Makes rotations from the caller's cos and sin.
[[nodiscard]] Status rows(const HeadWindow& window, const CosSinView& view);

}  // namespace rotary::test::called
