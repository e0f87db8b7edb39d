// SPDX-License-Identifier: Apache-2.0
// Relative position biases: score ← score + bias(head, i, j) for a query at i and a key at j.
// Computed in double and rounded once to the view's dtype. docs/theory/relative.md has formulas,
// sources and errors.
//
//   const RelativeBias bias = Alibi{.heads = 32};
//   fill_bias(scores, bias, BiasRange{});  // [batch, heads, queries, keys]
#ifndef ROTARY_RELATIVE_BIAS_HPP
#define ROTARY_RELATIVE_BIAS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "rotary/describe.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The relative attention bias of T5: each bucket of distances has a learned number for each head.
// Small distances have a bucket each; the buckets of larger ones widen logarithmically. Raffel et
// al. 2020 (arXiv 1910.10683), §2.1; _relative_position_bucket of Transformers.
//
//   const RelativeBias bias = T5Bias{.buckets = buckets, .table = weights};
//   t5_bucket(-9, buckets);  // a key nine tokens before the query

// bidirectional (encoders): half of the buckets are for keys after the query. causal (decoders):
// every key after the query is in bucket 0.
enum class T5Direction : std::int32_t { bidirectional = 1, causal = 2 };

// The float32 operations for buckets of large distances, which matter at the edges of buckets.
// transformers: also Mesh TensorFlow. ggml: llama.cpp, with max_distance 128 only.
enum class T5Rounding : std::int32_t { transformers = 1, ggml = 2 };

// The buckets of a T5 bias.
struct T5Buckets {
  // relative_attention_num_buckets, 32 in T5. causal: >= 2; bidirectional: >= 4 and even; <= 2^24.
  std::int64_t buckets = 0;
  // relative_attention_max_distance, 128 in T5: this and larger distances share the last bucket.
  // Must exceed buckets / 2 (bidirectional: buckets / 4), the number of buckets with one distance.
  std::int64_t max_distance = 0;
  T5Direction direction = {};  // must be given
  T5Rounding rounding = T5Rounding::transformers;

  friend bool operator==(const T5Buckets&, const T5Buckets&) = default;
};

// The bucket, in [0, buckets), of a relative position (key - query).
[[nodiscard]] ROTARY_API Result<std::int64_t> t5_bucket(std::int64_t relative_position,
                                                        const T5Buckets& buckets) noexcept;

// table[bucket][head]. T5 adds it to scores that are not divided by sqrt(head_dim).
struct T5Bias {
  T5Buckets buckets;
  ConstTableView table;  // [buckets, heads]; not owned
};

template <>
struct Describe<T5Bias> {
  static constexpr std::string_view name = "t5";
  static std::int64_t heads(const T5Bias& of) noexcept { return of.table.features; }
  static std::int64_t units(const T5Bias&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("buckets", positive_count, "rows of the table"), self.buckets.buckets);
    visit(
        setting("max_distance", positive_count, "from here on all distances share the last bucket"),
        self.buckets.max_distance);
    visit(setting("direction", any_number, "encoder or decoder"), self.buckets.direction);
    visit(setting("rounding", any_number, "whose float32 edges"), self.buckets.rounding);
    visit(learned("table", ParameterShape::rows_by_heads, "the bias of each bucket and head"),
          self.table);
  }
};

// ALiBi: a head's scores fall by its slope m times the distance. Press et al. 2022 (arXiv
// 2108.12409).
//
//   const RelativeBias bias = Alibi{.heads = 32};
//   fill_bias(scores, bias, {.first_query = 7});  // one row of a decode step

// The bias of a query at i and a key at j. causal: -m (i - j), for masks that hide j > i.
// symmetric: -m |i - j|. key_position (BLOOM, Falcon, MPT): m j, with the softmax of causal.
enum class AlibiForm : std::int32_t { causal = 1, symmetric = 2, key_position = 3 };

// If n is a power of two, head h of n has the slope 2^(-bias_max (h + 1) / n). For other n, the
// slopes of the next lower power of two come first, then every second slope of the next higher one.
// Press et al., BLOOM, Falcon, Baichuan, MPT and ggml use these slopes; their roundings differ.
struct Alibi {
  std::int64_t heads = 0;  // > 0; with tensor parallelism, the heads of this device
  // With tensor parallelism: this device's first head, and the model's number of heads (<= 2^20).
  // model_heads absent: equal to heads.
  std::int64_t first_head = 0;
  std::optional<std::int64_t> model_heads = {};
  double bias_max = 8;  // MPT's alibi_bias_max; in (0, 64]
  AlibiForm form = AlibiForm::causal;
  // [heads], from -2^256 to 2^256: learned slopes. Empty: the slopes above.
  std::vector<double> slopes = {};

