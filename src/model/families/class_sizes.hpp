// SPDX-License-Identifier: Apache-2.0
// Default sizes of configuration classes in Transformers. A config inside another may lack sizes:
// that of a language model (LLaVA 1.5, Qwen2-Audio, Idefics) or tower. Others must state them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rotary {

struct ClassSizes {
  std::int64_t hidden_size;
  std::int64_t heads;
  std::int64_t layers;
  std::int64_t positions;                 // max_position_embeddings; 0: the class has none
  std::int64_t head_dim = 0;              // 0: the family's
  std::optional<double> rope_theta = {};  // absent: the family's
};

// The sizes that the wrapper sets for its language model, else those of the model's class, or null.
[[nodiscard]] const ClassSizes* class_sizes(std::string_view wrapper, std::string_view model_type);

}  // namespace rotary
