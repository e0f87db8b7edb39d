// SPDX-License-Identifier: Apache-2.0
// The properties of the library on generated inputs. A failure prints the smallest input that
// RapidCheck found and how to repeat it (RC_PARAMS).
#include "properties/properties.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rotary::test {
namespace {

SampleShape generate_shape() {
  constexpr std::int64_t far = std::int64_t{1} << 40;
  const auto position = [](const char* name) {
    return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-5000, 5001),
                           rc::gen::inRange<std::int64_t>(-far, far + 1))
                .as(name);
  };
  const auto pairing = *rc::gen::inRange<std::size_t>(0, all_pairings.size()).as("pairing");
  return {.pairs = *rc::gen::inRange<std::int64_t>(1, 70).as("pairs"),
          .features_before = *rc::gen::inRange<std::int64_t>(0, 6).as("features before"),
          .features_after = *rc::gen::inRange<std::int64_t>(0, 6).as("features after"),
          .pairing = all_pairings[pairing],
          .base = *rc::gen::element(10000.0, 2.0, 500000.0, 1e7).as("base"),
          .attention_factor = *rc::gen::element(1.0, 1.3465735902799727, 0.5).as("A"),
          .position = position("position"),
          .other_position = position("other position"),
          .shift = position("shift"),
          .seed = *rc::gen::arbitrary<std::uint64_t>().as("seed")};
}

void expect_of_library(Broken (*property)(const Implementation&, const Sample&)) {
  if (const Broken broken = property(library, make_sample(generate_shape()))) RC_FAIL(*broken);
}

RC_GTEST_PROP(Properties, KeepsNorm, ()) { expect_of_library(keeps_norm); }
RC_GTEST_PROP(Properties, DependsOnDistanceAlone, ()) {
  expect_of_library(depends_on_distance_alone);
}
RC_GTEST_PROP(Properties, Composes, ()) { expect_of_library(composes); }
RC_GTEST_PROP(Properties, InverseUndoes, ()) { expect_of_library(inverse_undoes); }
RC_GTEST_PROP(Properties, TransposeIsAdjoint, ()) { expect_of_library(transpose_is_adjoint); }
RC_GTEST_PROP(Properties, HalfIsPermutedInterleaved, ()) {
  expect_of_library(half_is_permuted_interleaved);
}
RC_GTEST_PROP(Properties, InterleavedToHalfIsInterleavedThenPermuted, ()) {
  expect_of_library(to_half_is_interleaved_then_permuted);
}
RC_GTEST_PROP(Properties, AgreesWithReference, ()) { expect_of_library(agrees_with_reference); }

}  // namespace
}  // namespace rotary::test
