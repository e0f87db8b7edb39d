// SPDX-License-Identifier: Apache-2.0
// Sizes of the configuration classes of Transformers, which the language model's config within
// another leaves out where its values are the class's: LLaVA 1.5, Qwen2-Audio, Idefics. A config of
// its own must state them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rotary {

struct ClassSizes {
  std::string_view model_type;
  std::int64_t hidden_size;
  std::int64_t heads;
  std::int64_t layers;
  std::int64_t positions;                 // max_position_embeddings; 0: the class has none
  std::int64_t head_dim = 0;              // 0: the family's
  std::optional<double> rope_theta = {};  // absent: the family's
};

// Those of a wrapper that gives its language model's class values of its own, or else of the class.
// Null if neither is known.
[[nodiscard]] const ClassSizes* class_sizes(std::string_view wrapper, std::string_view model_type);

}  // namespace rotary
