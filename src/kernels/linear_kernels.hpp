// SPDX-License-Identifier: Apache-2.0
// The contract of the kernels of linear attention: small matrix products, feature maps, sums. As
// kernels.hpp: pointers and sizes; they neither allocate nor fail. Real is float, or double where
// the tensors are f64.
#pragma once

#include <cstdint>

namespace rotary::kernels {

// What a product is added to.
enum class AddTo { nothing, result };

// result[row][column] = [result[row][column] +] Σ_i a[row][i] b[i][column], i ascending, each
// product and sum fused where the instruction set fuses. Strides in elements.
template <class Real>
struct ProductJob {
  const Real* a;  // element (row, i) at a + row * a_row_stride + i * a_inner_stride
  std::int64_t a_row_stride;
  std::int64_t a_inner_stride;
  const Real* b;
  std::int64_t b_row_stride;
  Real* result;
  std::int64_t result_row_stride;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;  // a multiple of lane_multiple (kernels.hpp)
  AddTo add_to;
};

// On runs of count elements; of two runs neither may be the other.
template <class Real>
struct LinearMath {
  void (*multiply)(const ProductJob<Real>& job);
  // The largest, -Inf of none. Of a NaN: anything.
  Real (*largest)(const Real* row, std::int64_t count);
  // row[i] = e^(row[i] - reduced_by), which is at most 0; below 2^-126 (double: 2^-1022) 0.
  void (*exponentials)(Real* row, std::int64_t count, Real reduced_by);
  // count: a multiple of lane_multiple. In an order that depends on count alone.
  Real (*dot)(const Real* a, const Real* b, std::int64_t count);
  void (*add)(const Real* row, double* sums, std::int64_t count);        // sums += row
  void (*scale)(double* sums, std::int64_t count, double by);            // sums *= by
  void (*round)(const double* sums, Real* rounded, std::int64_t count);  // to nearest even
};

// The same for elements of one dtype, which are side by side.
template <class Real>
struct LinearElements {
  void (*widen)(const void* src, Real* dst, std::int64_t count);
  void (*elu_plus_one)(const void* src, Real* dst, std::int64_t count);
  void (*divide)(const Real* src, Real by, void* dst, std::int64_t count);  // rounded once more
};

struct LinearKernels {
  LinearMath<float> f32;
  LinearMath<double> f64;
  LinearElements<float> f32_elements;
  LinearElements<float> bf16_elements;
  LinearElements<float> f16_elements;
  LinearElements<double> f64_elements;
};

}  // namespace rotary::kernels
