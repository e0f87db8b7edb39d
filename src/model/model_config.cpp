// SPDX-License-Identifier: Apache-2.0
#include "model/model_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/layers/layer_types.hpp"
#include "model/layers/resolve_layers.hpp"
#include "model/other_names.hpp"
#include "model/rope/rope_keys.hpp"

namespace rotary {
namespace {

// The key of a value: the family's own, unless the config has only the usual one.
std::string_view present(const Reader& config, std::string_view own, std::string_view usual) {
  return config.find(own) == nullptr && config.find(usual) != nullptr ? usual : own;
}

void read_encoding(Reader& config, ModelConfig& result) {
  const Family& family = result.family;
  const EncodingChoice& choice = family.choice;
  const bool has_key = !choice.key.empty();
  if (choice.read != nullptr) {
    result.encoding = choice.read(config);
  } else if (has_key) {
    const auto stated = config.boolean(choice.key);
    result.encoding = !stated ? choice.if_absent : *stated ? choice.if_true : choice.if_false;
  }
  note(result.model_sources, "encoding",
       has_key ? stated_if(config.find(choice.key) != nullptr) : Origin::family, choice.key);
  if (result.encoding == LayerEncoding::rotary) check_rope_keys(config, family);
}

void read_layers(Reader& config, ModelConfig& result) {
  const auto key = present(config, result.family.keys.layers, ConfigKeys().layers);
  auto layers = config.integer(key);
  if (layers && !result.family.keys.more_layers.empty()) {
    const auto more = config.integer(result.family.keys.more_layers);
    layers = more && *more >= 0 && *more <= max_layers ? std::optional(*layers + *more) : more;
  }
  const bool is_given = layers.has_value();
  if (!layers && result.sizes != nullptr) layers = result.sizes->layers;
  if (layers && (*layers < 1 || *layers > max_layers)) {
    config.malformed(key, " must be in 1..", max_layers, ", got ", *layers);
    return;
  }
  result.layers = layers;
  if (layers) note(result.model_sources, "layers", stated_if(is_given), key);
  result.layer_types = read_layer_types(config, result.family, layers, result.model_sources);
  if (!layers && !result.layer_types.empty()) {
    result.layers = static_cast<std::int64_t>(result.layer_types.size());
    note(result.model_sources, "layers", Origin::rule, "layer_types");
  }
  if (!result.layers && result.encoding != LayerEncoding::rotary) {
    config.malformed(key, " must be given, got none");
  }
}

// head_dim = (hidden size / heads) / divided_by * multiple. The first quotient must be whole.
std::int64_t divide_heads(Reader& config, ModelConfig& result) {
  const Family& family = result.family;
  const bool has_usual = family.keys.usual_size == UsualNames::the_same;
  const auto size_key = present(config, family.keys.hidden_size,
                                has_usual ? ConfigKeys().hidden_size : std::string_view());
  const auto heads_key = present(config, family.keys.heads, ConfigKeys().heads);
  auto hidden_size = config.integer(size_key);
  auto heads = config.integer(heads_key);
  const bool is_given = hidden_size && heads;
  if (result.sizes != nullptr) {
    hidden_size = hidden_size.value_or(result.sizes->hidden_size);
    heads = heads.value_or(result.sizes->heads);
  }
  if (!hidden_size || !heads) {
    const bool is_wrapped = config.find("text_config") != nullptr;
    config.malformed(family.keys.head_dim, ", or ", size_key, " and ", heads_key,
                     ", must be given, got neither",
                     is_wrapped ? "; this config keeps its language model in text_config: pass "
                                  "that object alone"
                                : "",
                     other_names_in(config, std::array{family.keys.head_dim, size_key, heads_key}));
    return 0;
  }
  if (*heads < 1) {
    config.malformed(heads_key, " must be >= 1, got ", *heads);
    return 0;
  }
  if (*hidden_size < 1 || *hidden_size % *heads != 0) {
    config.malformed(size_key, " must be a positive multiple of ", heads_key, ", got ",
                     *hidden_size, " and ", *heads);
    return 0;
  }
  note(result.rotary_sources, "head_dim", is_given ? Origin::rule : Origin::class_default,
       message(size_key, " / ", heads_key));
  const std::int64_t divisor = config.integer(family.head.divided_by).value_or(1);
  if (divisor < 1) config.malformed(family.head.divided_by, " must be >= 1, got ", divisor);
  return *hidden_size / *heads / std::max<std::int64_t>(divisor, 1) * family.head.multiple;
}

// For latent attention the rotated tensor is the head; the config's head_dim means something else.
void read_latent_dims(Reader& config, const LatentAttention& usual, ModelConfig& result) {
  result.head_dim = config.integer("qk_rope_head_dim").value_or(usual.rope_dim);
  result.nope_head_dim = config.integer("qk_nope_head_dim").value_or(usual.nope_dim);
  for (const auto& [value, key] :
       {std::pair<std::string_view, std::string_view>{"head_dim", "qk_rope_head_dim"},
        {"nope_head_dim", "qk_nope_head_dim"}}) {
    note(result.rotary_sources, value, stated_if(config.find(key) != nullptr), key);
  }
  result.sliding_nope_head_dim = result.nope_head_dim;
  if (usual.sliding_nope_dim != 0) {
    result.sliding_nope_head_dim =
        config.integer("swa_qk_nope_head_dim").value_or(usual.sliding_nope_dim);
    const auto turning = config.integer("swa_qk_rope_head_dim").value_or(result.head_dim);
    if (turning != result.head_dim) {
      config.not_supported("swa_qk_rope_head_dim must equal qk_rope_head_dim, ", result.head_dim,
                           "; got ", turning);
    }
  }
  if (result.nope_head_dim < 0 || result.sliding_nope_head_dim < 0) {
    config.malformed("qk_nope_head_dim must be >= 0, got ",
                     std::min(result.nope_head_dim, result.sliding_nope_head_dim));
  }
}

std::int64_t read_own_head_dim(Reader& config, ModelConfig& result) {
  const Family& family = result.family;
  const std::int64_t of_sizes = result.sizes == nullptr ? 0 : result.sizes->head_dim;
  const std::int64_t of_class = of_sizes != 0 ? of_sizes : family.head.dim;
  config.accept({&family.keys.hidden_size, 1});  // every class reads this key
  const auto key = present(config, family.keys.head_dim, ConfigKeys().head_dim);
  const auto head_dim = config.integer(key);
  const bool is_of_class = !head_dim && of_class != 0 && !config.has(key);
  if ((head_dim && family.head.reads_dim) || is_of_class) {
    note(result.rotary_sources, "head_dim", stated_if(head_dim.has_value()), key);
    return head_dim.value_or(of_class);
  }
  if (head_dim) {
    config.warn("head_dim is ignored: the family ", family.model_type, " divides ",
                family.keys.hidden_size, " by ", family.keys.heads);
  }
  return divide_heads(config, result);
}

void read_head_dim(Reader& config, ModelConfig& result) {
  const HeadForm& head = result.family.head;
  if (result.encoding != LayerEncoding::rotary) return;
  if (head.latent) {
    read_latent_dims(config, *head.latent, result);
    return;
  }
  result.head_dim = read_own_head_dim(config, result);
  result.full_head_dim = result.head_dim;
  if (head.full_dim_key.empty()) return;
  const auto given = config.integer(head.full_dim_key);
  result.full_head_dim = given.value_or(head.full_dim);
  note(result.full_head_sources, "head_dim", stated_if(given.has_value()), head.full_dim_key);
}

// The value of the first of two keys, or of the second if the first is absent.
std::optional<double> read_either(Reader& config, std::string_view key,
                                  std::string_view other_key) {
  const auto value = config.number(key);
  const auto other = config.number(other_key);
  if (value && other && *value != *other) {
    config.warn(key, " and ", config.path(), other_key, " differ, ", *value, " and ", *other,
                "; the former is used");
  }
  return value ? value : other;
}

void read_lengths(Reader& config, ModelConfig& result) {
  const auto key = present(config, result.family.keys.positions, ConfigKeys().positions);
  result.max_position_embeddings = config.integer(key);
  if (result.max_position_embeddings.value_or(1) < 1) {
    config.malformed(key, " must be >= 1, got ", *result.max_position_embeddings);
  }
  const bool is_given = result.max_position_embeddings.has_value();
  const std::int64_t of_class = result.sizes == nullptr ? 0 : result.sizes->positions;
  const std::int64_t otherwise =
      result.family.trained_context != 0 ? result.family.trained_context : of_class;
  if (!is_given && otherwise != 0) result.max_position_embeddings = otherwise;
  if (result.max_position_embeddings) {
    note(result.rotary_sources, "trained_context_tokens", stated_if(is_given), key);
  }
  result.original_max_position_embeddings = config.integer("original_max_position_embeddings");
  // The classes of Phi-3 and Phi-4 have a default, which overrides the rope dictionary, too.
  const std::string_view family = result.family.model_type;
  if (!result.original_max_position_embeddings &&
      (family == "phi3" || family == "phi4_multimodal")) {
    constexpr std::int64_t of_phi3 = 4096;
    result.original_max_position_embeddings = of_phi3;
  }
}

void read_rotary_dim(Reader& config, ModelConfig& result) {
  constexpr std::string_view key = "rotary_dim";
  if (!reads_key(result.family, key)) return;
  if (config.is_null(key) && result.family.part.given_by == PartialRotary::dimension) {
    config.malformed(key, " must be an integer, got null");
  }
  result.rotary_dim = config.integer(key);
}

// Reads the base outside the dictionary. If a family has several, read_rope_layout() reads them.
void read_base(Reader& config, ModelConfig& result) {
  const Family& family = result.family;
  const BaseForm& base = family.base;
  const bool is_beside =
      result.encoding == LayerEncoding::rotary && family.rope.is_read && !family.rope.two_bases;
  const Json* const given = config.find(base.key);
  const bool is_list =
      family.rope.labels == RopeLabels::per_layer_lists && given != nullptr && given->is_array();
  if (!is_beside || is_list || family.rope.labels == RopeLabels::main_and_compress) return;
  auto object = config.object(base.object);
  Reader& reader = object && object->find(base.key) != nullptr ? *object : config;
  result.rope_theta = read_either(reader, base.key, base.other_key);
  result.base_key = reader.find(base.key) != nullptr ? base.key : base.other_key;
  if (const auto ratio = config.number(base.ratio_key)) {
    if (!result.rope_theta) result.base_key = base.ratio_key;
    result.rope_theta = result.rope_theta.value_or(base.otherwise.value_or(0)) * *ratio;
  }
}

void read_fraction(Reader& config, ModelConfig& result) {
  const Family& family = result.family;
  if (!family.rope.is_read) return;
  result.partial_rotary_factor = read_either(config, family.part.key, family.part.other_key);
  result.fraction_key =
      config.find(family.part.key) != nullptr ? family.part.key : family.part.other_key;
  if (family.rope.labels != RopeLabels::main_and_compress || result.partial_rotary_factor) return;
  if (const auto turning = config.integer("qk_rope_head_dim")) {
    result.partial_rotary_factor =
        static_cast<double>(*turning) / static_cast<double>(result.head_dim);
    result.fraction_key = "qk_rope_head_dim";
  }
}

void read_pairing(Reader& config, ModelConfig& result) {
  const PairingSwitch& pairing = result.family.pairing_switch;
  const auto interleaves = config.boolean(pairing.key);
  if (interleaves) result.pairing = *interleaves ? pairing.if_true : Pairing::half;
  const bool is_switched = !pairing.key.empty();
  note(result.rotary_sources, "pairing",
       is_switched ? stated_if(interleaves.has_value()) : Origin::family, pairing.key);
}

// Warns about a base outside the dictionaries of layer types if each of them has another base.
void warn_about_base_beside(Reader& config, const ModelConfig& result) {
  const auto& ropes = result.layout.ropes;
  const bool is_used = std::any_of(ropes.begin(), ropes.end(), [&](const LayerTypeRope& each) {
    const Json* const own = each.dictionary.find("rope_theta");
    return own == nullptr || *own == Json(*result.rope_theta);
  });
  if (is_used) return;
  config.warn(result.base_key, " ", *result.rope_theta,
              " is ignored: the rope parameters of each layer type have a base of their own");
}

void read_layout(Reader& config, ModelConfig& result) {
  if (result.encoding != LayerEncoding::rotary) return;
  result.layout = read_rope_layout(config, result.family, result.layer_types);
  if (result.layout.is_nested && result.rope_theta) warn_about_base_beside(config, result);
}

}  // namespace

std::optional<std::int64_t> read_size(const ModelConfig& config, const SizeFacts& facts,
                                      Sources& sources) {
  const auto key = present(config.reader, config.family.keys.*facts.key, ConfigKeys().*facts.key);
  const auto stated = config.reader.integer(key);
  if (stated.value_or(1) < 1) config.reader.malformed(key, " must be >= 1, got ", *stated);
  if (!stated && config.sizes == nullptr) return {};
  note(sources, facts.value, stated_if(stated.has_value()), key);
  return stated ? stated : config.sizes->*facts.of_class;
}

ModelConfig read_model_config(Reader& reader, const Family& family, const ClassSizes* sizes) {
  ModelConfig result{.reader = reader, .family = family, .sizes = sizes};
  for (const auto step :
       {read_encoding, read_head_dim, read_layers, read_per_layer_config, read_lengths,
        read_rotary_dim, read_base, read_fraction, read_pairing, read_layout}) {
    if (!reader.failed()) step(reader, result);  // keeps the first error
  }
  return result;
}

}  // namespace rotary
