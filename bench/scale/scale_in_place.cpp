// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/scale/scale_in_place.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway requires.
#include <hwy/highway.h>

#include "bench/scale/scale_in_place.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void scale(float* data, std::size_t count, float factor) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (std::size_t v = 0; v < 4; ++v) {
      float* const at = data + i + v * lanes;
      hn::StoreU(hn::Mul(hn::LoadU(d, at), by), d, at);
    }
  }
  for (; i < count; ++i) data[i] *= factor;
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rotary::bench {

HWY_EXPORT(scale);

void scale_in_place(float* data, std::size_t count, float factor) {
  HWY_DYNAMIC_DISPATCH(scale)(data, count, factor);
}

}  // namespace rotary::bench
#endif  // HWY_ONCE
