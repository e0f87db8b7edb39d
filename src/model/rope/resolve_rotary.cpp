// SPDX-License-Identifier: Apache-2.0
#include "model/rope/resolve_rotary.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "base/message.hpp"
#include "model/rope/rope_parameters.hpp"
#include "rotary/frequencies.hpp"

namespace rotary {
namespace {

using Dimension = std::optional<std::int64_t>;

// int(head_dim * fraction), as Transformers computes it.
Result<Dimension> partial_dimension(double fraction, std::int64_t head_dim,
                                    const ModelConfig& config) {
  const std::string_view key = config.family.fraction_key;
  if (!(fraction > 0) || fraction > 1) {
    return malformed_input(config.object.path, key, " must be in (0, 1], got ", fraction);
  }
  const auto dimension = static_cast<std::int64_t>(static_cast<double>(head_dim) * fraction);
  if (fraction < 1 && (dimension < 2 || dimension % 2 != 0)) {
    return malformed_input(config.object.path, key, " of head_dim ", head_dim,
                           " must give an even rotary_dim >= 2, got ", fraction, " and so ",
                           dimension);
  }
  return std::optional(dimension);
}

// The effect of the key rotary_dim in families that use a fraction: none, or to replace the
// fraction.
Result<Dimension> stand_in(const ModelConfig& config, std::int64_t rotary_dim,
                           std::optional<double> fraction, std::vector<std::string>& warnings) {
  const std::string& path = config.object.path;
  switch (config.family.rotary_dim_key) {
    case RotaryDimKey::disputed:
      warnings.push_back(message(
          path, "rotary_dim ", rotary_dim, " is ignored, as in Transformers, which turns all ",
          config.head_dim, " features of a head; vLLM and llama.cpp turn ", rotary_dim));
      return Dimension();
    case RotaryDimKey::stands_in:
      if (fraction) {
        warnings.push_back(message(path, "rotary_dim ", rotary_dim,
                                   " is ignored: ", config.family.fraction_key, " is given, too"));
        return Dimension();
      }
      if (!config.family.model_type.empty()) {
        warnings.push_back(message(path, "rotary_dim ", rotary_dim, " is used, because ",
                                   config.family.fraction_key,
                                   " is absent; Transformers 5 does not read it"));
      }
      return Dimension(rotary_dim);
    case RotaryDimKey::ignored:
      return Dimension();
  }
  return Dimension();
}

Result<Dimension> rotary_dimension(const ModelConfig& config, const RopeParameters& rope,
                                   std::int64_t head_dim, std::vector<std::string>& warnings) {
  const Family& family = config.family;
  if (rope.partial_rotary_factor_says == PartialRotaryFactor::is_of_the_rule)
    return Dimension();  // the whole head
  if (family.partial == PartialRotary::dimension)
    return Dimension(config.rotary_dim.value_or(family.rotary_dim));
  // An attribute of this name overrides the dictionary; any other only fills a gap in it.
  const bool overwrites =
      family.fraction_key == "partial_rotary_factor" && !config.layout.is_nested;
  const auto& first = overwrites ? config.partial_rotary_factor : rope.partial_rotary_factor;
  const auto& second = overwrites ? rope.partial_rotary_factor : config.partial_rotary_factor;
  const auto given = first ? first : second;
  if (first && second && *first != *second && config.layout.is_nested) {
    warnings.push_back(message(config.object.path, family.fraction_key, " ",
                               *config.partial_rotary_factor, " is ignored for layers with ",
                               *rope.partial_rotary_factor, " of their own"));
  }
  if (config.rotary_dim) {
    auto dimension = stand_in(config, *config.rotary_dim, given, warnings);
    if (!dimension || *dimension) return dimension;
  }
  if (family.latent) {  // head_dim is already that of the rotated tensor
    const double cut =
        static_cast<double>(head_dim) / static_cast<double>(head_dim + config.nope_head_dim);
    if (given && *given != 1 && *given != cut) {
      warnings.push_back(message(config.object.path, family.fraction_key, " ", *given,
                                 " is ignored: all of qk_rope_head_dim, ", head_dim, ", turns"));
    }
    return Dimension();
  }
  if (given && *given != 1 && family.partial == PartialRotary::fraction_if_scaled &&
      std::holds_alternative<NoScaling>(rope.scaling)) {
    warnings.push_back(message(config.object.path, "partial_rotary_factor ", *given,
                               " is ignored: the family ", family.model_type,
                               " turns the whole head when rope_type is default"));
    return Dimension();
  }
  return partial_dimension(given.value_or(family.fraction), head_dim, config);
}

Result<double> base_of(const ModelConfig& config, const RopeParameters& rope,
                       std::vector<std::string>& warnings) {
  const std::string& path = config.object.path;
  if (rope.rope_theta && config.rope_theta && *rope.rope_theta != *config.rope_theta &&
      !config.layout.is_nested) {
    warnings.push_back(message(path, "rope_theta is given twice, ", *rope.rope_theta,
                               " with the rope parameters and ", *config.rope_theta,
                               " beside them; the former is used"));
  }
  if (rope.rope_theta) return *rope.rope_theta;
  if (config.rope_theta) return *config.rope_theta;
  if (config.family.base) return *config.family.base;
  return malformed_input(path,
                         "rope_theta must be given, because no default is known for this "
                         "model_type; got none");
}

// yarn_apply_mscale of DeepSeek-V3 and similar: g(factor, mscale_all_dim)² for every rope_type but
// default, where g(f, m) = 0.1 m ln f + 1, and 1 for f <= 1.
Result<double> softmax_factor(const ModelConfig& config, const LayerTypeRope& rope,
                              std::vector<std::string>& warnings) {
  const ConfigObject object{.object = &rope.dictionary, .path = rope.path};
  if (!config.family.latent) return 1.0;
  const auto mscale = read_number(object, "mscale_all_dim");
  if (!mscale) return mscale.error();
  const auto factor = read_number(object, "factor");
  if (!factor) return factor.error();
  if (mscale->value_or(0) == 0) return 1.0;
  if (!*factor) {
    warnings.push_back(message(rope.path,
                               "factor is absent, so the softmax scale is not changed by "
                               "mscale_all_dim; Transformers 5 fails here"));
    return 1.0;
  }
  const double g = **factor <= 1 ? 1.0 : 0.1 * **mscale * std::log(**factor) + 1;
  if (!std::isfinite(g) || g <= 0) {
    return malformed_input(rope.path, "mscale_all_dim must give a softmax factor > 0, got ",
                           **mscale);
  }
  return g * g;
}

Status check_sections(const LayerTypeRope& rope, std::int64_t pairs) {
  if (rope.sections.empty()) return {};
  const std::int64_t sum =
      std::accumulate(rope.sections.begin(), rope.sections.end(), std::int64_t{0});
  if (sum == pairs) return {};
  return malformed_input(rope.path, "mrope_section must add up to the pairs of a head, ", pairs,
                         "; got ", sum);
}

// Any length serves to check a rule; the requested one is the best.
std::int64_t context_to_check(const ModelConfig& config, const ResolveOptions& options) {
  if (options.context_tokens) return *options.context_tokens;
  return config.max_position_embeddings.value_or(1);
}

// Checks the rules' own requirements and reports a broken one as the config's fault.
Status validate(const RotarySpec& spec, const std::string& path, std::int64_t context_tokens) {
  const auto frequencies = make_frequencies(spec, context_tokens);
  if (frequencies) return {};
  // "rope_scaling." -> "config (rope_scaling): factor must be …"
  const std::string within =
      path.empty() ? "" : message(" (", path.substr(0, path.size() - 1), ")");
  return blamed(ErrorCode::malformed_input, message("config", within, ": "), frequencies.error());
}

std::int64_t head_dim_of(const ModelConfig& config, const LayerTypeRope& rope) {
  return rope.layer_type == "full_attention" ? config.full_head_dim : config.head_dim;
}

Result<RopeParameters> read_parameters(const ModelConfig& config, const LayerTypeRope& rope) {
  RopeContext context{.max_position_embeddings = config.max_position_embeddings,
                      .original_max_position_embeddings = {},
                      .dialect = config.family.rope_dialect};
  if (!config.layout.is_nested) {
    context.original_max_position_embeddings = config.original_max_position_embeddings;
    context.partial_rotary_factor = config.partial_rotary_factor;
  }
  return read_rope_parameters({.object = &rope.dictionary, .path = rope.path}, context);
}

}  // namespace

Result<ModelRotary> resolve_rotary(const ModelConfig& config, const LayerTypeRope& rope,
                                   const ResolveOptions& options,
                                   std::vector<std::string>& warnings) {
  const auto parameters = read_parameters(config, rope);
  if (!parameters) return parameters.error();
  warnings.insert(warnings.end(), parameters->warnings.begin(), parameters->warnings.end());
  const auto base = base_of(config, *parameters, warnings);
  if (!base) return base.error();
  const std::int64_t head_dim = head_dim_of(config, rope);
  const auto rotary_dim = rotary_dimension(config, *parameters, head_dim, warnings);
  if (!rotary_dim) return rotary_dim.error();
  const auto softmax = softmax_factor(config, rope, warnings);
  if (!softmax) return softmax.error();
  const std::int64_t turning = rotary_dim->value_or(head_dim);
  const bool is_trailing = config.family.window == Window::trailing;
  // RotarySpec is named because g++ 12 destroys an unnamed one twice if a later member throws.
  ModelRotary rotary{.layer_type = rope.layer_type,
                     .spec = RotarySpec{.head_dim = head_dim,
                                        .rotary_dim = *rotary_dim,
                                        .first_feature = is_trailing ? head_dim - turning : 0,
                                        .base = *base,
                                        .pairing = config.family.pairing,
                                        .scaling = parameters->scaling,
                                        .sense = config.family.sense,
                                        .numerics = options.numerics,
                                        .rounding = config.family.rounding},
                     .softmax_factor = *softmax,
                     .nope_head_dim = config.nope_head_dim,
                     .sections = rope.sections,
                     .trained_context_tokens = config.max_position_embeddings};
  if (auto status = check_sections(rope, turning / 2); !status) return std::move(status).error();
  if (auto status = validate(rotary.spec, rope.path, context_to_check(config, options)); !status)
    return std::move(status).error();
  return rotary;
}

}  // namespace rotary
