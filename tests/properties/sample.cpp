// SPDX-License-Identifier: Apache-2.0
#include "properties/sample.hpp"

#include "support/random.hpp"

namespace rotary::test {

HeadWindow Sample::window() const {
  return {.head_dim = spec.head_dim,
          .rotary_dim = *spec.rotary_dim,
          .first_feature = spec.first_feature,
          .pairing = spec.pairing};
}

Sample make_sample(const SampleShape& shape) {
  Scaling scaling = NoScaling{};
  if (shape.attention_factor != 1) {  // YaRN has an attention factor
    scaling = YarnScaling{
        .factor = 4, .original_context_tokens = 4096, .attention_factor = shape.attention_factor};
  }
  Sample sample{.spec = {.head_dim = shape.features_before + 2 * shape.pairs + shape.features_after,
                         .rotary_dim = 2 * shape.pairs,
                         .first_feature = shape.features_before,
                         .base = shape.base,
                         .pairing = shape.pairing,
                         .scaling = scaling},
                .x = {},
                .y = {},
                .position = shape.position,
                .other_position = shape.other_position,
                .shift = shape.shift};
  Random random(shape.seed);
  for (std::int64_t f = 0; f < sample.spec.head_dim; ++f) {
    sample.x.push_back(random.activation());
    sample.y.push_back(random.activation());
  }
  return sample;
}

}  // namespace rotary::test
