// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "apps/failure.hpp"
#include "cli/explain/trial.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli::explain {
namespace {

using Path = std::vector<std::string>;
using Names = std::span<const std::string>;

constexpr std::string_view a_config = "a config";

class Experiment {
 public:
  Experiment(Json config, ResolveOptions options)
      : config_(std::move(config)),
        options_(std::move(options)),
        baseline_(a_config, value_or_fail(resolve(dumped(config_), options_)),
                  options_.context_tokens) {}

  [[nodiscard]] const Json& config() const { return config_; }

  [[nodiscard]] Trial without(const Path& object, Names names) const {
    return changed(object, [&](Json& parent) {
      for (const std::string& name : names) parent.erase(name);
    });
  }

  [[nodiscard]] Trial with(const Path& path, const Json& value) const {
    return changed(path, [&](Json& place) { place = value; });
  }

  // True if at least one of the named members is read. Tries values of a wrong type, which change
  // the outcome if a member is read.
  [[nodiscard]] bool are_read(const Path& object, Names names) const {
    const Trial trial = changed(object, [&](Json& parent) {
      for (const std::string& name : names) {
        Json& value = parent[name];
        value = value.is_object() ? Json(7) : Json::object({{"no such key", 7}});
      }
    });
    return !trial.is_same() || !trial.warns_equally;
  }

 private:
  template <class Change>
  [[nodiscard]] Trial changed(const Path& path, Change change) const {
    Json config = config_;
    Json* place = &config;
    for (const std::string& part : path) place = &(*place)[part];
    change(*place);
    return baseline_.compare(resolve(dumped(config), options_));
  }

  Json config_;
  ResolveOptions options_;
  Baseline baseline_;
};

// Adds the members that nothing reads. Tries all members together, then each half, because most are
// unread.
void add_unread(const Experiment& experiment, const Path& object, Names names,
                std::set<std::string>& unread) {
  if (names.empty()) return;
  const Trial without = experiment.without(object, names);
  if (without.is_same() && without.lost_warnings.empty() && !experiment.are_read(object, names)) {
    unread.insert(names.begin(), names.end());
    return;
  }
  if (names.size() == 1) return;
  add_unread(experiment, object, names.first(names.size() / 2), unread);
  add_unread(experiment, object, names.subspan(names.size() / 2), unread);
}

std::optional<Json> another_value(const Json& value) {
  if (value.is_boolean()) return Json(!value.get<bool>());
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number <= -(std::int64_t{1} << 52) || number >= std::int64_t{1} << 52) return {};
    return Json(number == 0 ? 1 : 2 * number);
  }
  if (value.is_number()) return Json(value.get<double>() == 0 ? 1 : 2 * value.get<double>());
  return {};
}

// Adds a key for each member. For an object that is read, adds its members' keys instead.
void visit(const Experiment& experiment, Path& path, const Json& object,
           std::vector<ConfigKey>& keys) {
  // Each member gives at least one key.
  check_limit(a_config, most_keys, keys.size() + object.size(), " or more");
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  std::set<std::string> unread;
  add_unread(experiment, path, names, unread);
  for (const auto& [name, value] : object.items()) {
    path.push_back(name);
    if (unread.contains(name)) {
      keys.push_back(
          {.path = fmt::format("{}", fmt::join(path, ".")), .value = value, .use = KeyUse::unread});
    } else if (value.is_object() && !value.empty()) {
      visit(experiment, path, value, keys);
    } else {
      const Path around(path.begin(), path.end() - 1);
      ConfigKey& key =
          keys.emplace_back(judged_key(fmt::format("{}", fmt::join(path, ".")), value,
                                       experiment.without(around, std::span(&path.back(), 1))));
      const std::optional<Json> other = another_value(value);
      if (other && shows_other_value(key))
        key.other = {.value = *other, .outcome = experiment.with(path, *other).outcome};
    }
    path.pop_back();
  }
}

// The meanings of config keys. rotary/scaling.hpp describes the parameters of scaling rules.
struct Meaning {
  std::string_view keys;  // separated by blanks
  std::string_view meaning;
};

