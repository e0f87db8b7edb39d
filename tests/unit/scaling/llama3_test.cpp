// SPDX-License-Identifier: Apache-2.0
// Llama 3.1: three bands of wavelengths.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_as_reference_for_many_specs;
using test::expect_refused;
using test::with;

TEST(Llama3Rule, AsReference) {
  const Llama3Scaling llama31{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  expect_as_reference_for_many_specs(llama31);
  Llama3Scaling llama32 = llama31;
  llama32.factor = 32;
  expect_as_reference_for_many_specs(llama32);
  Llama3Scaling empty_band = llama31;
  empty_band.high_freq_factor = 1;  // Llama 4 Scout: nothing is blended
  empty_band.factor = 16;
  expect_as_reference_for_many_specs(empty_band);
  for (const std::int64_t context : {std::int64_t{1}, std::int64_t{1} << 40}) {
    Llama3Scaling extreme = llama31;
    extreme.original_context_tokens = context;
    expect_as_reference_for_many_specs(extreme);
  }
}

TEST(Llama3Rule, Refusals) {
  const Llama3Scaling good{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  expect_refused(with(good, &Llama3Scaling::high_freq_factor, 0.5),
                 {"high_freq_factor must be >= low_freq_factor", "0.5"});
}

}  // namespace
}  // namespace rotary
