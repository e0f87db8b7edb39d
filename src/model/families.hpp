// SPDX-License-Identifier: Apache-2.0
// Facts that a model family's code assumes and its config does not say, as data: one row for each
// model_type, in families/. Unless the row says otherwise, it was taken from the model and
// configuration files of Hugging Face Transformers at c49429ed (5.16.0.dev0), and has since been
// compared with every class of 5.24.0 (./dev golden --classes).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// The type of a layer, counted from 0, for classes whose types do not repeat at an interval.
using TypeOfLayer = std::string_view (*)(std::int64_t layer, std::int64_t layers);

// For families whose config says how positions enter a layer: by a key that is true or false, or as
// `read` finds it.
struct EncodingChoice {
  std::string_view key = {};
  LayerEncoding if_true = LayerEncoding::none;
  LayerEncoding if_false = LayerEncoding::none;
  LayerEncoding if_absent = LayerEncoding::none;
  LayerEncoding (*read)(Reader& config) = nullptr;
};

struct ModelConfig;

// Where a sinusoidal table starts. padding: as in fairseq, after the row of the padding token,
// whose id the config states.
enum class CountsFrom { spec, padding };

// How a family makes its sinusoidal table. of(dim): the table with dim features.
struct SinusoidalForm {
  SinusoidalSpec (*of)(std::int64_t dim) = nullptr;
  CountsFrom counts_from = CountsFrom::spec;
};

// Reads the bias that layers add to scores; nothing if the config lacks a size.
using BiasReader = std::optional<RelativeBias> (*)(const ModelConfig& config,
                                                   std::vector<ValueSource>& sources);

// For a family whose config says which features are paired: rotate_half if the key is false,
// `if_true` if it is true.
struct PairingSwitch {
  std::string_view key = {};  // absent from a config: Family::pairing
  Pairing if_true = Pairing::interleaved_to_half;
};

struct BaseForm {
  std::optional<double> otherwise = {};  // if the config gives none; absent: the config must
  std::string_view key = "rope_theta";
  std::string_view other_key = {};  // read if `key` is absent
  std::string_view object = {};     // object of the config that holds the keys
  std::string_view ratio_key = {};  // multiplies the base
};

// How a family determines rotary_dim, the number of features that rotate.
enum class PartialRotary {
  fraction,            // int(head_dim * fraction)
  fraction_if_scaled,  // as fraction, but rope_type default ignores the fraction
  dimension,           // the key rotary_dim
  whole_axes,          // the most features that give each axis the same number of pairs
};

// The meaning of the key rotary_dim for families that use a fraction.
enum class RotaryDimKey {
  ignored,
  read,       // replaces an absent fraction
  stands_in,  // as read, although Transformers 5 does not: configs older than the fraction
  disputed,   // other programs read it, Transformers does not
};

// Where the rotated features are in the head if not all rotate: first or last.
enum class Window { leading, trailing };

struct RotatedPart {
  PartialRotary given_by = PartialRotary::fraction_if_scaled;
  double fraction = 1;          // if the config gives none
  std::int64_t rotary_dim = 0;  // for PartialRotary::dimension if the config gives none
  std::string_view key = "partial_rotary_factor";
  std::string_view other_key = {};  // read if `key` is absent
  RotaryDimKey rotary_dim_key = RotaryDimKey::ignored;
  Window window = Window::leading;
};

// Multi-head latent attention: the sizes if the config lacks qk_rope_head_dim, qk_nope_head_dim.
struct LatentAttention {
  std::int64_t rope_dim = 64;
  std::int64_t nope_dim = 128;
  std::int64_t sliding_nope_dim = 0;  // of sliding layers if it differs
};

struct HeadForm {
  std::int64_t dim = 0;                // if the config gives none; 0: hidden size / heads
  std::int64_t multiple = 1;           // times hidden size / heads
  bool reads_dim = true;               // false: always hidden size / heads
  std::string_view divided_by = {};    // key of a number that divides hidden size / heads
  std::string_view full_dim_key = {};  // key of full layers' head_dim, if theirs differs
  std::int64_t full_dim = 0;
  std::optional<LatentAttention> latent = {};
};

// Families whose own code reads rope dictionaries differently from modeling_rope_utils.py.
enum class RopeDialect {
  transformers,  // no difference
  hunyuan,       // "dynamic" with alpha is NTK-aware scaling with that alpha
  qwen,          // use_dynamic_ntk beside the dictionary is a rule of its own
  phi3,    // "yarn" with short_factor and long_factor is LongRoPE with YaRN's attention factor
  sarvam,  // "deepseek_yarn" is "yarn"
  ming,    // "video_rope" names axes, and no rule
  nomic,   // rotary_scaling_factor beside the dictionary is rope_type dynamic
};

