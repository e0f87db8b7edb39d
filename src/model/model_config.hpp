// SPDX-License-Identifier: Apache-2.0
// The values of a config outside its rope dictionaries, under the names of its family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/families.hpp"
#include "model/families/class_sizes.hpp"
#include "model/json/reader.hpp"
#include "model/rope/rope_layout.hpp"
#include "model/sources.hpp"

namespace rotary {

// Far more layers than any model has, to limit memory.
inline constexpr std::int64_t max_layers = 100'000;

struct ModelConfig {
  Reader& reader;
  const Family& family;
  const ClassSizes* sizes = nullptr;         // for sizes that the config lacks; null: unknown
  LayerEncoding encoding = family.encoding;  // of attention layers
  Pairing pairing = family.pairing;
  std::int64_t head_dim = 0;
  std::int64_t full_head_dim = 0;          // for full layers
  std::int64_t nope_head_dim = 0;          // see ModelRotary
  std::int64_t sliding_nope_head_dim = 0;  // for sliding layers
  std::optional<std::int64_t> layers = {};
  std::optional<std::int64_t> max_position_embeddings = {};
  std::optional<std::int64_t> original_max_position_embeddings = {};
  std::optional<double> rope_theta = {};
  std::string_view base_key = {};  // the key of rope_theta
  std::optional<double> partial_rotary_factor = {};
  std::string_view fraction_key = {};  // the key of partial_rotary_factor
  std::optional<std::int64_t> rotary_dim = {};
  std::vector<std::string> layer_types = {};  // one for each layer, or empty
  RopeLayout layout = {};                     // rotary models only
  Sources rotary_sources = {};                // of values that all embeddings share
  Sources full_head_sources = {};             // of full_head_dim
  Sources model_sources = {};                 // of ModelSpec
};

// Adds errors for unknown keys about rope or rotary, and warnings for known keys that the family
// does not read. After an error, later values are missing.
[[nodiscard]] ModelConfig read_model_config(Reader& reader, const Family& family,
                                            const ClassSizes* sizes = nullptr);

// A size: its name in Sources, the name of its key, and its default.
struct SizeFacts {
  std::string_view value;
  std::string_view ConfigKeys::*key;
  std::int64_t ClassSizes::*of_class;
};

inline constexpr SizeFacts hidden_size_facts = {"dim", &ConfigKeys::hidden_size,
                                                &ClassSizes::hidden_size};

// A size of the config or else of its class; nothing if neither has it. A size below 1 is an error.
[[nodiscard]] std::optional<std::int64_t> read_size(const ModelConfig& config,
                                                    const SizeFacts& facts, Sources& sources);

}  // namespace rotary
