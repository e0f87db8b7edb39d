// SPDX-License-Identifier: Apache-2.0
// The facts that a model family's code assumes and its config does not state: one row for each
// model_type, in families/. If a row names no other source, it is from the modeling and
// configuration files of Hugging Face Transformers at c49429ed (5.16.0.dev0), and agrees with the
// classes of 5.24.0 (./dev golden --classes).
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

// The type of layer 0, 1, …, for classes whose types do not repeat at an interval.
using TypeOfLayer = std::string_view (*)(std::int64_t layer, std::int64_t layers);

// For families whose config decides the encoding: by a key that is true or false, or by `read`.
struct EncodingChoice {
  std::string_view key = {};
  LayerEncoding if_true = LayerEncoding::none;
  LayerEncoding if_false = LayerEncoding::none;
  LayerEncoding if_absent = LayerEncoding::none;
  LayerEncoding (*read)(Reader& config) = nullptr;
};

struct ModelConfig;

// The first position of a sinusoidal table. padding: the one after the padding token's id, as in
// fairseq.
enum class CountsFrom { spec, padding };

// A family's sinusoidal table. of(dim): the table with dim features.
struct SinusoidalForm {
  SinusoidalSpec (*of)(std::int64_t dim) = nullptr;
  CountsFrom counts_from = CountsFrom::spec;
};

// Reads the bias that layers add to scores; nothing if the config lacks a size.
using BiasReader = std::optional<RelativeBias> (*)(const ModelConfig& config,
                                                   std::vector<ValueSource>& sources);

// For a family whose config decides the pairing: half if the key is false, `if_true` if it is true.
struct PairingSwitch {
  std::string_view key = {};  // if absent: Family::pairing
  Pairing if_true = Pairing::interleaved_to_half;
};

struct BaseForm {
  std::optional<double> otherwise = {};  // default; absent: the config must state it
  std::string_view key = "rope_theta";
  std::string_view other_key = {};  // read if `key` is absent
  std::string_view object = {};     // object of the config that holds the keys
  std::string_view ratio_key = {};  // multiplies the base
};

// How a family determines rotary_dim, the number of features that rotate.
enum class PartialRotary {
  fraction,            // int(head_dim * fraction)
  fraction_if_scaled,  // fraction, but rope_type default ignores it
  dimension,           // the key rotary_dim
  whole_axes,          // the most features that give each axis equally many pairs
};

// The meaning of the key rotary_dim for families that use a fraction.
enum class RotaryDimKey {
  ignored,
  read,       // replaces an absent fraction
  stands_in,  // read for older configs; Transformers 5 ignores it
  disputed,   // only programs other than Transformers read it
};

// The place of the rotated features in a head.
enum class Window { leading, trailing };

struct RotatedPart {
  PartialRotary given_by = PartialRotary::fraction_if_scaled;
  double fraction = 1;          // if the config gives none
  std::int64_t rotary_dim = 0;  // default of PartialRotary::dimension
  std::string_view key = "partial_rotary_factor";
  std::string_view other_key = {};  // read if `key` is absent
  RotaryDimKey rotary_dim_key = RotaryDimKey::ignored;
  Window window = Window::leading;
};

// Multi-head latent attention: defaults of qk_rope_head_dim and qk_nope_head_dim.
struct LatentAttention {
  std::int64_t rope_dim = 64;
  std::int64_t nope_dim = 128;
  std::int64_t sliding_nope_dim = 0;  // of sliding layers, if different
};

struct HeadForm {
  std::int64_t dim = 0;                // if the config gives none; 0: hidden size / heads
  std::int64_t multiple = 1;           // times hidden size / heads
  bool reads_dim = true;               // false: always hidden size / heads
  std::string_view divided_by = {};    // key of a number that divides hidden size / heads
  std::string_view full_dim_key = {};  // key of full layers' head_dim, if different
  std::int64_t full_dim = 0;
  std::optional<LatentAttention> latent = {};
};

// How a family's own code reads rope dictionaries differently from modeling_rope_utils.py.
enum class RopeDialect {
  transformers,  // no difference
  hunyuan,       // "dynamic" with alpha is NTK-aware scaling with that alpha
  qwen,          // use_dynamic_ntk beside the dictionary is a rule of its own
  phi3,    // "yarn" with short_factor and long_factor is LongRoPE with YaRN's attention factor
  sarvam,  // "deepseek_yarn" is "yarn"
  ming,    // "video_rope" names axes and no rule
  nomic,   // rotary_scaling_factor beside the dictionary is rope_type dynamic
};

// The way in which a config states the number of pairs of each axis.
enum class AxisShares {
  one_axis,     // nowhere: positions have one coordinate
  sections,     // mrope_section: pairs
  no_rotation,  // mrope_section counts features: only text rotates (HunYuan-VL)
  features,     // the list AxesForm::key beside the dictionary
  equal,        // nowhere: equal numbers
  thirds,       // nowhere: a third for each axis; the first also gets the remainder (Wan)
};

struct AxesForm {
  AxisShares given_by = AxisShares::one_axis;
  std::int64_t count = 2;     // of AxisShares::equal
  std::string_view key = {};  // of AxisShares::features
  // Default pairs of each axis, in the order in which axes get pairs. Zeros: unknown.
  std::array<std::int64_t, 4> otherwise = {};
  AxisArrangement arrangement = AxisArrangement::blocks;
  AxisExponents exponents = AxisExponents::shared;
  std::array<std::int64_t, 4> order = {0, 1, 2, 3};  // Axes::order; entries past the axes: unused
  double scale = 1;                                  // Axes::scales
  std::int64_t blocks = 1;                           // RotarySpec::blocks
};