// Where a model says how many pairs of a head each axis of its positions has.
enum class AxisShares {
  one_axis,     // nowhere: positions have one coordinate
  sections,     // mrope_section: pairs
  no_rotation,  // mrope_section deals out features, not pairs: rotates only text (HunYuan-VL)
  features,     // the list AxesForm::key beside the dictionary
  equal,        // nowhere: they are equally large
  thirds,       // nowhere: a third for each axis but the first, which has the rest (Wan)
};

// The axes of a family's positions: what is needed to make an Axes, as data.
struct AxesForm {
  AxisShares given_by = AxisShares::one_axis;
  std::int64_t count = 2;     // of AxisShares::equal
  std::string_view key = {};  // of AxisShares::features
  // The pairs of each axis if the config gives none, in the order in which pairs are dealt out to
  // the axes. Zeros: not known.
  std::array<std::int64_t, 4> otherwise = {};
  AxisArrangement arrangement = AxisArrangement::blocks;
  AxisExponents exponents = AxisExponents::shared;
  std::array<std::int64_t, 4> order = {0, 1, 2, 3};  // Axes::order, as far as there are axes
  double scale = 1;                                  // Axes::scales
  std::int64_t blocks = 1;                           // RotarySpec::blocks
};

// How a config with several rope dictionaries names them.
enum class RopeLabels {
  layer_types,
  main_and_compress,  // DeepSeek-V4: main for sliding layers, compress for others
  per_layer_lists,    // Step-3.5: lists rope_theta and partial_rotary_factors, one per layer
};

// The layers to which a rope dictionary applies that is not split by layer type.
enum class ScaledLayers { full, all };

// The behaviour of a class that expects one dictionary per layer type, if rope_parameters is a
// single dictionary.
enum class FlatParameters {
  ignored,
  refused,
  of_all_layers,  // each type has a copy, as it has of rope_scaling
};

enum class Dictionaries { both, rope_parameters, none };

// For families whose full and sliding layers have different bases (theta), each under a config key
// of its own, outside rope_parameters.
struct TwoBases {
  std::string_view full_type = "full_attention";
  std::string_view full_key;
  double full;  // if the config gives none
  std::string_view sliding_key;
  double sliding;
  ScaledLayers scaled = ScaledLayers::full;
  FlatParameters flat = FlatParameters::ignored;
};

// The dictionaries rope_parameters and rope_scaling.
struct RopeForm {
  bool is_read = true;  // false: fixed base, no scaling
  Dictionaries dictionaries = Dictionaries::both;
  bool scales = true;  // false: the class refuses every rope_type but default
  RopeDialect dialect = RopeDialect::transformers;
  std::string_view scaled_layers_key = {};  // lists the layers that scaling applies to
  RopeLabels labels = RopeLabels::layer_types;
  std::string_view otherwise = {};  // rope_parameters, as JSON, of a config without any
  bool fills_types = false;         // `otherwise` fills gaps in dictionaries of layer types
  std::optional<TwoBases> two_bases = {};
};

// Which of each `interval` successive layers has full attention. i is the layer's number, from 0.
enum class FullLayer {
  last,           // (i + 1) % interval == 0
  first,          // i % interval == 0
  last_and_zero,  // the last of each interval, and layer 0
};

inline constexpr std::int64_t all_alike = 0;
inline constexpr std::int64_t must_be_listed = -1;

struct LayerPattern {
  std::string_view interval_key = {};
  std::int64_t interval = all_alike;
  FullLayer full = FullLayer::last;
  std::string_view full_type = "full_attention";
  std::string_view other_type = "sliding_attention";
  TypeOfLayer type_of = nullptr;  // instead of the above
  // Names that this class gives to full_attention in a list of layer types.
  std::string_view alias_of_full = {};
};

enum class RotaryLayers {
  all,
  sliding,              // the others have no positions
  sliding_if_windowed,  // as sliding, but all if sliding_window is null
  no_rope_layers,       // the list of that name; 1 means that a layer rotates
  layer_rope_theta,     // the list of that name: a base per layer; 0: no rotation
  nonzero_theta,        // as layer_rope_theta, with one base for all; absent: as sliding
  but_cross_attention,  // layers that are not in the list cross_attention_layers
  with_parameters,      // layers whose type has a dictionary that is not null
};

// The config keys that give the factor by which a family scales its queries with position.
enum class TemperatureKeys {
  none,    // queries do not grow
  llama4,  // attn_temperature_tuning, floor_scale, attn_scale: layers that do not rotate
  llama_4_scaling_beta,  // in the dictionary, with its original context: all layers
  use_logn_attn,         // with seq_length: all layers
  beam,                  // fixed in code: layers that do not rotate
};