  friend bool operator==(const Alibi&, const Alibi&) = default;
};

template <>
struct Describe<Alibi> {
  static constexpr std::string_view name = "alibi";
  static std::int64_t heads(const Alibi& of) noexcept { return of.heads; }
  static std::int64_t units(const Alibi&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("heads", positive_count, "heads here"), self.heads);
    visit(setting("first_head", any_number, "the first of them in the model"), self.first_head);
    visit(setting("model_heads", any_number, "heads of the model"), self.model_heads);
    visit(setting("bias_max", {0x1p-1074, 64, "> 0 and <= 64"}, "the last slope is 2^-bias_max"),
          self.bias_max);
    visit(setting("form", any_number, "what a slope multiplies"), self.form);
    visit(learned("slopes", ParameterShape::heads, "the slope of each head, where it is learned"),
          self.slopes);
  }
};

// The slopes, [heads], each with a relative error of at most bias_error_bound.
[[nodiscard]] ROTARY_API Result<std::vector<double>> alibi_slopes(const Alibi& alibi) noexcept;

// Key positions of a padded batch row for AlibiForm::key_position: cumsum(mask) - 1 for real
// tokens, 0 for padding (mask 0). Error: invalid_argument for sizes that differ.
[[nodiscard]] ROTARY_API Status alibi_key_positions(std::span<std::int64_t> positions,
                                                    std::span<const std::uint8_t> mask) noexcept;

// KERPLE: relative biases from conditionally positive definite kernels, with two learned numbers
// for each head. Chi et al. 2022 (arXiv 2205.09921); chijames/KERPLE, megatron/mpu/layers.py.

// -p ln(1 + a |i - j|).
struct KerpleLog {
  std::vector<double> p = {};  // [heads], in (0, 2^256]
  std::vector<double> a = {};  // [heads], in (0, 2^256]

  friend bool operator==(const KerpleLog&, const KerpleLog&) = default;
};

// -a |i - j|^p.
struct KerplePower {
  std::vector<double> a = {};  // [heads], in (0, 2^256]
  std::vector<double> p = {};  // [heads], in (0, 2]

  friend bool operator==(const KerplePower&, const KerplePower&) = default;
};

template <>
struct Describe<KerpleLog> {
  static constexpr std::string_view name = "kerple_log";
  static std::int64_t heads(const KerpleLog& of) noexcept {
    return static_cast<std::int64_t>(of.p.size());
  }
  static std::int64_t units(const KerpleLog&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(learned("p", ParameterShape::heads, "how strongly distance counts", positive_number,
                  {StartKind::uniform, 0, 2}),
          self.p);
    visit(learned("a", ParameterShape::heads, "distances per unit of the logarithm",
                  positive_number, {StartKind::uniform, 0, 1}),
          self.a);
  }
};

template <>
struct Describe<KerplePower> {
  static constexpr std::string_view name = "kerple_power";
  static std::int64_t heads(const KerplePower& of) noexcept {
    return static_cast<std::int64_t>(of.p.size());
  }
  static std::int64_t units(const KerplePower&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(learned("a", ParameterShape::heads, "how strongly distance counts", positive_number,
                  {StartKind::uniform, 0, 1}),
          self.a);
    visit(
        learned("p", ParameterShape::heads,
                "power of the distance; beyond 2 the kernel is not conditionally positive definite",
                {0x1p-1074, 2, "> 0 and <= 2"}, {StartKind::uniform, 0, 2}),
        self.p);
  }
};

// Clamps all numbers to at least 0.01 and KerplePower::p to at most 2, as the authors' code does
// before each use; other numbers to at most 2^256. NaN stays.
[[nodiscard]] ROTARY_API KerpleLog clamped(KerpleLog kerple) noexcept;
[[nodiscard]] ROTARY_API KerplePower clamped(KerplePower kerple) noexcept;

// FIRE: a small network maps the distance, divided by the query's position, to a bias. Li et al.
// 2024 (arXiv 2310.04418); DAPE, positional_embeddings.py.
//
//   const Fire fire{.c = 0.1, .threshold = 512, .hidden_weight = w, .hidden_bias = b, …};
//   fill_bias(scores, fire, {});

// With x = ln(|c (i - j)| + 1) / (ln(|c| max(i, |threshold|) + 1) + epsilon):
//   bias[head] = output_bias[head] + Σ_k output_weight[head][k] max(0, hidden_weight[k] x +
//                hidden_bias[k]).
// Shifting all positions changes the bias if i > |threshold|. Numbers from -2^256 to 2^256.
struct Fire {
  double c = 0.1;
  // The paper's L. If code stores init_L and a learned multiplier, pass their product. (DAPE stores
  // 256, half of its argument init_L.)
  double threshold = 512;
  double epsilon = 1e-6;                   // in [2^-100, 1]
  std::vector<double> hidden_weight = {};  // [width]
  std::vector<double> hidden_bias = {};    // [width]
  std::vector<double> output_weight = {};  // [heads][width]
  std::vector<double> output_bias = {};    // [heads]

