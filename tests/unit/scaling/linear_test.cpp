// SPDX-License-Identifier: Apache-2.0
// Position interpolation.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_as_reference_for_many_specs;

TEST(LinearRule, AsReference) {
  for (const double factor : {1.0, 4.0, 8.0, 0.5, 1e-6, 1e6, 3.3}) {
    expect_as_reference_for_many_specs(LinearScaling{.factor = factor});
  }
}

}  // namespace
}  // namespace rotary
