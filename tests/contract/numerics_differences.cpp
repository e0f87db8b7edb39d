// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/theory/numerics.md: the differences of other numerics from exact ones,
// relative to hypot(pair), over 64 random heads:
//     rotary_numerics_differences
// Exit code 1: Transformers' float32 differs from exact values by more than transformers_agreement.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rotary/numeric_contract.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

constexpr Extents extents{.batch = 1, .tokens = 1, .heads = 64, .features = 128};

struct Model {
  const char* name;
  RotarySpec spec;
};

struct Difference {
  double largest = 0;
  double root_mean_square = 0;
  bool within_agreement = true;
};

Tensor rotated(const RotarySpec& spec, std::int64_t position, const Tensor& src) {
  Tensor dst = src;
  const Rotations rotations = test::value_of(make_rotations(
      test::value_of(make_frequencies(spec)), ConsecutivePositions{.first = position, .tokens = 1},
      {.tensors = src.view().dtype}));
  test::require(rotate(dst.view(), dst.view(), rotations));
  return dst;
}

Difference difference(const RotarySpec& spec, std::int64_t position, DType dtype) {
  const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 51);
  RotarySpec exact_spec = spec;
  exact_spec.numerics = Numerics::exact;
  const auto frequencies = test::value_of(make_frequencies(exact_spec));
  const Tensor exact = rotated(exact_spec, position, src);
  const Tensor other = rotated(spec, position, src);
  Difference result;
  test::for_each_element(extents, [&](const HeadIndex& index, std::int64_t f) {
    const std::int64_t pair = f % (extents.features / 2);  // pairing half
    const double hypot =
        std::hypot(src.at(index, pair), src.at(index, pair + extents.features / 2));
    const double apart = std::abs(other.at(index, f) - exact.at(index, f)) / hypot;
    const double agreement = transformers_agreement(
        1, static_cast<double>(position), frequencies.inv_freq[static_cast<std::size_t>(pair)]);
    result.largest = std::max(result.largest, apart);
    result.root_mean_square += apart * apart;
    result.within_agreement = result.within_agreement && apart <= agreement;
  });
  result.root_mean_square =
      std::sqrt(result.root_mean_square / static_cast<double>(extents.heads * extents.features));
  return result;
}

// Prints the differences. Returns false if the contract's bound is broken.
bool print(const Model& model, const RotarySpec& spec, std::int64_t position) {
  bool holds = true;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Difference found = difference(spec, position, dtype);
    const std::string numerics(to_string(spec.numerics));
    const std::string rounding(spec.numerics == Numerics::transformers ? to_string(spec.rounding)
                                                                       : "");
    std::printf("%-9s %6lld  %-12s %-10s  %-4s  largest %.2g  root mean square %.2g\n", model.name,
                static_cast<long long>(position), numerics.c_str(), rounding.c_str(),
                std::string(to_string(dtype)).c_str(), found.largest, found.root_mean_square);
    const bool promised = spec.numerics == Numerics::transformers && dtype == DType::f32;
    holds = holds && (found.within_agreement || !promised);
  }
  return holds;
}

bool print_all() {
  const RotarySpec plain{.head_dim = 128, .base = 10000.0, .pairing = Pairing::half};
  RotarySpec scaled = plain;
  scaled.base = 500000.0;
  scaled.scaling = Llama3Scaling{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  bool holds = true;
  for (const Model& model : {Model{"Llama 2", plain}, Model{"Llama 3.1", scaled}}) {
    for (const std::int64_t position : {0, 1000, 4095, 32767, 131071}) {
      RotarySpec spec = model.spec;
      spec.numerics = Numerics::transformers;
      holds = print(model, spec, position) && holds;
      spec.rounding = Rounding::result;
      holds = print(model, spec, position) && holds;
      spec.numerics = Numerics::ggml;
      holds = print(model, spec, position) && holds;
    }
  }
  return holds;
}

}  // namespace
}  // namespace rotary

int main() {
  if (rotary::print_all()) return EXIT_SUCCESS;
  std::puts("a difference exceeds transformers_agreement");
  return EXIT_FAILURE;
}