  friend bool operator==(const Fire&, const Fire&) = default;
};

template <>
struct Describe<Fire> {
  static constexpr std::string_view name = "fire";
  static std::int64_t heads(const Fire& of) noexcept {
    return static_cast<std::int64_t>(of.output_bias.size());
  }
  static std::int64_t units(const Fire& of) noexcept {
    return static_cast<std::int64_t>(of.hidden_weight.size());
  }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(learned("c", ParameterShape::one, "distances per unit of the logarithm"), self.c);
    visit(learned("threshold", ParameterShape::one, "L: the least reach of a query"),
          self.threshold);
    visit(setting("epsilon", {0x1p-100, 1, "from 2^-100 to 1"}, "added to the divisor of x"),
          self.epsilon);
    visit(learned("hidden_weight", ParameterShape::units, "weights of the hidden layer"),
          self.hidden_weight);
    visit(learned("hidden_bias", ParameterShape::units, "biases of the hidden layer"),
          self.hidden_bias);
    visit(learned("output_weight", ParameterShape::heads_by_units,
                  "weights from the hidden layer to each head"),
          self.output_weight);
    visit(learned("output_bias", ParameterShape::heads, "the bias of x = 0 without hidden units"),
          self.output_bias);
  }
};

// Sandwich: the inner product of two sinusoidal embeddings as a bias, without learned numbers. Chi
// et al. 2023 (arXiv 2212.10356), as NeMo computes it (sandwich_relative_position_embedding.py):
// (Σ_{k=1}^{dim/2} cos((i - j) base^(-2k/dim)) - dim/2) heads / (8 (head + 1)).
struct Sandwich {
  std::int64_t dim = 0;    // even, in [2, 2^16]; NeMo: head_dim
  double base = 10000;     // finite, >= 1
  std::int64_t heads = 0;  // in [1, 2^20]

  friend bool operator==(const Sandwich&, const Sandwich&) = default;
};

template <>
struct Describe<Sandwich> {
  static constexpr std::string_view name = "sandwich";
  static std::int64_t heads(const Sandwich& of) noexcept { return of.heads; }
  static std::int64_t units(const Sandwich&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("dim", positive_count, "twice the frequencies"), self.dim);
    visit(
        setting("base", {1, 0x1.fffffffffffffp1023, "finite and >= 1"}, "base of the frequencies"),
        self.base);
    visit(setting("heads", positive_count, "heads here"), self.heads);
  }
};

// TISA, translation-invariant self-attention: for each head a sum of learned bumps over the
// distance. Wennberg & Henter 2021 (arXiv 2106.01950), equation 5:
// Σ_s a_s exp(-|b_s| (Δ - c_s)²), Δ = j - i of a query at i and a key at j.
struct Tisa {
  std::int64_t kernels = 0;    // bumps of each head, in [1, 2^20]; 5 in the paper
  std::vector<double> a = {};  // [heads][kernels], from -2^256 to 2^256: heights
  std::vector<double> b = {};  // [heads][kernels]: narrowness
  std::vector<double> c = {};  // [heads][kernels]: Δ at the top of a bump, tokens

  friend bool operator==(const Tisa&, const Tisa&) = default;
};

template <>
struct Describe<Tisa> {
  static constexpr std::string_view name = "tisa";
  static std::int64_t heads(const Tisa& of) noexcept {
    return of.kernels < 1 ? 0 : static_cast<std::int64_t>(of.a.size()) / of.kernels;
  }
  static std::int64_t units(const Tisa& of) noexcept { return of.kernels; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    constexpr auto each = ParameterShape::heads_by_units;
    visit(ParameterFacts{.name = "kernels",
                         .shape = ParameterShape::units,
                         .kind = ParameterKind::setting,
                         .bounds = positive_count,
                         .meaning = "bumps of each head"},
          self.kernels);
    // tisa.py of ulmewennberg/tisa, _init_weights.
    visit(learned("a", each, "height of each bump", any_number, {StartKind::normal, 0.1, 0.01}),
          self.a);
    visit(learned("b", each, "how narrow each bump is", any_number, {StartKind::normal, 0.1, 0.01}),
          self.b);
    visit(
        learned("c", each, "distance of each bump, tokens", any_number, {StartKind::normal, 0, 5}),
        self.c);
  }
};

