// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/scale/scale_in_place.cpp"
#include <hwy/foreach_target.h>
// Include after foreach_target.h, as Highway requires.
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
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, data + i), by), d, data + i);
  }
  for (; i < count; ++i) data[i] *= factor;
}

void scale_runs(const FloatRuns& values, float factor) {
  for (std::size_t run = 0; run < values.runs; ++run) {
    scale(values.data + run * values.stride, values.floats, factor);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rotary::bench {

HWY_EXPORT(scale);
HWY_EXPORT(scale_runs);

void scale_in_place(float* data, std::size_t count, float factor) {
  HWY_DYNAMIC_DISPATCH(scale)(data, count, factor);
}

void scale_runs_in_place(const FloatRuns& values, float factor) {
  HWY_DYNAMIC_DISPATCH(scale_runs)(values, factor);
}

}  // namespace rotary::bench
#endif  // HWY_ONCE
