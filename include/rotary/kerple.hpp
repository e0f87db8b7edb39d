// SPDX-License-Identifier: Apache-2.0
// KERPLE: relative biases from conditionally positive definite kernels, with two learned numbers
// for each head. Chi et al. 2022 (arXiv 2205.09921); chijames/KERPLE, megatron/mpu/layers.py.
//
//   const RelativeBias bias = KerpleLog{.p = {1, 1}, .a = {0.5, 0.25}};  // 2 heads
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rotary/describe.hpp"
#include "rotary/export.h"

namespace rotary {

// -p ln(1 + a |i - j|).
struct KerpleLog {
  std::vector<double> p = {};  // [heads], in (0, 2^256]
  std::vector<double> a = {};  // [heads], in (0, 2^256]

  friend bool operator==(const KerpleLog&, const KerpleLog&) = default;
};

// -a |i - j|^p.
struct KerplePower {
  std::vector<double> a = {};  // [heads], in (0, 2^256]
  std::vector<double> p = {};  // [heads], in (0, 2]

  friend bool operator==(const KerplePower&, const KerplePower&) = default;
};

template <>
struct Describe<KerpleLog> {
  static constexpr std::string_view name = "kerple_log";
  static std::int64_t heads(const KerpleLog& of) noexcept {
    return static_cast<std::int64_t>(of.p.size());
  }
  static std::int64_t units(const KerpleLog&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(ParameterFacts{.name = "p",
                         .shape = ParameterShape::heads,
                         .bounds = positive_number,
                         .meaning = "how strongly distance counts",
                         .start = {StartKind::uniform, 0, 2}},
          self.p);
    visit(ParameterFacts{.name = "a",
                         .shape = ParameterShape::heads,
                         .bounds = positive_number,
                         .meaning = "distances per unit of the logarithm",
                         .start = {StartKind::uniform, 0, 1}},
          self.a);
  }
};

template <>
struct Describe<KerplePower> {
  static constexpr std::string_view name = "kerple_power";
  static std::int64_t heads(const KerplePower& of) noexcept {
    return static_cast<std::int64_t>(of.p.size());
  }
  static std::int64_t units(const KerplePower&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(ParameterFacts{.name = "a",
                         .shape = ParameterShape::heads,
                         .bounds = positive_number,
                         .meaning = "how strongly distance counts",
                         .start = {StartKind::uniform, 0, 1}},
          self.a);
    visit(ParameterFacts{.name = "p",
                         .shape = ParameterShape::heads,
                         .bounds = {0x1p-1074, 2, "> 0 and <= 2"},
                         .meaning = "power of the distance; beyond 2 the kernel is not "
                                    "conditionally positive definite",
                         .start = {StartKind::uniform, 0, 2}},
          self.p);
  }
};

// The numbers as the authors' code limits them before each use: at least 0.01, the exponent of the
// power at most 2; the others at most 2^256, which is ours. NaN stays.
[[nodiscard]] ROTARY_API KerpleLog clamped(KerpleLog kerple) noexcept;
[[nodiscard]] ROTARY_API KerplePower clamped(KerplePower kerple) noexcept;

}  // namespace rotary
