// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/rotary_of_layers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "rotary/frequencies.hpp"

namespace rotary {
namespace {

constexpr float standing_still = 1e30F;

// The factors in a tensor, one for each pair of the layer. Step 3.5 has one tensor for its widest
// layers; narrower layers take the first numbers.
std::vector<float> factors_in(const GgufModelFile& file, const GgufTensor& tensor,
                              const LayerRope& layer) {
  const auto pairs = static_cast<std::size_t>(layer.rotary_dim / 2);
  const bool has_enough =
      file.row.half_on_full ? tensor.values.size() >= pairs : tensor.values.size() == pairs;
  if (!has_enough) {
    file.keys.malformed("tensor ", tensor.name, " must have a number for each of ", pairs,
                        " pairs, got ", tensor.values.size());
    return {};
  }
  std::vector<float> factors(tensor.values.begin(), tensor.values.begin() + layer.rotary_dim / 2);
  for (const float factor : factors) {
    if (std::isfinite(factor) && factor > 0) continue;
    file.keys.malformed("numbers of tensor ", tensor.name, " must be finite and > 0, got ",
                        double{factor});
    return {};
  }
  return factors;
}

// The frequencies that ggml's operation computes, for combinations that no rule describes, such as
// a tensor's factors with YaRN, or YaRN with an ext_factor other than 1.
ExplicitScaling explicit_of(const LayerRope& layer, const std::vector<float>& factors) {
  const auto dimension = static_cast<double>(layer.rotary_dim);
  const auto pair_that_turns = [&](double turns) {
    const auto context = static_cast<double>(layer.original_context_tokens);
    return dimension * std::log(context / (turns * 2 * 3.14159265358979323846)) /
           (2 * std::log(layer.base));
  };
  const double low = std::max(0.0, std::floor(pair_that_turns(layer.beta_fast)));
  const double high = std::min(dimension - 1, std::ceil(pair_that_turns(layer.beta_slow)));
  ExplicitScaling rule{.inv_freq = {}, .attention_factor = layer.attention_factor};
  for (std::int64_t pair = 0; pair < layer.rotary_dim / 2; ++pair) {
    const auto at = static_cast<double>(pair);
    const float factor = factors.empty() ? 1.0F : factors[static_cast<std::size_t>(pair)];
    double frequency = std::pow(layer.base, -2 * at / dimension) / double{factor};
    const double ramp = std::clamp((at - low) / std::max(0.001, high - low), 0.0, 1.0);
    const double kept = layer.ext_factor == 0 ? 0 : (1 - ramp) * layer.ext_factor;
    frequency = frequency / layer.factor * (1 - kept) + frequency * kept;
    rule.inv_freq.push_back(factor >= standing_still ? 0 : frequency);
  }
  return rule;
}

// The number of leading pairs with factor 1, if there are any and the factors stop all other pairs.
std::optional<std::int64_t> turning_pairs(const std::vector<float>& factors) {
  const auto still =
      std::find_if(factors.begin(), factors.end(), [](float factor) { return factor != 1; });
  const bool rest_stands =
      std::all_of(still, factors.end(), [](float factor) { return factor >= standing_still; });
  if (!rest_stands || still == factors.begin()) return {};
  return still - factors.begin();
}

Scaling scaling_of_factors(const LayerRope& layer, const std::vector<float>& factors) {
  const auto pairs = static_cast<double>(factors.size());
  const auto turning = turning_pairs(factors);
  if (turning && layer.ext_factor == 0 && layer.attention_factor == 1) {
    const double fraction = static_cast<double>(*turning) / pairs;
    if (std::floor(fraction * pairs) == static_cast<double>(*turning)) {
      return ProportionalScaling{.turning_fraction = fraction, .factor = layer.factor};
    }
  }
  return explicit_of(layer, factors);
}

Scaling scaling_without_factors(const LayerRope& layer) {
  if (layer.ext_factor == 1) {
    return YarnScaling{.factor = layer.factor,
                       .original_context_tokens = layer.original_context_tokens,
                       .beta_fast = layer.beta_fast,
                       .beta_slow = layer.beta_slow,
                       .attention_factor = layer.attention_factor};
  }
  if (layer.ext_factor != 0 || layer.attention_factor != 1) return explicit_of(layer, {});
  if (layer.alpha > 0 && layer.factor == 1) return NtkScaling{.alpha = layer.alpha};
  if (layer.factor != 1) return LinearScaling{.factor = layer.factor};
  return NoScaling{};
}

Scaling longrope_of(const GgufModelFile& file, const LayerRope& layer, const GgufTensor& short_list,
                    const GgufTensor& long_list) {
  const auto with_factor = [&](const std::vector<float>& factors) {
    std::vector<double> list(factors.begin(), factors.end());
    for (double& each : list) each *= layer.factor;
    return list;
  };
  if (layer.ext_factor != 0) {
    file.keys.not_supported("rope.scaling.type must not be yarn beside tensors rope_factors_long ",
                            "and rope_factors_short");
  }
  const std::int64_t context_tokens = file.keys.integer("context_length").or_else(0);
  const auto context = static_cast<double>(context_tokens);
  // The flag for the original context affects YaRN only. The choice of a list uses the file's key.
  const auto original_tokens =
      file.keys.integer("rope.scaling.original_context_length").or_else(context_tokens);
  const auto original = static_cast<double>(original_tokens);
  LongRopeScaling rule{.short_factor = with_factor(factors_in(file, short_list, layer)),
                       .long_factor = with_factor(factors_in(file, long_list, layer)),
                       .original_context_tokens = original_tokens,
                       .factor = std::max(1.0, context / std::max(1.0, original)),
                       .attention_factor = layer.attention_factor};
  return rule;
}

Scaling scaling_of(const GgufModelFile& file, const LayerRope& layer) {
  if (!layer.has_factors) return scaling_without_factors(layer);
  const GgufTensor* const factors = find_tensor(file, "rope_freqs.weight");
  const GgufTensor* const long_list = find_tensor(file, "rope_factors_long.weight");
  const GgufTensor* const short_list = find_tensor(file, "rope_factors_short.weight");
  if (factors != nullptr) {
    if (long_list != nullptr) {
      file.keys.findings().warn("tensor rope_freqs.weight is used, and rope_factors_long.weight ",
                                "beside it is not, as in llama.cpp");
    }
    const auto numbers = factors_in(file, *factors, layer);
    const bool is_one = std::ranges::all_of(numbers, [](float each) { return each == 1; });
    return is_one ? scaling_without_factors(layer) : scaling_of_factors(layer, numbers);
  }
  if ((long_list == nullptr) != (short_list == nullptr)) {
    file.keys.malformed("tensors rope_factors_long.weight and rope_factors_short.weight must both ",
                        "be there or neither, got one");
  } else if (long_list != nullptr) {
    return longrope_of(file, layer, *short_list, *long_list);
  }
  return scaling_without_factors(layer);
}

// The pairs of each axis in ggml's operation (ggml_mrope_cache_init in ops.cpp). standing: the
// pairs of M-RoPE's fourth coordinate, which is 0 for text and images.
struct DealtPairs {
  std::vector<std::int64_t> of_axis = {0, 0, 0, 0};
  std::vector<std::int64_t> standing = {};
};

DealtPairs deal(const std::vector<std::int64_t>& sections, std::int64_t pairs, bool in_turn) {
  DealtPairs dealt;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    if (!in_turn) {
      std::size_t axis = 0;
      for (std::int64_t end = sections[0]; axis < 3 && pair >= end; end += sections[axis]) ++axis;
      ++dealt.of_axis[axis];
      continue;
    }
    const auto axis = static_cast<std::size_t>(pair % 3);
    const bool stands = pair >= 3 * sections[axis];
    ++dealt.of_axis[stands ? 0 : axis];
    if (stands) dealt.standing.push_back(pair);
  }
  return dealt;
}

// The sections in the file, filled up with zeros to four.
std::optional<std::vector<std::int64_t>> sections_of(const GgufModelFile& file) {
  auto stated = file.keys.integers("rope.dimension_sections");
  if (!stated.value) return {};
  std::vector<std::int64_t>& sections = *stated.value;
  const bool is_small = std::ranges::all_of(
      sections, [](std::int64_t each) { return each >= 0 && each <= std::int64_t{1} << 20; });
  if (sections.empty() || sections.size() > 4 || !is_small) {
    file.keys.malformed(stated.key, " must be 1 to 4 integers from 0 to 2^20, got ",
                        sections.size(), is_small ? "" : " with others");
    return {};
  }
  sections.resize(4);
  return stated.value;
}

void set_axes(const GgufModelFile& file, RopeType type, RotarySpec& spec) {
  const auto sections = sections_of(file);
  const std::int64_t pairs = *spec.rotary_dim / 2;
  const std::string key = file.keys.full("rope.dimension_sections");
  if (file.keys.findings().failed()) return;
  if (!sections) return file.keys.malformed(key, " must be given, got none");
  std::int64_t sum = 0;
  for (const std::int64_t each : *sections) sum += each;
  if (sum < pairs) {
    return file.keys.not_supported(key, " must sum to at least the number of pairs, ", pairs,
                                   "; got ", sum);
  }
  const bool in_turn = type == RopeType::imrope;
  const DealtPairs dealt = deal(*sections, pairs, in_turn);
  std::vector<std::int64_t> axes = dealt.of_axis;
  while (!axes.empty() && axes.back() == 0) axes.pop_back();
  if (std::count(axes.begin(), axes.end(), 0) != 0) {
    return file.keys.not_supported(key, " must have no 0 before another size");
  }
  if (!dealt.standing.empty()) {
    LayerRope plain{.rotary_dim = *spec.rotary_dim, .base = spec.base};
    ExplicitScaling rule = explicit_of(plain, {});
    if (!std::holds_alternative<NoScaling>(spec.scaling)) {
      return file.keys.not_supported("a scaling rule beside interleaved sections whose last pairs ",
                                     "stand still is not described by a spec");
    }
    for (const std::int64_t pair : dealt.standing)
      rule.inv_freq[static_cast<std::size_t>(pair)] = 0;
    spec.scaling = std::move(rule);
    file.keys.findings().warn("pairs from ", dealt.standing.front(), " on do not turn: llama.cpp ",
                              "gives ", dealt.standing.size(), " pairs beyond 3 times a section ",
                              "to a fourth coordinate, which is 0; in Transformers they turn by t");
  }
  if (axes.size() < 2) return;
  if (spec.numerics == Numerics::ggml) {
    file.keys.findings().warn("positions of text alone are supported, because numerics is ggml; ",
                              "the model has ", axes.size(), " axes for images");
    return;
  }
  spec.axes = Axes{.pairs = std::move(axes),
                   .arrangement = in_turn ? AxisArrangement::interleaved : AxisArrangement::blocks,
                   .exponents = AxisExponents::shared};
}

// Records the sources of the rule's parameters: keys, tensors, or llama.cpp's code.
void note_scaling(const GgufModelFile& file, const Scaling& scaling, Sources& sources) {
  struct Named {
    std::string_view parameter;
    std::string_view key;
  };
  constexpr std::array names = {
      Named{"factor", "rope.scaling.factor"},
      Named{"original_max_position_embeddings", "rope.scaling.original_context_length"},
      Named{"beta_fast", "rope.scaling.yarn_beta_fast"},
      Named{"beta_slow", "rope.scaling.yarn_beta_slow"},
      Named{"attention_factor", "rope.scaling.attn_factor"},
      Named{"alpha", "rope.scaling.alpha"}};
  const bool of_tensor = std::holds_alternative<ProportionalScaling>(scaling) ||
                         (std::holds_alternative<ExplicitScaling>(scaling) &&
                          find_tensor(file, "rope_freqs.weight") != nullptr);
  const std::string_view type_flag = flag_of(file.flags, "rope_type");
  if (of_tensor) {
    note(sources, "rope_type", Origin::stated, "rope_freqs.weight");
  } else if (!type_flag.empty()) {
    note(sources, "rope_type", Origin::asked, type_flag);
  } else {
    note_key(sources, "rope_type", file.keys.text("rope.scaling.type"));
  }
  const auto note_parameter = [&](const ParameterFacts& facts, const auto&) {
    const std::string_view parameter = facts.name;
    if (parameter == "short_factor" || parameter == "long_factor") {
      note(sources, parameter, Origin::stated,
           parameter == "short_factor" ? "rope_factors_short.weight" : "rope_factors_long.weight");
      return;
    }
    const auto* const named = std::ranges::find(names, parameter, &Named::parameter);
    const bool is_beta = parameter.starts_with("beta_");
    const std::string_view flag = flag_of(file.flags, parameter);
    if (!of_tensor && !flag.empty() && parameter != "attention_factor")
      return note(sources, parameter, Origin::asked, flag);
    if (of_tensor || named == names.end() || (is_beta && !file.row.reads_betas)) {
      note(sources, parameter, of_tensor ? Origin::stated : Origin::family,
           of_tensor ? "rope_freqs.weight" : "");
    } else if (parameter == "attention_factor" && !file.keys.has(named->key)) {
      note(sources, parameter, Origin::rule, file.keys.full("rope.scaling.factor"));
    } else {
      note_key(sources, parameter, file.keys.number(named->key));
    }
  };
  for_each_parameter(scaling, note_parameter);
}

// If a flag sets YaRN's factor, llama.cpp changes the trained context: n_ctx_train in
// llama_init_from_model.
void stretch_context(const GgufModelFile& file, const LayerRope& layer, ModelRotary& rotary) {
  if (!file.flags.factor || layer.ext_factor == 0) return;
  const double tokens = static_cast<double>(layer.original_context_tokens) * *file.flags.factor;
  if (!(tokens >= 1 && tokens < 0x1p32)) return;
  rotary.trained_context_tokens = static_cast<std::int64_t>(tokens);
  note(rotary.sources, "trained_context_tokens", Origin::asked, flag_of(file.flags, "factor"));
}

}  // namespace

