// SPDX-License-Identifier: Apache-2.0
#include "model/rope/resolve_rotary.hpp"

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/message.hpp"
#include "base/yarn_growth.hpp"
#include "model/json/reader.hpp"
#include "model/other_names.hpp"
#include "model/rope/rope_axes.hpp"
#include "model/rope/scaling_readers.hpp"
#include "rotary/frequencies.hpp"

namespace rotary {
namespace {

using Dimension = std::optional<std::int64_t>;

// int(head_dim * fraction), as in Transformers.
Dimension partial_dimension(double fraction, std::int64_t head_dim, const ModelConfig& config) {
  const std::string_view own = config.family.part.key;
  const std::string_view key = own.empty() ? "partial_rotary_factor" : own;
  if (!(fraction > 0) || fraction > 1) {
    config.reader.malformed(key, " must be in (0, 1], got ", fraction);
    return {};
  }
  const auto dimension = static_cast<std::int64_t>(static_cast<double>(head_dim) * fraction);
  if (fraction < 1 && (dimension < 2 || dimension % 2 != 0)) {
    config.reader.malformed(key, " of head_dim ", head_dim,
                            " must give an even rotary_dim >= 2, got ", fraction, " and so ",
                            dimension);
  }
  return dimension;
}

// Applies the key rotary_dim in families that use a fraction (RotaryDimKey).
Dimension stand_in(const ModelConfig& config, std::int64_t rotary_dim,
                   std::optional<double> fraction) {
  Reader& reader = config.reader;
  const std::string_view fraction_key = config.family.part.key;
  switch (config.family.part.rotary_dim_key) {
    case RotaryDimKey::disputed:
      reader.warn("rotary_dim ", rotary_dim, " is ignored, as in Transformers, which turns all ",
                  config.head_dim, " features of a head; vLLM and llama.cpp turn ", rotary_dim);
      return {};
    case RotaryDimKey::read:
    case RotaryDimKey::stands_in:
      if (fraction) {
        const double turned = static_cast<double>(config.head_dim) * *fraction;
        if (static_cast<std::int64_t>(turned) == rotary_dim) return {};
        reader.warn("rotary_dim ", rotary_dim, " is ignored: ", fraction_key, " is given, too");
        return {};
      }
      if (config.family.part.rotary_dim_key == RotaryDimKey::stands_in) {
        reader.dispute(transformers_5, "rotary_dim ", rotary_dim, " is used, because ",
                       fraction_key, " is absent; Transformers 5 does not read it");
      }
      return rotary_dim;
    case RotaryDimKey::ignored:
      return {};
  }
  return {};
}

Dimension rotary_dimension(const ModelConfig& config, const RopeParameters& rope,
                           std::int64_t head_dim, const LayerTypeRope& layout, Sources& sources) {
  const RotatedPart& part = config.family.part;
  note(sources, "rotary_dim", Origin::family);
  if (rope.partial_rotary_factor_says == PartialRotaryFactor::is_of_the_rule) {
    note(sources, "rotary_dim", Origin::rule, "rope_type");
    return {};  // the whole head
  }
  if (part.given_by == PartialRotary::whole_axes) {
    const std::int64_t unit = 2 * config.family.axes.count;
    return head_dim / unit * unit;
  }
  if (part.given_by == PartialRotary::dimension) {
    note(sources, "rotary_dim", stated_if(config.rotary_dim.has_value()), "rotary_dim");
    return config.rotary_dim.value_or(part.rotary_dim);
  }
  const auto& inside = rope.partial_rotary_factor;
  const auto& beside = config.partial_rotary_factor;
  const auto given = inside ? inside : beside;
  if (inside && beside && *inside != *beside) {
    config.reader.warn(config.fraction_key, " ", *beside, " is ignored for layers with ", *inside,
                       " of their own");
  }
  if (config.rotary_dim) {
    if (const auto dimension = stand_in(config, *config.rotary_dim, given)) {
      note(sources, "rotary_dim", Origin::stated, "rotary_dim");
      return dimension;
    }
  }
  if (config.family.head.latent) {  // head_dim counts only rotated features
    const double cut =
        static_cast<double>(head_dim) / static_cast<double>(head_dim + config.nope_head_dim);
    const double whole = config.reader.number("head_dim").value_or(0);
    const bool is_of_whole = given && *given * whole == static_cast<double>(head_dim);
    if (given && *given != 1 && *given != cut && !is_of_whole) {
      config.reader.warn(part.key, " ", *given, " is ignored: all of qk_rope_head_dim, ", head_dim,
                         ", turns");
    }
    return {};
  }
  if (given && *given != 1 && part.given_by == PartialRotary::fraction_if_scaled &&
      std::holds_alternative<NoScaling>(rope.scaling)) {
    config.reader.warn("partial_rotary_factor ", *given, " is ignored: the family ",
                       config.family.model_type, " turns the whole head when rope_type is default");
    return {};
  }
  const bool is_beside = !inside && beside;
  if (given || part.given_by == PartialRotary::fraction) {
    note(sources, "rotary_dim",
         is_beside ? Origin::stated : layout.origin_of("partial_rotary_factor"),
         is_beside ? config.fraction_key : part.key);
  }
  return partial_dimension(given.value_or(part.fraction), head_dim, config);
}

double base_of(const ModelConfig& config, const RopeParameters& rope, const LayerTypeRope& layout,
               Sources& sources) {
  if (rope.rope_theta && config.rope_theta && *rope.rope_theta != *config.rope_theta &&
      !config.layout.is_nested) {
    config.reader.warn("rope_theta is given twice, ", *rope.rope_theta,
                       " with the rope parameters and ", *config.rope_theta,
                       " beside them; the former is used");
  }
  if (rope.rope_theta) {
    note(sources, "base", layout.origin_of("rope_theta"), layout.base_key);
    return *rope.rope_theta;
  }
  if (config.rope_theta) {
    note(sources, "base", Origin::stated, config.base_key);
    return *config.rope_theta;
  }
  if (config.sizes != nullptr && config.sizes->rope_theta) {
    note(sources, "base", Origin::class_default, config.family.base.key);
    return *config.sizes->rope_theta;
  }
  if (config.family.base.otherwise) {
    note(sources, "base", config.family.rope.is_read ? Origin::class_default : Origin::family,
         config.family.rope.is_read ? config.family.base.key : "");
    return *config.family.base.otherwise;
  }
  constexpr std::string_view key = "rope_theta";
  config.reader.malformed(
      key, " must be given, because no default is known for this model_type; got none",
      other_names_in(config.reader, {&key, 1}));
  return 0;
}

// yarn_apply_mscale of DeepSeek-V3: g(factor, mscale_all_dim)² for every rope_type but default.
double softmax_factor(const ModelConfig& config, Reader& dictionary) {
  if (!config.family.head.latent) return 1;
  const double mscale = dictionary.number("mscale_all_dim").value_or(0);
  const auto factor = dictionary.number("factor");
  if (mscale == 0) return 1;
  if (!factor) {
    dictionary.dispute(
        transformers_5,
        "factor is absent, so the softmax scale is not changed by mscale_all_dim; Transformers 5 "
        "fails here");
    return 1;
  }
  const double g = yarn_growth(*factor, mscale);
  if (!std::isfinite(g) || g <= 0) {
    dictionary.malformed("mscale_all_dim must give a softmax factor > 0, got ", mscale);
  }
  return g * g;
}

// Records the sources of a rule's parameters, under their names in configs.
struct ParameterSources {
  const ModelConfig& config;
  const LayerTypeRope& rope;
  Sources& sources;