struct LayerForm {
  LayerPattern pattern = {};
  RotaryLayers rotating = RotaryLayers::all;
  TemperatureKeys temperature = TemperatureKeys::none;
};

// The meaning of the usual key in a config that lacks the family's own key.
enum class UsualNames { the_same, another };

// A family's names of values that every config has. If absent, the usual names are read.
struct ConfigKeys {
  std::string_view hidden_size = "hidden_size";
  UsualNames usual_size = UsualNames::the_same;  // of the key hidden_size
  std::string_view heads = "num_attention_heads";
  std::string_view layers = "num_hidden_layers";
  std::string_view more_layers = {};  // key of the number of other layers, which rotate likewise
  std::string_view positions = "max_position_embeddings";
  std::string_view head_dim = "head_dim";
};

// The encoder of a model if it has sinusoidal positions and its decoder has another encoding.
struct EncoderForm {
  SinusoidalSpec (*sinusoidal)(std::int64_t dim);
  std::string_view layers_key = "encoder_layers";
  std::string_view positions_key = "max_source_positions";
  std::int64_t positions = 0;  // if the config gives none
};

inline constexpr ConfigKeys gpt_keys = {
    .hidden_size = "n_embd", .heads = "n_head", .layers = "n_layer", .positions = "n_positions"};

// A row says only what differs from Llama.
struct Family {
  std::string_view model_type = {};  // empty: unknown_family()
  LayerEncoding encoding = LayerEncoding::rotary;
  EncodingChoice choice = {};  // without key and read: always `encoding`
  Pairing pairing = Pairing::half;
  PairingSwitch pairing_switch = {};
  BaseForm base = {};
  RotatedPart part = {};
  Sense sense = Sense::positive;
  Rounding rounding = Rounding::every_step;
  HeadForm head = {};
  RopeForm rope = {};
  AxesForm axes = {};
  LayerForm layers = {};
  ConfigKeys keys = {};
  std::int64_t trained_context = 0;  // if the config gives none; 0: then it is not known
  double softcap = 0;              // if attn_logit_softcapping is absent; 0: the family reads none
  SinusoidalForm sinusoidal = {};  // of LayerEncoding::sinusoidal
  BiasReader read_bias = nullptr;  // of LayerEncoding::alibi and t5_bias
  std::optional<EncoderForm> encoder = {};  // if it differs; the row then describes the decoder
  std::string_view note = {};               // what is unusual, for people
  std::string_view warning = {};            // what a config of the family can never say
  // Folder in transformers/models, or file of Diffusers; "-": neither. Absent: it follows from the
  // model_type.
  std::string_view source = {};
};

constexpr Family from(std::string_view source, Family family) {
  family.source = source;
  return family;
}

// Another name that published files use for a family of this table.
struct Alias {
  std::string_view model_type;
  std::string_view family;
  std::string_view note;  // for people
};

// The family that a name means: the name itself unless it is an alias.
[[nodiscard]] std::string_view family_of(std::string_view model_type);

[[nodiscard]] const Family* find_family(std::string_view model_type);

// Reads every key and assumes nothing: for configs whose user states the pairing.
[[nodiscard]] const Family& unknown_family();

// deepseek_v2 with use_mla: false, as in DeepSeek-OCR and the smaller DeepSeek-VL2: the original
// code then has Llama's attention.
[[nodiscard]] const Family& deepseek_without_latent_attention();

// Every model_type that find_family() knows.
[[nodiscard]] std::vector<std::string_view> family_names();

// The rows by topic. Each function is in a file of its own in families/.
[[nodiscard]] std::span<const Family> llama_like_families();
[[nodiscard]] std::span<const Family> partial_families();
[[nodiscard]] std::span<const Family> interleaved_families();
[[nodiscard]] std::span<const Family> latent_families();
[[nodiscard]] std::span<const Family> layered_families();
[[nodiscard]] std::span<const Family> two_base_families();
[[nodiscard]] std::span<const Family> multimodal_families();
[[nodiscard]] std::span<const Family> other_encoding_families();
[[nodiscard]] std::span<const Family> learned_families();
[[nodiscard]] std::span<const Family> sound_families();
[[nodiscard]] std::span<const Family> remote_code_families();
[[nodiscard]] std::span<const Family> vision_families();
[[nodiscard]] std::span<const Family> diffusion_families();

// The reason to refuse a model: what a spec lacks for it. Empty for other names.
[[nodiscard]] std::string_view reason_to_refuse(std::string_view model_type);

}  // namespace rotary
