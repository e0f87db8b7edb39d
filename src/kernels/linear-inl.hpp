// SPDX-License-Identifier: Apache-2.0
// Linear attention: the exponential, and products of small matrices that hold a block of the result
// in registers. e^x = 2^n e^r, where n ln 2 is subtracted from x in two steps, and |r| <= 0.35. The
// Taylor series of e^r ends where the next term is below a tenth of a rounding error
// (docs/numeric-contract.md).

#if defined(ROTARY_KERNELS_LINEAR_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_LINEAR_INL_HPP
#undef ROTARY_KERNELS_LINEAR_INL_HPP
#else
#define ROTARY_KERNELS_LINEAR_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/elements-inl.hpp"
#include "kernels/linear_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
struct Exponential;

template <>
struct Exponential<float> {
  static constexpr int degree = 7;
  static constexpr int fraction_bits = 23;
  static constexpr float least = -0x1.5d589ep6F;  // just above -126 ln 2
  static constexpr float log2_e = 0x1.715476p0F;
  static constexpr float ln2_high = 0x1.63p-1F;  // 9 bits, so products with n are exact
  static constexpr float ln2_low = -0x1.bd0106p-13F;
  static constexpr float magic = 0x1.8p23F + 127;  // adding it rounds; low bits are n + bias
  static constexpr float bias = 127;
};

template <>
struct Exponential<double> {
  static constexpr int degree = 13;
  static constexpr int fraction_bits = 52;
  static constexpr double least = -0x1.6232bdd7abcd1p9;  // just above -1022 ln 2
  static constexpr double log2_e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = 0x1.62e42feep-1;  // 32 bits
  static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double magic = 0x1.8p52 + 1023;
  static constexpr double bias = 1023;
};

// 1, 1, 1/2, 1/6, ...
template <class Real, int Degree>
struct InverseFactorials {
  Real at[Degree + 1];
  constexpr InverseFactorials() : at() {
    double factorial = 1;  // exact up to 13!
    for (int k = 0; k <= Degree; ++k) {
      if (k > 1) factorial *= k;
      at[k] = static_cast<Real>(1 / factorial);
    }
  }
};

// e^x. Requires x <= 0 or NaN; a NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> exponential(D d, hn::Vec<D> x) {
  using Real = hn::TFromD<D>;
  using C = Exponential<Real>;
  constexpr InverseFactorials<Real, C::degree> series;
  const hn::RebindToUnsigned<D> du;
  const auto least = hn::Set(d, C::least);
  const auto shifted = hn::MulAdd(hn::Max(x, least), hn::Set(d, C::log2_e), hn::Set(d, C::magic));
  const auto n = hn::Sub(shifted, hn::Set(d, C::magic));
  auto r = hn::NegMulAdd(n, hn::Set(d, C::ln2_high), x);
  r = hn::NegMulAdd(n, hn::Set(d, C::ln2_low), r);
  auto sum = hn::Set(d, series.at[C::degree]);
  for (int k = C::degree; k-- > 0;) sum = hn::MulAdd(sum, r, hn::Set(d, series.at[k]));
  const auto power = hn::BitCast(d, hn::ShiftLeft<C::fraction_bits>(hn::BitCast(du, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, least), hn::Mul(sum, power));
}

// Computes rows [row, row + Rows) and columns [column, column + Vectors * Lanes(d)) of the result.
template <std::size_t Rows, std::size_t Vectors, class D, class Real>
HWY_INLINE void multiply_block(D d, const ProductJob<Real> job, std::int64_t row,
                               std::int64_t column) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const Real* const a = job.a + row * job.a_row_stride;
  const Real* b = job.b + column;
  Real* const result = job.result + row * job.result_row_stride + column;
  hn::Vec<D> sum[Rows][Vectors];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t v = 0; v < Vectors; ++v) {
      sum[r][v] = job.add_to == AddTo::nothing
                      ? hn::Zero(d)
                      : hn::LoadU(d, result + static_cast<std::int64_t>(r) * job.result_row_stride +
                                         static_cast<std::int64_t>(v) * lanes);
    }
  }
  for (std::int64_t i = 0; i < job.inner; ++i) {
    hn::Vec<D> each[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) {
      each[v] = hn::LoadU(d, b + static_cast<std::int64_t>(v) * lanes);
    }
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto factor =
          hn::Set(d, a[static_cast<std::int64_t>(r) * job.a_row_stride + i * job.a_inner_stride]);
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[r][v] = hn::MulAdd(factor, each[v], sum[r][v]);
      }
    }
    b += job.b_row_stride;
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t v = 0; v < Vectors; ++v) {
      hn::StoreU(sum[r][v], d,
                 result + static_cast<std::int64_t>(r) * job.result_row_stride +
                     static_cast<std::int64_t>(v) * lanes);
    }
  }
}

