// SPDX-License-Identifier: Apache-2.0
// Merges two unfinished softmaxes of the same rows, and turns a finished one into results.

#if defined(ROTARY_KERNELS_ATTEND_FINISH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ATTEND_FINISH_INL_HPP
#undef ROTARY_KERNELS_ATTEND_FINISH_INL_HPP
#else
#define ROTARY_KERNELS_ATTEND_FINISH_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/softmax-inl.hpp"
#include "kernels/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline void merge(const MergeJob& job) {
  const hn::ScalableTag<float> d;
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const StateRow into = state_row(job.into, r, job.features);
    const StateRow from = state_row(job.from, r, job.features);
    const float max = *into.max > *from.max ? *into.max : *from.max;
    const float into_factor = exp2_of(*into.max - base_of(max));
    const float from_factor = exp2_of(*from.max - base_of(max));
    *into.max = max;
    *into.sum = *into.sum * into_factor + *from.sum * from_factor;
    const auto a = hn::Set(d, into_factor);
    const auto b = hn::Set(d, from_factor);
    for (std::int64_t f = 0; f < into.features; f += vector_lanes) {
      float* const sums = into.sums_of_values + f;
      const auto added = hn::Mul(hn::Load(d, from.sums_of_values + f), b);
      hn::Store(hn::MulAdd(hn::Load(d, sums), a, added), d, sums);
    }
    if (into.weights == nullptr) continue;
    for (std::int64_t i = -lane_multiple; i < sums_of_weights_size(into.places) - lane_multiple;
         i += vector_lanes) {
      const auto added = hn::Mul(hn::Load(d, from.weights + i), b);
      hn::Store(hn::MulAdd(hn::Load(d, into.weights + i), a, added), d, into.weights + i);
    }
  }
}

template <class T>
void finish(const FinishJob& job) {
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const StateRow row = state_row(job.state, r, job.features);
    const float divisor = *row.sum == 0.0F ? 1.0F : *row.sum;
    auto* const to = static_cast<T*>(job.heads[r]);
    const float* const sums = row.sums_of_values;
    for_each_vector(hn::ScalableTag<float>(), 0, job.features,
                    [=](auto part, std::int64_t f) HWY_ATTR {
                      const auto sum = hn::LoadU(part, sums + f);
                      store(part, hn::Div(sum, hn::Set(part, divisor)), to + f);
                    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
