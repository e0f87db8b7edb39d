// SPDX-License-Identifier: Apache-2.0
// Selects what kernels keep for each dtype.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

template <class T>
[[nodiscard]] constexpr const T& of_dtype(const kernels::PerDType<T>& all, DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      break;
    case DType::bf16:
      return all.bf16;
    case DType::f16:
      return all.f16;
    case DType::f64:
      return all.f64;
  }
  return all.f32;
}

}  // namespace rotary