template <std::size_t Vectors, class D, class Real>
HWY_INLINE void multiply_columns(D d, const ProductJob<Real> job, std::int64_t column) {
  constexpr std::int64_t rows_at_once = 4;
  std::int64_t row = 0;
  for (; job.rows - row >= rows_at_once; row += rows_at_once) {
    multiply_block<rows_at_once, Vectors>(d, job, row, column);
  }
  for (; row < job.rows; ++row) multiply_block<1, Vectors>(d, job, row, column);
}

template <class Real>
void multiply(const ProductJob<Real>& job) {
  const hn::ScalableTag<Real> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  constexpr std::size_t vectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // for 32 registers, or 16
  constexpr auto step = static_cast<std::int64_t>(vectors) * lanes;
  std::int64_t column = 0;
  for (; job.columns - column >= step; column += step) multiply_columns<vectors>(d, job, column);
  for (; column < job.columns; column += lanes) multiply_columns<1>(d, job, column);
}

template <class Real>
Real largest(const Real* row, std::int64_t count) {
  return largest_value(hn::ScalableTag<Real>(), 0, count, -std::numeric_limits<Real>::infinity(),
                       [row](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, row + i); });
}

template <class Real>
void exponentials(Real* row, std::int64_t count, Real reduced_by) {
  for_each_vector(hn::ScalableTag<Real>(), 0, count,
                  [row, reduced_by](auto d, std::int64_t i) HWY_ATTR {
                    const auto x = hn::Sub(hn::LoadU(d, row + i), hn::Set(d, reduced_by));
                    hn::StoreU(exponential(d, x), d, row + i);
                  });
}

template <class Real>
Real dot(const Real* a, const Real* b, std::int64_t count) {
  const hn::ScalableTag<Real> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += lanes) {
    sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Loads Real numbers as double; store_rounded() converts them back.
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const double* from) {
  return hn::LoadU(d, from);
}

template <class Real>
void add(const Real* row, double* sums, std::int64_t count) {
  for_each_vector(
      hn::ScalableTag<double>(), 0, count, [row, sums](auto d, std::int64_t i) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, sums + i), load_double(d, row + i)), d, sums + i);
      });
}

inline void scale(double* sums, std::int64_t count, double by) {
  for_each_vector(hn::ScalableTag<double>(), 0, count, [sums, by](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, sums + i), hn::Set(d, by)), d, sums + i);
  });
}

template <class Real>
void round_sums(const double* sums, Real* rounded, std::int64_t count) {
  for_each_vector(hn::ScalableTag<double>(), 0, count,
                  [sums, rounded](auto d, std::int64_t i)
                      HWY_ATTR { store_rounded(d, hn::LoadU(d, sums + i), rounded + i); });
}

template <class T>
void widen(const void* src, RealOf<T>* dst, std::int64_t count) {
  const auto* const from = static_cast<const T*>(src);
  for_each_vector(hn::ScalableTag<RealOf<T>>(), 0, count,
                  [from, dst](auto d, std::int64_t i)
                      HWY_ATTR { hn::StoreU(load(d, from + i), d, dst + i); });
}

template <class T>
void elu_plus_one(const void* src, RealOf<T>* dst, std::int64_t count) {
  const auto* const from = static_cast<const T*>(src);
  for_each_vector(hn::ScalableTag<RealOf<T>>(), 0, count,
                  [from, dst](auto d, std::int64_t i) HWY_ATTR {
                    const auto x = load(d, from + i);
                    const auto above = hn::Add(x, hn::Set(d, 1));
                    const auto is_above = hn::Gt(x, hn::Zero(d));
                    // Keeps x > 0 from the exponential, which would overflow.
                    const auto below = exponential(d, hn::IfThenZeroElse(is_above, x));
                    hn::StoreU(hn::IfThenElse(is_above, above, below), d, dst + i);
                  });
}

template <class T>
void divide(const RealOf<T>* src, RealOf<T> by, void* dst, std::int64_t count) {
  auto* const to = static_cast<T*>(dst);
  for_each_vector(hn::ScalableTag<RealOf<T>>(), 0, count,
                  [src, by, to](auto d, std::int64_t i) HWY_ATTR {
                    store(d, hn::Div(hn::LoadU(d, src + i), hn::Set(d, by)), to + i);
                  });
}

template <class Real>
constexpr LinearMath<Real> linear_math{.multiply = multiply<Real>,
                                       .largest = largest<Real>,
                                       .exponentials = exponentials<Real>,
                                       .dot = dot<Real>,
                                       .add = add<Real>,
                                       .scale = scale,
                                       .round = round_sums<Real>};

template <class T>
constexpr LinearElements<RealOf<T>> linear_elements{
    .widen = widen<T>, .elu_plus_one = elu_plus_one<T>, .divide = divide<T>};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
