// SPDX-License-Identifier: Apache-2.0
// Which layers of a GGUF file's model slide, rotate and attend.
#pragma once

#include <string>
#include <vector>

#include "model/gguf/architectures.hpp"
#include "model/gguf/keys.hpp"

namespace rotary {

struct GgufLayer {
  bool slides = false;
  bool rotates = true;
  bool attends = true;
};

struct GgufLayers {
  std::vector<GgufLayer> each;
  bool has_sliding = false;        // llama.cpp's swa_type
  Origin origin = Origin::family;  // of the facts in `each`
  std::string key = {};
};

[[nodiscard]] GgufLayers read_gguf_layers(const GgufKeys& keys, const GgufArchitecture& row);

}  // namespace rotary
