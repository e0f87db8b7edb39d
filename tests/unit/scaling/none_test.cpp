// SPDX-License-Identifier: Apache-2.0
// The unscaled frequencies, which every rule starts from.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_as_reference;
using test::expect_as_reference_for_many_specs;
using test::spec_with;

TEST(NoScalingRule, AsReference) {
  expect_as_reference_for_many_specs(NoScaling{});
  expect_as_reference(spec_with(1e300, 128, NoScaling{}));
}

}  // namespace
}  // namespace rotary