const GgufTensor* find_tensor(const GgufModelFile& file, std::string_view name) {
  const auto& tensors = file.metadata.rope_tensors;
  const auto found = std::ranges::find(tensors, name, &GgufTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

RopeType rope_type_of(const GgufModelFile& file) {
  const RopeType type = file.row.rope;
  if (type != RopeType::norm_or_mrope && type != RopeType::neox_or_mrope) return type;
  const auto sections = sections_of(file);
  if (sections && (*sections)[0] > 0 && (*sections)[1] > 0) return RopeType::mrope;
  return type == RopeType::norm_or_mrope ? RopeType::norm : RopeType::neox;
}

std::optional<ModelRotary> rotary_of(const GgufModelFile& file, const LayerRope& layer,
                                     Sources sources) {
  const RopeType type = rope_type_of(file);
  const bool has_axes = type == RopeType::mrope || type == RopeType::imrope;
  RotarySpec spec{.head_dim = layer.head_dim,
                  .rotary_dim = layer.rotary_dim,
                  .base = layer.base,
                  .pairing = type == RopeType::norm ? Pairing::interleaved : Pairing::half,
                  .scaling = scaling_of(file, layer),
                  .numerics = file.options.numerics};
  if (has_axes) set_axes(file, type, spec);
  if (file.keys.findings().failed()) return std::nullopt;
  const auto context = file.keys.integer("context_length");
  if (context.value && *context.value < 1) {
    file.keys.malformed(context.key, " must be >= 1, got ", *context.value);
    return std::nullopt;
  }
  const Status status = validate(spec, file.options.context_tokens.value_or(context.or_else(1)));
  if (!status) {
    file.keys.findings().fail(blamed(ErrorCode::malformed_input, "GGUF: ", status.error()));
    return std::nullopt;
  }
  ModelRotary rotary{.layer_type = {},
                     .spec = std::move(spec),
                     .softmax_factor = layer.softmax_factor,
                     .nope_head_dim = layer.nope_head_dim,
                     .trained_context_tokens = context.value,
                     .sources = std::move(sources)};
  note(rotary.sources, "pairing", Origin::family);
  note(rotary.sources, "sense", Origin::family);
  if (rotary.spec.axes) {
    note(rotary.sources, "axes", Origin::stated, file.keys.full("rope.dimension_sections"));
  }
  note_scaling(file, rotary.spec.scaling, rotary.sources);
  if (layer.softmax_factor != 1) {
    note(rotary.sources, "softmax_factor", Origin::rule,
         file.keys.full("rope.scaling.yarn_log_multiplier"));
  }
  if (context.value) note_key(rotary.sources, "trained_context_tokens", context);
  stretch_context(file, layer, rotary);
  return rotary;
}

}  // namespace rotary
