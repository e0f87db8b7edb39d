// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "public_calls/call.hpp"
#include "rotary/identify.hpp"

namespace rotary::test {
namespace {

IdentifyOptions options_of(double base) {
  IdentifyOptions options;
  options.model.emplace();
  options.model->rotary.push_back({.layer_type = {},
                                   .spec = {.head_dim = 8, .base = base, .pairing = Pairing::half},
                                   .trained_context_tokens = {}});
  options.positions = ConsecutivePositions{.first = 3, .tokens = 2};
  options.most_causes = 1;
  return options;
}

}  // namespace

Calls identify_calls() {
  static constexpr std::array<float, 16> before = {1, -2, 3, 4,  5,  -6, 7, 8,
                                                   2, 1,  0, -3, -1, 4,  9, 5};
  static constexpr std::array<float, 8> cosines = {1, 1, 1, 1, 0.5F, 0.75F, 1, 1};
  static constexpr std::array<float, 8> sines = {0, 0, 0, 0, 0.25F, 0.5F, 0, 0};
  static constexpr std::array<double, 4> frequencies = {1, 0.1, 0.01, 0.001};
  static constexpr Extents extents{.tokens = 2, .heads = 1, .features = 8};
  static constexpr ConstHeadsView view{before.data(), DType::f32, extents, strides_bthd(extents)};
  static constexpr CosSinView rows{.cos = cosines.data(),
                                   .sin = sines.data(),
                                   .dtype = DType::f32,
                                   .tokens = 2,
                                   .token_stride = 4};
  const IdentifyOptions options = options_of(10000);
  return {
      {"rotary::to_string(rotary::CauseGroup)", [] { return to_string(CauseGroup::axes); }},
      {"rotary::to_string(rotary::FoundArithmetic)",
       [] { return to_string(FoundArithmetic::exact); }},
      {"rotary::to_string(rotary::Verdict)", [] { return to_string(Verdict::described); }},
      {"rotary::identify_hypotheses(", [] { return identify_hypotheses().size(); }},
      {"rotary::identify(", [=] { return identify(view, view, options); }},
      {"rotary::identify_rows(", [of = options_of(500000)] { return identify_rows(rows, 4, of); }},
      {"rotary::identify_frequencies(",
       [=] { return identify_frequencies(frequencies, 1, options); }},
  };
}

}  // namespace rotary::test