  template <class Value>
  void operator()(const ParameterFacts& facts, const Value& value) {
    const std::string_view name = facts.name;
    if constexpr (std::is_same_v<Value, std::optional<double>>) {
      if (!value) return;
    }
    const std::string_view key = name == "ramp" ? "truncate" : name;
    const Json* const found = rope.dictionary.find(key);
    // Only these two keys may be outside the dictionary. Overrides that put others there fail.
    const bool may_be_beside = key == original || (key == "partial_rotary_factor" && !found);
    const bool is_beside =
        may_be_beside && !config.layout.is_nested && config.reader.find(key) != nullptr;
    if (is_beside && !std::holds_alternative<DynamicNtkScaling>(scaling)) {
      note(sources, name, Origin::stated, key);
    } else if (found != nullptr && !found->is_null() && *found != Json(0.0)) {
      note(sources, name, rope.origin_of(key), key);
    } else {
      note(sources, name, Origin::rule, computed_from(name));
    }
  }

  [[nodiscard]] std::string_view computed_from(std::string_view name) const {
    if (name == original) return config.family.keys.positions;
    return name == "factor" ? "max_position_embeddings / original_max_position_embeddings" : "";
  }

  static constexpr std::string_view original = "original_max_position_embeddings";
  const Scaling& scaling;
};

// Whether Qwen 1's key use_dynamic_ntk, which is outside the dictionary, is on.
bool doubles(const ModelConfig& config) {
  return config.family.rope.dialect == RopeDialect::qwen &&
         config.reader.boolean("use_dynamic_ntk").value_or(false);
}

Scaling doubling_rule(const ModelConfig& config) {
  if (!config.max_position_embeddings) {
    config.reader.malformed(config.family.keys.positions,
                            " must be given, because use_dynamic_ntk is true; got none");
  }
  return DoublingNtkScaling{.original_context_tokens = config.max_position_embeddings.value_or(1)};
}

// NomicBertDynamicNTKRotaryEmbedding of the authors' code.
constexpr std::string_view nomic_key = "rotary_scaling_factor";

bool is_nomic_rule(const ModelConfig& config) {
  return config.family.rope.dialect == RopeDialect::nomic && config.reader.number(nomic_key);
}

Scaling nomic_rule(const ModelConfig& config) {
  const DynamicNtkScaling rule{
      .factor = config.reader.required_number(nomic_key),
      .original_context_tokens = config.reader.required_integer("max_trained_positions")};
  config.reader.dispute(transformers_5, nomic_key, " ", rule.factor,
                        " makes the rule dynamic, as in the authors' code; the class of "
                        "Transformers does not read it");
  return rule;
}

// Records the rule of an embedding and the values that its family fixes.
void note_rule(const ModelConfig& config, const LayerTypeRope& rope, const Scaling& scaling,
               Sources& sources) {
  const bool is_named =
      rope.dictionary.find("rope_type") != nullptr || rope.dictionary.find("type") != nullptr;
  note(sources, "rope_type", is_named ? rope.origin : Origin::class_default, "rope_type");
  if (doubles(config)) note(sources, "rope_type", Origin::stated, "use_dynamic_ntk");
  for_each_parameter(scaling, ParameterSources{config, rope, sources, scaling});
  if (is_nomic_rule(config)) {
    note(sources, "rope_type", Origin::stated, nomic_key);
    note(sources, "factor", Origin::stated, nomic_key);
    note(sources, ParameterSources::original, Origin::stated, "max_trained_positions");
  }
  if (config.family.part.window == Window::trailing) {
    note(sources, "first_feature", Origin::family);
  }
  note(sources, "sense", Origin::family);
  note(sources, "rounding", Origin::family);
}

// With ggml's numerics, drops the axes and warns, because ggml's operation takes one position for
// each token. Text has the same position on every axis.
void drop_axes_of_text(ModelRotary& rotary, const ModelConfig& config) {
  if (rotary.spec.numerics != Numerics::ggml || !rotary.spec.axes) return;
  if (rotary.spec.axes->exponents != AxisExponents::shared) return;
  config.reader.warn("positions of text alone are supported, because numerics is ggml; the family ",
                     config.family.model_type, " has ", rotary.spec.axes->pairs.size(),
                     " axes for images");
  rotary.spec.axes.reset();
}

// Reports an invalid spec as an error of the config.
void check_spec(const RotarySpec& spec, const ModelConfig& config, const ResolveOptions& options,
                const Reader& dictionary) {
  const auto context =
      options.context_tokens ? options.context_tokens : config.max_position_embeddings.value_or(1);
  const Status status = validate(spec, context);
  if (status) return;
  // "rope_scaling." -> "config (rope_scaling): factor must be …"
  const std::string& path = dictionary.path();
  const std::string within =
      dictionary.members().empty() ? "" : message(" (", path.substr(0, path.size() - 1), ")");
  config.reader.findings().fail(
      blamed(ErrorCode::malformed_input, message("config", within, ": "), status.error()));
}

RopeContext context_of(const ModelConfig& config) {
  RopeContext context{.max_position_embeddings = config.max_position_embeddings,
                      .original_max_position_embeddings = {},
                      .dialect = config.family.rope.dialect,
                      .scales = config.family.rope.scales};
  if (!config.layout.is_nested) {
    context.original_max_position_embeddings = config.original_max_position_embeddings;
    context.partial_rotary_factor = config.partial_rotary_factor;
  }
  return context;
}

}  // namespace

std::optional<ModelRotary> resolve_rotary(const ModelConfig& config, const LayerTypeRope& rope,
                                          const ResolveOptions& options) {
  Findings& findings = config.reader.findings();
  Reader dictionary(rope.dictionary, rope.path, findings);
  RopeParameters parameters = read_rope_parameters(dictionary, context_of(config));
  if (doubles(config)) parameters.scaling = doubling_rule(config);
  if (is_nomic_rule(config)) parameters.scaling = nomic_rule(config);
  if (findings.failed()) return std::nullopt;
  Sources sources;
  sources.reserve(16);
  sources = config.rotary_sources;
  const double base = base_of(config, parameters, rope, sources);
  const bool is_full = rope.layer_type == "full_attention";
  const std::int64_t head_dim = is_full ? config.full_head_dim : config.head_dim;
  if (is_full && !config.full_head_sources.empty()) {
    const ValueSource& full = config.full_head_sources.front();
    note(sources, full.value, full.origin, full.key);
  }
  const Dimension rotary_dim = rotary_dimension(config, parameters, head_dim, rope, sources);
  const double softmax = softmax_factor(config, dictionary);
  if (softmax != 1) note(sources, "softmax_factor", Origin::rule, "mscale_all_dim");
  note_rule(config, rope, parameters.scaling, sources);
  const std::int64_t turning = rotary_dim.value_or(head_dim);
  auto axes = resolve_axes(config, rope, turning / 2, sources);
  if (findings.failed()) return std::nullopt;
  const bool is_trailing = config.family.part.window == Window::trailing;
  // RotarySpec is named because g++ 12 destroys an unnamed one twice if a later member throws.
  ModelRotary rotary{.layer_type = rope.layer_type,
                     .spec = RotarySpec{.head_dim = head_dim,
                                        .rotary_dim = rotary_dim,
                                        .first_feature = is_trailing ? head_dim - turning : 0,
                                        .base = base,
                                        .pairing = config.pairing,
                                        .scaling = parameters.scaling,
                                        .sense = config.family.sense,
                                        .numerics = options.numerics,
                                        .rounding = config.family.rounding,
                                        .axes = std::move(axes),
                                        .blocks = config.family.axes.blocks},
                     .softmax_factor = softmax,
                     .nope_head_dim = rope.layer_type == "sliding_attention"
                                          ? config.sliding_nope_head_dim
                                          : config.nope_head_dim,
                     .trained_context_tokens = config.max_position_embeddings,
                     .sources = std::move(sources)};
  drop_axes_of_text(rotary, config);
  check_spec(rotary.spec, config, options, dictionary);
  if (findings.failed()) return std::nullopt;
  return rotary;
}

}  // namespace rotary
