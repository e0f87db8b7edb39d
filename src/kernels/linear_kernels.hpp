// SPDX-License-Identifier: Apache-2.0
// The contract of the kernels for linear attention, which extends kernels.hpp: small matrix
// products, feature maps, sums. Real is float, or double if the tensors are f64.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace rotary::kernels {

// Start of a product: 0 or the result itself.
enum class AddTo { nothing, result };

// result[row][column] = [result[row][column] +] Σ_i a[row][i] b[i][column], i ascending. Uses fused
// multiply-adds if the instruction set has them. Strides count elements.
template <class Real>
struct ProductJob {
  const Real* a;  // element (row, i) at a + row * a_row_stride + i * a_inner_stride
  std::int64_t a_row_stride;
  std::int64_t a_inner_stride = 1;
  const Real* b;
  std::int64_t b_row_stride;
  Real* result;
  std::int64_t result_row_stride;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;  // a multiple of lane_multiple (kernels.hpp)
  AddTo add_to = AddTo::nothing;
};

// A matrix product, and functions on `count` adjacent elements. No arguments may share memory.
template <class Real>
struct LinearMath {
  void (*multiply)(const ProductJob<Real>& job);
  // Returns the largest element, or -Inf if there is none. Undefined if an element is NaN.
  Real (*largest)(const Real* row, std::int64_t count);
  // row[i] = e^(row[i] - reduced_by). Results below 2^-126 (double: 2^-1022) become 0. Requires
  // exponents of at most 0.
  void (*exponentials)(Real* row, std::int64_t count, Real reduced_by);
  // count: a multiple of lane_multiple. The order of summation depends only on count.
  Real (*dot)(const Real* a, const Real* b, std::int64_t count);
  void (*add)(const Real* row, double* sums, std::int64_t count);        // sums += row
  void (*scale)(double* sums, std::int64_t count, double by);            // sums *= by
  void (*round)(const double* sums, Real* rounded, std::int64_t count);  // to nearest even
};

// Functions on adjacent elements of one dtype.
template <class Real>
struct LinearElements {
  void (*widen)(const void* src, Real* dst, std::int64_t count);
  void (*elu_plus_one)(const void* src, Real* dst, std::int64_t count);
  void (*divide)(const Real* src, Real by, void* dst, std::int64_t count);  // dst = src / by
};

struct LinearKernels {
  LinearMath<float> f32;
  LinearMath<double> f64;
  PerDType<LinearElements<float>> elements;
  LinearElements<double> f64_elements;
};

}  // namespace rotary::kernels