// The names of several rope dictionaries in a config.
enum class RopeLabels {
  layer_types,
  main_and_compress,  // DeepSeek-V4: main for sliding layers, compress for others
  per_layer_lists,    // Step-3.5: lists rope_theta and partial_rotary_factors, one per layer
};

// The layers that a rope dictionary applies to if it is not split by layer type.
enum class ScaledLayers { full, all };

// The effect of a single rope_parameters on a class that expects one for each layer type.
enum class FlatParameters {
  ignored,
  refused,
  of_all_layers,  // each type gets a copy; the same holds for rope_scaling
};

enum class Dictionaries { both, rope_parameters, none };

// For families with bases of full and sliding layers under two keys outside rope_parameters.
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
  std::string_view scaled_layers_key = {};  // lists the layers that are scaled
  RopeLabels labels = RopeLabels::layer_types;
  std::string_view otherwise = {};  // JSON: default of rope_parameters
  bool fills_types = false;         // `otherwise` fills gaps in dictionaries of layer types
  std::optional<TwoBases> two_bases = {};
};

// Which of each `interval` successive layers has full attention. i: the layer's number, from 0.
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
  TypeOfLayer type_of = nullptr;  // replaces the members above
  // Other names of full_attention in lists of layer types.
  std::string_view alias_of_full = {};
};

enum class RotaryLayers {
  all,
  sliding,              // the others have no positions
  sliding_if_windowed,  // as sliding, but all if sliding_window is null
  no_rope_layers,       // the list of this name; 1: the layer rotates
  layer_rope_theta,     // the list of this name: a base for each layer; 0: no rotation
  nonzero_theta,        // layer_rope_theta with one base for all; absent: sliding
  but_cross_attention,  // layers that are not in cross_attention_layers
  with_parameters,      // layers whose type has a dictionary that is not null
};

// The keys of a factor that multiplies queries and grows with position.
enum class TemperatureKeys {
  none,    // queries do not grow
  llama4,  // attn_temperature_tuning, floor_scale, attn_scale: layers that do not rotate
  llama_4_scaling_beta,  // and original context, in the dictionary: all layers
  use_logn_attn,         // with seq_length: all layers
  beam,                  // fixed in code: layers that do not rotate
};

struct LayerForm {
  LayerPattern pattern = {};
  RotaryLayers rotating = RotaryLayers::all;
  TemperatureKeys temperature = TemperatureKeys::none;
};

// The meaning of the usual key if a config lacks the family's own key.
enum class UsualNames { the_same, another };

// A family's names of common keys. The usual names are read if a config lacks the family's.
struct ConfigKeys {
  std::string_view hidden_size = "hidden_size";
  UsualNames usual_size = UsualNames::the_same;  // of the key hidden_size
  std::string_view heads = "num_attention_heads";
  std::string_view layers = "num_hidden_layers";
  std::string_view more_layers = {};  // number of other layers, which also rotate
  std::string_view positions = "max_position_embeddings";
  std::string_view head_dim = "head_dim";
};

// A sinusoidal encoder of a model whose decoder has another encoding.
struct EncoderForm {
  SinusoidalSpec (*sinusoidal)(std::int64_t dim);
  std::string_view layers_key = "encoder_layers";
  std::string_view positions_key = "max_source_positions";
  std::int64_t positions = 0;  // if the config gives none
};

inline constexpr ConfigKeys gpt_keys = {
    .hidden_size = "n_embd", .heads = "n_head", .layers = "n_layer", .positions = "n_positions"};

// Members without a value are as for Llama.
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
  std::int64_t trained_context = 0;         // default; 0: unknown
  double softcap = 0;                       // default of attn_logit_softcapping; 0: not read
  SinusoidalForm sinusoidal = {};           // of LayerEncoding::sinusoidal
  BiasReader read_bias = nullptr;           // of LayerEncoding::alibi and t5_bias
  std::optional<EncoderForm> encoder = {};  // if different; the row then describes the decoder
  std::string_view note = {};               // unusual facts
  std::string_view warning = {};            // facts that no config of the family can state
  // Folder in transformers/models or file of Diffusers; "-": neither; empty: as model_type.
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

// The family of an alias; other names are returned as they are.
[[nodiscard]] std::string_view family_of(std::string_view model_type);

[[nodiscard]] const Family* find_family(std::string_view model_type);

// A family that reads every key and assumes nothing, for configs whose user states the pairing.
[[nodiscard]] const Family& unknown_family();

// deepseek_v2 with use_mla: false, as in DeepSeek-OCR and the smaller DeepSeek-VL2, has Llama's
// attention in its original code.
[[nodiscard]] const Family& deepseek_without_latent_attention();

// Every model_type that find_family() knows.
[[nodiscard]] std::vector<std::string_view> family_names();

// The rows by topic, each in a file of families/.
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

// The reason to refuse a model: a need that resolve() does not meet. Empty for other models.
[[nodiscard]] std::string_view reason_to_refuse(std::string_view model_type);

}  // namespace rotary
