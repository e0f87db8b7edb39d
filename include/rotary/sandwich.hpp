// SPDX-License-Identifier: Apache-2.0
// Sandwich: the inner product of two sinusoidal embeddings as a bias, nothing learned. Chi et al.
// 2023 (arXiv 2212.10356), as NeMo computes it (sandwich_relative_position_embedding.py).
//
//   const RelativeBias bias = Sandwich{.dim = 128, .heads = 8};
#pragma once

#include <cstdint>
#include <string_view>

#include "rotary/describe.hpp"

namespace rotary {

// (Σ_{k=1}^{dim/2} cos((i - j) base^(-2k/dim)) - dim/2) heads / (8 (head + 1)): k begins at 1, and
// distance 0 has bias 0.
struct Sandwich {
  std::int64_t dim = 0;    // even, in [2, 2^16]; NeMo: that of one head
  double base = 10000;     // finite, >= 1
  std::int64_t heads = 0;  // in [1, 2^20]

  friend bool operator==(const Sandwich&, const Sandwich&) = default;
};

template <>
struct Describe<Sandwich> {
  static constexpr std::string_view name = "sandwich";
  static std::int64_t heads(const Sandwich& of) noexcept { return of.heads; }
  static std::int64_t units(const Sandwich&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    constexpr auto setting = ParameterKind::setting;
    visit(ParameterFacts{.name = "dim", .kind = setting, .meaning = "twice the frequencies"},
          self.dim);
    visit(ParameterFacts{.name = "base",
                         .kind = setting,
                         .bounds = {1, 0x1.fffffffffffffp1023, "finite and >= 1"},
                         .meaning = "base of the frequencies"},
          self.base);
    visit(ParameterFacts{.name = "heads", .kind = setting, .meaning = "heads here"}, self.heads);
  }
};

}  // namespace rotary
