// SPDX-License-Identifier: Apache-2.0
// TISA: translation-invariant self-attention, a sum of learned bumps over the distance for each
// head. Wennberg & Henter 2021 (arXiv 2106.01950), equation 5.
//
//   const RelativeBias bias = Tisa{.kernels = 1, .a = {2.0}, .b = {0.5}, .c = {-3.0}};  // 1 head
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rotary/describe.hpp"

namespace rotary {

// Σ_s a_s exp(-|b_s| (Δ - c_s)²), Δ = j - i of a query at i and a key at j.
struct Tisa {
  std::int64_t kernels = 0;    // bumps of each head, in [1, 2^20]; 5 in the paper
  std::vector<double> a = {};  // [heads][kernels], from -2^256 to 2^256: heights
  std::vector<double> b = {};  // the same: how narrow; its sign means nothing
  std::vector<double> c = {};  // the same: the distance, in tokens, at which a bump stands

  friend bool operator==(const Tisa&, const Tisa&) = default;
};

template <>
struct Describe<Tisa> {
  static constexpr std::string_view name = "tisa";
  static std::int64_t heads(const Tisa& of) noexcept {
    return of.kernels < 1 ? 0 : static_cast<std::int64_t>(of.a.size()) / of.kernels;
  }
  static std::int64_t units(const Tisa& of) noexcept { return of.kernels; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    constexpr auto each = ParameterShape::heads_by_units;
    visit(ParameterFacts{.name = "kernels",
                         .shape = ParameterShape::units,
                         .kind = ParameterKind::setting,
                         .meaning = "bumps of each head"},
          self.kernels);
    // tisa.py of ulmewennberg/tisa, _init_weights.
    visit(ParameterFacts{.name = "a",
                         .shape = each,
                         .meaning = "height of each bump",
                         .start = {StartKind::normal, 0.1, 0.01}},
          self.a);
    visit(ParameterFacts{.name = "b",
                         .shape = each,
                         .meaning = "how narrow each bump is",
                         .start = {StartKind::normal, 0.1, 0.01}},
          self.b);
    visit(ParameterFacts{.name = "c",
                         .shape = each,
                         .meaning = "distance of each bump, tokens",
                         .start = {StartKind::normal, 0, 5}},
          self.c);
  }
};

}  // namespace rotary