// The alternatives of RelativeBias, a struct: a new alternative changes no symbol name.
using RelativeBiases = std::variant<T5Bias, Alibi, KerpleLog, KerplePower, Fire, Sandwich, Tisa>;
// One relative bias with its parameters.
struct RelativeBias : RelativeBiases {
  using RelativeBiases::RelativeBiases;
  using RelativeBiases::operator=;
};

// Calls visit(facts, member) for each parameter: member is a double, an integer, an enumerator, a
// std::vector<double> or, for T5, a ConstTableView; const if the bias is.
template <class Bias, class Visit>
requires std::is_same_v<std::remove_const_t<Bias>, RelativeBias>
void for_each_parameter(Bias& bias, Visit visit) {
  std::visit(
      [&](auto& encoding) {
        Describe<std::remove_cvref_t<decltype(encoding)>>::parameters(encoding, visit);
      },
      bias);
}

// The names of all encodings, in the order of the alternatives.
[[nodiscard]] ROTARY_API std::span<const std::string_view> relative_bias_names() noexcept;

// The encoding of this name with default members; absent if there is none.
[[nodiscard]] ROTARY_API std::optional<RelativeBias> relative_bias_named(
    std::string_view name) noexcept;

// The name of the encoding, as in relative_bias_names().
[[nodiscard]] ROTARY_API std::string_view to_string(const RelativeBias& bias) noexcept;

// Row r is a query at first_query + r, column c a key at first_key + c, less than 2^63 apart.
struct BiasRange {
  std::int64_t first_query = 0;
  std::int64_t first_key = 0;
};

// The position of each query and each key: packed documents, padding, a cache with holes.
struct BiasPositions {
  std::span<const std::int64_t> queries;
  std::span<const std::int64_t> keys;
};

// One score: a head of the bias, and the positions of a query and a key.
struct BiasIndex {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;
};

// Checks every requirement on the members.
[[nodiscard]] ROTARY_API Status validate(const RelativeBias& bias) noexcept;

// Number of heads. Requires a valid bias.
[[nodiscard]] ROTARY_API std::int64_t head_count(const RelativeBias& bias) noexcept;

// Whether the bias depends on key - query only: all but FIRE and AlibiForm::key_position.
[[nodiscard]] ROTARY_API bool depends_on_distance_alone(const RelativeBias& bias) noexcept;

// |bias - exact| <= bias_error_bound times the sum of magnitudes of the formula's terms, before the
// rounding to the view's dtype. docs/theory/relative.md derives it and lists the terms. Holds for
// at most 112 hidden units of FIRE or bumps of TISA, for sums of at least 2^-900, and for x of FIRE
// equal to 0 or at least 2^-900.
inline constexpr double bias_error_bound = 0x1p-46;

// One bias as a double, before rounding to a dtype.
[[nodiscard]] ROTARY_API Result<double> bias_at(const RelativeBias& bias,
                                                const BiasIndex& at) noexcept;

// Fills out[batch][head][row][column]. An element depends only on the bias, the head and the two
// positions, so a decode step gives the same bits as one call for all queries. Nothing is written
// on an error.
[[nodiscard]] ROTARY_API Status fill_bias(const ScoresView& out, const RelativeBias& bias,
                                          const BiasRange& range) noexcept;
[[nodiscard]] ROTARY_API Status fill_bias(const ScoresView& out, const RelativeBias& bias,
                                          const BiasPositions& positions) noexcept;

// Fills [batch, heads, 1, distances]: column c is the bias of key - query = first_distance + c. N
// queries and keys need 2N - 1 distances from 1 - N. Needs depends_on_distance_alone().
[[nodiscard]] ROTARY_API Status fill_distances(const ScoresView& out, const RelativeBias& bias,
                                               std::int64_t first_distance) noexcept;

// Number of learned numbers; Describe gives their order. Requires a valid bias.
[[nodiscard]] ROTARY_API std::int64_t parameter_count(const RelativeBias& bias) noexcept;

// gradients[parameter] += Σ d_bias · ∂bias/∂parameter over all elements, batch rows included, in a
// fixed order. gradients: [parameter_count]. At its kink, max has the derivative from below, and
// |x| has the derivative 0.
[[nodiscard]] ROTARY_API Status add_bias_gradient(std::span<double> gradients,
                                                  const RelativeBias& bias,
                                                  const ConstScoresView& d_bias,
                                                  const BiasRange& range) noexcept;
[[nodiscard]] ROTARY_API Status add_bias_gradient(std::span<double> gradients,
                                                  const RelativeBias& bias,
                                                  const ConstScoresView& d_bias,
                                                  const BiasPositions& positions) noexcept;

}  // namespace rotary

#endif  // ROTARY_RELATIVE_BIAS_HPP
