// SPDX-License-Identifier: Apache-2.0
#include "fuzz/frequencies_cache.hpp"

#include <map>
#include <utility>

#include "fuzz/check.hpp"

namespace rotary::fuzz {
namespace {

RotarySpec spec_of(const HeadWindow& window, std::int64_t kind) {
  RotarySpec spec{.head_dim = window.head_dim,
                  .rotary_dim = window.rotary_dim,
                  .first_feature = window.first_feature,
                  .base = 10000.0,
                  .pairing = window.pairing};
  switch (kind) {
    case 1:
      spec.base = 500000.0;
      spec.scaling = Llama3Scaling{.factor = 8,
                                   .low_freq_factor = 1,
                                   .high_freq_factor = 4,
                                   .original_context_tokens = 8192};
      break;
    case 2:  // A = 0.1 ln 4 + 1
      spec.scaling = YarnScaling{.factor = 4, .original_context_tokens = 4096};
      break;
    case 3:  // A < 1
      spec.scaling = YarnScaling{
          .factor = 2.5, .original_context_tokens = 64, .attention_factor = 0x1.b0c9fp-2};
      break;
    case 4:
      spec.base = 1.001;
      spec.scaling = LinearScaling{.factor = 3};
      break;
    case first_recipe:
    case first_recipe + 1:
    case first_recipe + 2:
    case first_recipe + 3:
      spec.numerics = Numerics::transformers;
      spec.rounding = all_roundings[static_cast<std::size_t>(kind - first_recipe)];
      break;
    case ggml_kind:
      spec.numerics = Numerics::ggml;
      break;
    case xpos_kind:
      spec.xpos = Xpos{};
      break;
    default:
      break;
  }
  return spec;
}

}  // namespace

const Frequencies& frequencies_of(const HeadWindow& window, std::int64_t kind) {
  static std::map<std::pair<std::int64_t, std::int64_t>, Frequencies> made;
  const std::pair key(window.pairs(), kind);
  auto found = made.find(key);
  if (found == made.end()) {
    auto frequencies = make_frequencies(spec_of(window, kind));
    if (!frequencies) fail("the spec must be valid", frequencies.error().message);
    found = made.emplace(key, *std::move(frequencies)).first;
  }
  found->second.window = window;
  return found->second;
}

}  // namespace rotary::fuzz