constexpr auto meanings = std::to_array<Meaning>({
    {"model_type", "the family: its code decides the pairing and what is not written here"},
    {"architectures", "the model's class; positions follow model_type"},
    {"hidden_size d_model n_embd dim", "features of a token; head_dim is this / number of heads"},
    {"num_attention_heads n_head n_heads num_heads",
     "query heads; head_dim is the model's width / this"},
    {"num_key_value_heads n_kv_heads",
     "key and value heads; several queries share one, rotation does not"},
    {"multi_query", "all queries share one key head; the rotation is the same"},
    {"num_hidden_layers num_layers n_layer n_layers decoder_layers encoder_layers",
     "how many layers there are"},
    {"max_position_embeddings max_seq_len max_sequence_length n_ctx n_positions seq_length",
     "the longest context it was trained or tuned for, in tokens"},
    {"max_source_positions", "how many positions the encoder has a vector for"},
    {"initial_context_length", "the context before stretching, which the rule measures by"},
    {"head_dim", "features of a head; d of base^(-2i/d), unless only a part rotates"},
    {"attention_head_dim d_kv kv_channels", "features of a head"},
    {"global_head_dim", "head_dim of the layers that see everything"},
    {"rotary_dim", "rotated features of a head; the rest has no position"},
    {"partial_rotary_factor rotary_pct", "the rotated part of a head; the rest has no position"},
    {"qk_rope_head_dim", "rotated features of a query head (latent attention)"},
    {"qk_nope_head_dim", "unrotated features of a query head (latent attention)"},
    {"position_embedding_type", "how positions enter: rope, alibi, absolute, ..."},
    {"pos_emb", "how positions enter"},
    {"dual_chunk_attention_config", "other distances beyond a chunk, only in vLLM and SGLang"},
    {"chunk_size", "dual chunk attention: the tokens beyond which distances change"},
    {"local_size", "dual chunk attention: how much of the chunk before keeps its distances"},
    {"per_layer_config", "values that differ in single layers"},
    {"use_mla", "whether attention is latent (DeepSeek)"},
    {"rotary use_rotary_pos_emb", "false: nothing rotates"},
    {"alibi", "true: linear biases on scores in place of a rotation"},
    {"alibi_bias_max", "the last head's slope is 2^-this"},
    {"relative_attention_num_buckets", "T5: buckets of distances; each head has a number for each"},
    {"relative_attention_max_distance", "T5: from here on all distances share the last number"},
    {"sinusoidal_embeddings sinusoidal_pos_embds", "true: fixed vectors in place of learned ones"},
    {"use_learned_position_embeddings", "false: fixed vectors in place of learned ones"},
    {"pad_token_id", "fairseq's sinusoidal tables count positions from the one after it"},
    {"attn_config", "what concerns attention"},
    {"new_decoder_architecture", "Falcon: chooses what follows from other keys"},
    {"rope_theta rotary_emb_base", "the base: pair i rotates by base^(-2i/d) radians a token"},
    {"rope_local_base_freq", "the base of layers with local attention"},
    {"compress_rope_theta", "the base of layers with compressed keys"},
    {"rope_interleaved", "true: neighbours are a pair"},
    {"rope_parameters", "what concerns the rotation"},
    {"rope_scaling rope_type type", "how frequencies are scaled beyond the trained context"},
    {"use_scaled_rope", "Llama 3.1's stretching of frequencies"},
    {"original_rope", "false would be another rotation, which is refused"},
    {"alpha", "NTK: the base times alpha^(d/(d-2))"},
    {"mscale_all_dim", "YaRN: what mscale is divided by; in DeepSeek also the softmax scale"},
    {"truncate", "YaRN: whether the ends of its ramp are rounded to whole pairs"},
    {"mrope_section", "how many pairs follow time, height and width; in text all are one number"},
    {"mrope_interleaved", "in which order the axes of an image share the pairs"},
    {"axes_dims_rope", "how many features follow each axis of an image"},
    {"xdrope_section", "pairs for each of several axes; refused if given"},
    {"position_embedding_xdrope", "true would be a rotation by several axes, which is refused"},
    {"use_dynamic_ntk", "Qwen: the base grows with each doubling of a prompt beyond its context"},
    {"use_logn_attn", "Qwen: queries grow with log(position) beyond the trained context"},
    {"llama_4_scaling_beta", "queries grow with the logarithm of their position, so strongly"},
    {"layer_types", "what kind of attention each layer has; kinds may rotate differently"},
    {"no_rope_layers", "which layers rotate (1) and which have no position (0)"},
    {"attn_type_list", "which layers have softmax attention, and with it positions"},
    {"full_attention_interval", "one layer in this many has full attention, and positions"},
    {"sliding_window attention_chunk_size",
     "how far back a layer of local attention looks, in tokens"},
    {"sliding_window_pattern", "which layers see only a window"},
    {"compress_ratios", "which layers attend to compressed keys, and by how much"},
    {"cross_attention_layers", "which layers attend to an image, without positions"},
});

// The parameter's meaning in its first rule. Begins with the rule's name if no other rule has it.
std::string meaning_of_parameter(std::string_view name) {
  std::string meaning;
  std::vector<std::string_view> rules;
  for (const std::string_view rule : rope_types()) {
    const std::optional<Scaling> scaling = scaling_named(rule);
    for_each_parameter(*scaling, [&](const ParameterFacts& facts, const auto&) {
      if (facts.name != name) return;
      if (meaning.empty()) meaning = facts.meaning;
      rules.push_back(rule);
    });
  }
  return rules.size() == 1 ? fmt::format("{}: {}", rules.front(), meaning) : meaning;
}

}  // namespace

std::vector<ConfigKey> keys_of_config(std::string_view json, const ResolveOptions& options) {
  check_limit(a_config, most_bytes, json.size());
  Json config = ordered_config(json);
  for (const ConfigOverride& change : options.overrides) {  // as resolve() does
    Json value = parse_json_in_order(change.value);
    if (value.is_discarded()) value = change.value;
    if (!change.from.empty()) {
      const auto from = pointer_to(change.from);
      Json& object = config[from.parent_pointer()];
      value = object[from.back()];
      object.erase(from.back());
    }
    config[pointer_to(change.key)] = std::move(value);
  }
  ResolveOptions others = options;
  others.overrides.clear();
  const Experiment experiment(std::move(config), std::move(others));
  std::vector<ConfigKey> keys;
  Path path;
  visit(experiment, path, experiment.config(), keys);
  return keys;
}

std::string meaning_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  const bool is_word = name.find(' ') == std::string_view::npos;
  const std::string word = fmt::format(" {} ", name);
  for (const auto& [keys, meaning] : meanings) {
    if (is_word && fmt::format(" {} ", keys).find(word) != std::string::npos) {
      return std::string(meaning);
    }
  }
  return meaning_of_parameter(name);
}

}  // namespace rotary::cli::explain
