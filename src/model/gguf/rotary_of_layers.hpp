// SPDX-License-Identifier: Apache-2.0
// The rotary embeddings of a GGUF file's model, as llama.cpp computes them.
#pragma once

#include <cstdint>
#include <optional>

#include "model/gguf/architectures.hpp"
#include "model/gguf/flags.hpp"
#include "model/gguf/keys.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

struct GgufModelFile {
  const GgufMetadata& metadata;
  const GgufArchitecture& row;
  const GgufKeys& keys;
  const GgufOptions& options;
  const LlamaCppFlags& flags;
};

// Null if the file has no such rope tensor.
[[nodiscard]] const GgufTensor* find_tensor(const GgufModelFile& file, std::string_view name);

enum class LayerKind { full, sliding };

struct LayerRope {
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t nope_head_dim = 0;  // MLA
  double base = 0;
  double factor = 1;      // divides positions
  double ext_factor = 0;  // of YaRN; 0: none
  double beta_fast = 32;
  double beta_slow = 1;
  std::int64_t original_context_tokens = 0;
  double attention_factor = 1;  // on cos and sin
  double alpha = 0;             // > 0: enlarges the base
  bool has_factors = true;      // the file's rope tensors apply to these layers
  double softmax_factor = 1;

  friend bool operator==(const LayerRope&, const LayerRope&) = default;
};

// Reads one kind of layers, and the sources of widths and base. Errors and warnings go to
// file.keys.findings().
[[nodiscard]] LayerRope read_layer_rope(const GgufModelFile& file, LayerKind kind,
                                        Sources& sources);

// The rotary embedding of layers with these sources. Errors and warnings go to
// file.keys.findings().
[[nodiscard]] std::optional<ModelRotary> rotary_of(const GgufModelFile& file,
                                                   const LayerRope& layer, Sources sources);

// The rope type, which may depend on the file's sections.
[[nodiscard]] RopeType rope_type_of(const GgufModelFile& file);

}  // namespace rotary
