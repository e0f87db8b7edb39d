// SPDX-License-Identifier: Apache-2.0
// Feature maps on a chunk of tokens of one head. Exponential maps take two steps: first the
// exponents, then exponentials relative to the largest exponent.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "attention/linear/linear_head.hpp"
#include "attention/linear/linear_memory.hpp"
#include "kernels/linear_kernels.hpp"
#include "runtime/of_dtype.hpp"

namespace rotary {

struct HeadTokens {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t count() const noexcept { return end - begin; }
};

template <class View>
[[nodiscard]] auto* element_of(const View& view, const HeadTokens& at, std::int64_t token) {
  using Byte = std::conditional_t<std::is_same_v<View, HeadsView>, std::byte, const std::byte>;
  const Strides& s = view.strides;
  return static_cast<Byte*>(view.data) +
         (at.batch * s.batch + token * s.token + at.head * s.head) * size_in_bytes(view.dtype);
}

template <class Real>
[[nodiscard]] const kernels::LinearMath<Real>& math_of(const kernels::LinearKernels& kernels) {
  if constexpr (std::is_same_v<Real, double>) {
    return kernels.f64;
  } else {
    return kernels.f32;
  }
}

template <class Real>
[[nodiscard]] const kernels::LinearElements<Real>& elements_of(
    const kernels::LinearKernels& kernels, DType dtype) {
  if constexpr (std::is_same_v<Real, double>) {
    return kernels.f64_elements;
  } else {
    return of_dtype(kernels.elements, dtype);
  }
}

// One double per token of a chunk.
using OfTokens = std::array<double, most_tokens_at_once>;

template <class Real>
class Features {
 public:
  Features(const LinearCall& call, const LinearMemory<Real>& memory)
      : call_(call),
        memory_(memory),
        math_(math_of<Real>(*call.kernels.linear)),
        elements_(elements_of<Real>(*call.kernels.linear, call.out.dtype)),
        random_(std::get_if<PositiveRandomFeatures>(&call.map)),
        row_(call.sizes.row()) {
    if (random_ != nullptr) load_directions();
  }

  [[nodiscard]] bool are_exponentials() const noexcept {
    return !std::holds_alternative<EluPlusOne>(call_.map) && call_.sizes.features > 0;
  }

  // Writes φ(q).
  void map_queries(const HeadTokens& tokens, Real* rows) const {
    if (!are_exponentials()) return map_elu(call_.heads.q, tokens, rows);
    load_exponents(call_.heads.q, tokens, rows);
    const std::int64_t features = call_.sizes.features;
    for (std::int64_t t = 0; t < tokens.count(); ++t) {
      Real* const row = rows + t * row_;
      math_.exponentials(row, features, math_.largest(row, features));
    }
  }

  // Writes elu(k) + 1.
  void map_keys(const HeadTokens& tokens, Real* rows) const {
    map_elu(call_.heads.k, tokens, rows);
  }

  // For each key: its largest exponent before (highest) and after (largest) subtracting |y|²/2.
  struct Exponents {
    OfTokens highest;
    OfTokens largest;
  };
  void load_key_exponents(const HeadTokens& tokens, Real* rows, Exponents& exponents) const {
    load_exponents(call_.heads.k, tokens, rows);
    for (std::int64_t t = 0; t < tokens.count(); ++t) {
      const auto i = static_cast<std::size_t>(t);
      exponents.highest[i] = math_.largest(rows + t * row_, call_.sizes.features);
      exponents.largest[i] = exponents.highest[i] - half_square(t);
    }
  }

  // Turns exponents into ϕ(k) / e^largest for tokens [0, count). `largest` must be at least every
  // token's exponents.largest.
  void map_exponents(Real* rows, std::int64_t count, const Exponents& exponents,
                     double largest) const {
    for (std::int64_t t = 0; t < count; ++t) {
      const auto i = static_cast<std::size_t>(t);
      // At least the row's largest exponent, so that no exponential exceeds 1.
      const double reduced_by = exponents.highest[i] + (largest - exponents.largest[i]);
      math_.exponentials(rows + t * row_, call_.sizes.features, static_cast<Real>(reduced_by));
    }
  }

 private:
  void load_directions() const {
    const double root = std::sqrt(random_->softmax_scale);
    const std::int64_t features = call_.sizes.features;
    for (std::int64_t d = 0; d < call_.sizes.directions; ++d) {
      for (std::int64_t r = 0; r < features; ++r) {
        const double direction = random_->directions[static_cast<std::size_t>(d * features + r)];
        memory_.directions[d * row_ + r] = static_cast<Real>(root * direction);
      }
    }
  }

  void map_elu(const ConstHeadsView& view, const HeadTokens& tokens, Real* rows) const {
    for (std::int64_t t = 0; t < tokens.count(); ++t) {
      elements_.elu_plus_one(element_of(view, tokens, tokens.begin + t), rows + t * row_,
                             call_.sizes.features);
    }
  }

  // Loads the elements themselves, or their projections w·y.
  void load_exponents(const ConstHeadsView& view, const HeadTokens& tokens, Real* rows) const {
    const std::int64_t x_row = random_ == nullptr ? row_ : padded(call_.sizes.directions);
    Real* const x = random_ == nullptr ? rows : memory_.x;
    for (std::int64_t t = 0; t < tokens.count(); ++t) {
      elements_.widen(element_of(view, tokens, tokens.begin + t), x + t * x_row,
                      view.extents.features);
    }
    if (random_ == nullptr) return;
    math_.multiply({.a = x,
                    .a_row_stride = x_row,
                    .b = memory_.directions,
                    .b_row_stride = row_,
                    .result = rows,
                    .result_row_stride = row_,
                    .rows = tokens.count(),
                    .inner = call_.sizes.directions,
                    .columns = row_});
  }

  // |y|²/2 of a token, computed from x, which load_exponents() left in memory.
  [[nodiscard]] double half_square(std::int64_t token) const {
    if (random_ == nullptr) return 0;
    const std::int64_t x_row = padded(call_.sizes.directions);
    const Real* const x = memory_.x + token * x_row;
    return 0.5 * random_->softmax_scale * static_cast<double>(math_.dot(x, x, x_row));
  }

  const LinearCall& call_;
  const LinearMemory<Real>& memory_;
  const kernels::LinearMath<Real>& math_;
  const kernels::LinearElements<Real>& elements_;
  const PositiveRandomFeatures* random_;
  std::int64_t row_;
};

}  // namespace rotary
