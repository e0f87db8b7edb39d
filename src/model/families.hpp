// SPDX-License-Identifier: Apache-2.0
// What the implementation of each model family assumes and its config does not say. Read from the
// model and configuration files of Hugging Face Transformers at c49429ed (5.16.0.dev0).
#pragma once

#include <optional>
#include <string_view>

#include "model/rope_parameters.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// Where a family takes rotary_dim from.
enum class PartialRotary {
  fraction,            // int(head_dim * fraction)
  fraction_if_scaled,  // the same, but rope_type default ignores the fraction
  dimension,           // the key rotary_dim
};

// The names under which a family's config keeps what every config has.
struct ConfigKeys {
  std::string_view hidden_size = "hidden_size";
  std::string_view heads = "num_attention_heads";
  std::string_view layers = "num_hidden_layers";
  std::string_view positions = "max_position_embeddings";
};

struct Family {
  std::string_view model_type;
  Pairing pairing;
  std::optional<double> base;  // when the config gives none; absent: the config must
  std::string_view base_key = "rope_theta";
  std::string_view fraction_key = "partial_rotary_factor";
  std::string_view other_base_key = {};  // read when base_key is absent
  std::string_view other_fraction_key = {};
  double fraction = 1;          // when the config gives none
  std::int64_t rotary_dim = 0;  // for PartialRotary::dimension, when the config gives none
  PartialRotary partial = PartialRotary::fraction_if_scaled;
  bool reads_head_dim = true;  // false: always hidden size / heads
  RopeDialect rope_dialect = RopeDialect::transformers;
  bool reads_rope_parameters = true;  // false: base fixed, no scaling
  ConfigKeys keys = {};
};

// Null for a family that is not known.
[[nodiscard]] const Family* find_family(std::string_view model_type);

// Reads every key that any family has, assumes nothing: for configs whose user states the pairing.
[[nodiscard]] Family unknown_family(Pairing pairing);

// "llama, mistral, …"
[[nodiscard]] std::string known_families();

}  // namespace rotary
