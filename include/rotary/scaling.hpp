// SPDX-License-Identifier: Apache-2.0
// Scaling rules: how a model changes its rotary frequencies for contexts longer than it was trained
// on. Notation: d is rotary_dim, i a pair, ω_i = base^(-2i/d) its unscaled frequency.
// docs/theory/scaling.md lists the rules with the source of each formula.
//
//   const Scaling scaling = YarnScaling{.factor = 4, .original_context_tokens = 4096};
//   rope_type(scaling);  // "yarn"
#ifndef ROTARY_SCALING_HPP
#define ROTARY_SCALING_HPP

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "rotary/describe.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// Bounds of A, the factor on cos and sin, for every rule.
inline constexpr ParameterBounds attention_factors = {0x1p-20, 0x1p20, "in [2^-20, 2^20]"};

// Parameters that several rules share.
inline constexpr ParameterFacts scaling_factor =
    setting("factor", finite_positive,
            "how many times slower a pair turns where the rule has its whole effect");
inline constexpr ParameterFacts original_context =
    setting("original_max_position_embeddings", positive_count,
            "the context, in tokens, before the rule stretched it");

// ω_i unchanged. Su et al. 2021, RoFormer (arXiv 2104.09864), §3.2.2.
struct NoScaling {
  friend bool operator==(const NoScaling&, const NoScaling&) = default;
};

template <>
struct Describe<NoScaling> {
  static constexpr std::string_view name = "default";
  static constexpr std::string_view sentence =
      "No scaling rule: of d features that turn, pair i turns by base^(-2i/d) radians a token.";
  template <class Self, class Visit>
  static void parameters(Self& /*self*/, Visit /*visit*/) {}
};

// Position interpolation: ω_i / factor. Chen et al. 2023 (arXiv 2306.15595).
struct LinearScaling {
  double factor = 0;  // finite, > 0

  friend bool operator==(const LinearScaling&, const LinearScaling&) = default;
};

template <>
struct Describe<LinearScaling> {
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view sentence =
      "Linear scaling (position interpolation) divides every frequency by {factor}: no angle is "
      "new, and neighbouring tokens are that much harder to tell apart.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(scaling_factor, self.factor);
  }
};

// The quantity in which YaRN's ramp is linear.
enum class YarnRamp : std::int32_t {
  whole_pairs = 1,  // the pair's index, with ends at whole pairs: Transformers, most checkpoints
  fractional = 2,   // the pair's index, with unrounded ends: gpt-oss ("truncate": false)
  turns = 3,        // the pair's number of turns: γ(r) in §3.2 of the paper; no config uses it
};

template <>
struct Describe<YarnRamp> {
  static constexpr std::array enumerators = {NamedEnumerator{YarnRamp::whole_pairs, "whole_pairs"},
                                             NamedEnumerator{YarnRamp::fractional, "fractional"},
                                             NamedEnumerator{YarnRamp::turns, "turns"}};
};

// YaRN. Peng et al. 2023 (arXiv 2309.00071), as computed by Transformers' _compute_yarn_parameters.
// Pairs that turn more than beta_fast times within the original context keep ω_i; those that turn
// less than beta_slow times get ω_i / factor; a linear ramp (YarnRamp) joins the two.
struct YarnScaling {
  double factor = 0;                         // finite, > 0
  std::int64_t original_context_tokens = 0;  // > 0; the context before scaling
  double beta_fast = 32;                     // turns; finite, >= beta_slow
  double beta_slow = 1;                      // turns; finite, > 0
  YarnRamp ramp = YarnRamp::whole_pairs;
  // The factor A on cos and sin. If absent: g(mscale) / g(mscale_all_dim) if both are given and not
  // 0, else g(1), with g(m) = 0.1 m ln(factor) + 1, or 1 for factor <= 1.
  std::optional<double> attention_factor = {};
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};

  friend bool operator==(const YarnScaling&, const YarnScaling&) = default;
};

template <>
struct Describe<YarnScaling> {
  static constexpr std::string_view name = "yarn";
  static constexpr std::string_view sentence =
      "YaRN leaves alone the pairs that make more than {beta_fast} turns within "
      "{original_max_position_embeddings} tokens, slows those that make less than {beta_slow} by "
      "{factor}, and passes from one to the other between.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(scaling_factor, self.factor);
    visit(original_context, self.original_context_tokens);
    visit(setting("beta_fast", finite_positive,
                  "pairs with more turns than this in the original context are left alone"),
          self.beta_fast);
    visit(setting("beta_slow", finite_positive,
                  "pairs with fewer turns than this are slowed by the whole factor"),
          self.beta_slow);
    visit(setting("ramp", {}, "what the passage between left alone and slowed is linear in"),
          self.ramp);
    visit(setting("attention_factor", finite_positive,
                  "the factor on cos and sin, in place of the rule's own"),
          self.attention_factor);
    visit(setting("mscale", finite_number, "with mscale_all_dim decides the factor on cos and sin"),
          self.mscale);
    visit(setting("mscale_all_dim", finite_number, "with mscale decides the factor on cos and sin"),
          self.mscale_all_dim);
  }
};

// Llama 3.1 and later. A pair makes n = original ω_i / 2π turns in the original context. It gets
// ω_i / factor if n < low_freq_factor, ω_i if n > high_freq_factor, and a blend in between.
// Transformers' _compute_llama3_parameters.
struct Llama3Scaling {
  double factor = 0;                         // finite, > 0
  double low_freq_factor = 0;                // finite, > 0
  double high_freq_factor = 0;               // finite, >= low_freq_factor
  std::int64_t original_context_tokens = 0;  // > 0

  friend bool operator==(const Llama3Scaling&, const Llama3Scaling&) = default;
};

template <>
struct Describe<Llama3Scaling> {
  static constexpr std::string_view name = "llama3";
  static constexpr std::string_view sentence =
      "Llama 3's rule leaves alone the pairs that make more than {high_freq_factor} turns within "
      "{original_max_position_embeddings} tokens, slows those that make less than "
      "{low_freq_factor} by {factor}, and blends between.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(scaling_factor, self.factor);
    visit(setting("low_freq_factor", finite_positive,
                  "pairs with fewer turns than this are slowed by the whole factor"),
          self.low_freq_factor);
    visit(setting("high_freq_factor", finite_positive,
                  "pairs with more turns than this in the original context are left alone"),
          self.high_freq_factor);
    visit(original_context, self.original_context_tokens);
  }
};

// Dynamic NTK: base' = base * (factor L / original - (factor - 1))^(d/(d-2)), where L is the length
// of the context, or the original context if that is longer. Transformers'
// _compute_dynamic_ntk_parameters; bloc97 and emozilla 2023. Needs rotary_dim >= 4.
struct DynamicNtkScaling {
  double factor = 0;                         // finite, > 0
  std::int64_t original_context_tokens = 0;  // > 0; a config's max_position_embeddings

  friend bool operator==(const DynamicNtkScaling&, const DynamicNtkScaling&) = default;
};

template <>
struct Describe<DynamicNtkScaling> {
  static constexpr std::string_view name = "dynamic";
  static constexpr std::string_view sentence =
      "Dynamic NTK scaling enlarges the base as the context grows beyond "
      "{original_max_position_embeddings} tokens, so each length has frequencies of its own: keys "
      "that were cached at one length are wrong at another.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(scaling_factor, self.factor);
    visit(original_context, self.original_context_tokens);
  }
  static bool depends_on_context(const DynamicNtkScaling& /*rule*/) noexcept { return true; }
};

// Qwen's dynamic NTK: NtkScaling with alpha = 2^(ceil(log2(l / L)) + 1) - 1 for a prompt of l
// tokens beyond the original context L: 3 up to 2 L, 7 up to 4 L; 1 within L. Generated tokens keep
// the prompt's alpha. get_ntk_alpha of modeling_qwen.py (use_dynamic_ntk). Needs rotary_dim >= 4.
struct DoublingNtkScaling {
  std::int64_t original_context_tokens = 0;  // > 0; a config's seq_length

  friend bool operator==(const DoublingNtkScaling&, const DoublingNtkScaling&) = default;
};

template <>
struct Describe<DoublingNtkScaling> {
  static constexpr std::string_view name = "doubling_ntk";
  static constexpr std::string_view sentence =
      "Qwen's dynamic NTK scaling enlarges the base with each doubling of the prompt beyond "
      "{original_max_position_embeddings} tokens, so prompts of different lengths may have "
      "different frequencies; tokens that are generated keep those of their prompt.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(original_context, self.original_context_tokens);
  }
  static bool depends_on_context(const DoublingNtkScaling& /*rule*/) noexcept { return true; }
};

// The choice between LongRoPE's lists. by_context: the long one beyond the original context.
enum class LongRopeSwitch : std::int32_t { by_context = 1, always_short = 2, always_long = 3 };

template <>
struct Describe<LongRopeSwitch> {
  static constexpr std::array enumerators = {
      NamedEnumerator{LongRopeSwitch::by_context, "by_context"},
      NamedEnumerator{LongRopeSwitch::always_short, "always_short"},
      NamedEnumerator{LongRopeSwitch::always_long, "always_long"}};
};

// LongRoPE: ω_i / list_i, with the long list if the context is longer than the original one, else
// the short list (unless `lists` fixes it). Ding et al. 2024 (arXiv 2402.13753); Transformers'
// _compute_longrope_parameters.
struct LongRopeScaling {
  std::vector<double> short_factor = {};     // [rotary_dim / 2], finite, > 0
  std::vector<double> long_factor = {};      // [rotary_dim / 2], finite, > 0
  std::int64_t original_context_tokens = 0;  // > 1
  double factor = 0;                         // finite, > 0: longest / original context
  LongRopeSwitch lists = LongRopeSwitch::by_context;
  // The factor A on cos and sin, in [2^-20, 2^20], is the first one given of: the mscale of the
  // list in use (PhiMoE); attention_factor; sqrt(1 + ln(factor) / ln(original)), or 1 for factor <=
  // 1.
  std::optional<double> attention_factor = {};
  std::optional<double> short_mscale = {};
  std::optional<double> long_mscale = {};

  friend bool operator==(const LongRopeScaling&, const LongRopeScaling&) = default;
};

template <>
struct Describe<LongRopeScaling> {
  static constexpr std::string_view name = "longrope";
  static constexpr std::string_view sentence =
      "LongRoPE divides each pair's frequency by a number of its own, from one list up to "
      "{original_max_position_embeddings} tokens and from another beyond: keys that were cached "
      "before are wrong after.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting_of_pairs("short_factor", finite_positive,
                           "what frequencies are divided by, up to the original context"),
          self.short_factor);
    visit(setting_of_pairs("long_factor", finite_positive,
                           "what frequencies are divided by, beyond it"),
          self.long_factor);
    visit(setting("original_max_position_embeddings", {2, 0x1p63, "> 1"},
                  "the context, in tokens, before the rule stretched it"),
          self.original_context_tokens);
    visit(scaling_factor, self.factor);
    visit(setting("switch", {}, "which of the two lists is used whatever the length"), self.lists);
    visit(setting("attention_factor", attention_factors,
                  "the factor on cos and sin, in place of the rule's own"),
          self.attention_factor);
    visit(setting("short_mscale", attention_factors,
                  "the factor on cos and sin, up to the original context"),
          self.short_mscale);
    visit(setting("long_mscale", attention_factors, "the factor on cos and sin, beyond it"),
          self.long_mscale);
  }
  static bool depends_on_context(const LongRopeScaling& rule) noexcept {
    return rule.lists == LongRopeSwitch::by_context;
  }
};

// Proportional (Gemma 4; p-RoPE, Barbero et al. 2024, arXiv 2410.06205): the first
// floor(turning_fraction d / 2) pairs have ω_i / factor; the others do not turn. (In partial rotary
// embedding, d of ω_i counts only the features that turn.)
struct ProportionalScaling {
  double turning_fraction = 0;  // in (0, 1]; a config's partial_rotary_factor
  double factor = 1;            // finite, > 0

  friend bool operator==(const ProportionalScaling&, const ProportionalScaling&) = default;
};

template <>
struct Describe<ProportionalScaling> {
  static constexpr std::string_view name = "proportional";
  static constexpr std::string_view sentence =
      "Proportional rotary embedding turns the fastest pairs, a share of {partial_rotary_factor}, "
      "and lets the others stand still, which then know no position.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("partial_rotary_factor", {0x1p-1074, 1, "in (0, 1]"},
                  "the share of the pairs that turn at all, the fastest ones"),
          self.turning_fraction);
    visit(scaling_factor, self.factor);
  }
};

// NTK-aware with a fixed alpha: base' = base * alpha^(d/(d-2)). The slowest pair turns alpha times
// slower, the fastest as before. bloc97 2023. Needs rotary_dim >= 4.
struct NtkScaling {
  double alpha = 0;  // finite, > 0

  friend bool operator==(const NtkScaling&, const NtkScaling&) = default;
};

template <>
struct Describe<NtkScaling> {
  static constexpr std::string_view name = "ntk";
  static constexpr std::string_view sentence =
      "NTK-aware scaling enlarges the base so that the slowest pair turns {alpha} times slower and "
      "the fastest as before.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("alpha", finite_positive, "how many times slower the slowest pair turns"),
          self.alpha);
  }
};

// Su Jianlin's NTK-RoPE (kexue.fm 9706), as vLLM's rope_type "ntk" computes it. Fixed form, without
// mixed_b: (base factor)^(-2i/d) / factor^(2/d). Mixed form, with mixed_b: ω_i / factor^(((i+1) /
// (d/2))^mixed_b).
struct MixedNtkScaling {
  double factor = 0;                   // finite, > 0
  std::optional<double> mixed_b = {};  // finite, >= 0; Su proposes 0.625

  friend bool operator==(const MixedNtkScaling&, const MixedNtkScaling&) = default;
};

template <>
struct Describe<MixedNtkScaling> {
  static constexpr std::string_view name = "mixed_ntk";
  static constexpr std::string_view sentence =
      "Mixed NTK scaling slows pairs down the more the slower they are, by {factor} in all.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(scaling_factor, self.factor);
    visit(setting("mixed_b", {0, finite_number.most, "finite and >= 0"},
                  "how the slowing grows from pair to pair"),
          self.mixed_b);
  }
};

// NTK-by-parts, YaRN's predecessor (bloc97 2023; LlamaPartNTKScaledRotaryEmbedding of
// jquesnelle/yarn). A pair with n turns within the original context gets ω_i for n >= 16, the
// frequency of NtkScaling{factor} for n from 1.25 to 2, and ω_i / factor for n <= 3/4, with linear
// ramps over the pairs between. Needs rotary_dim >= 4.
struct NtkByPartsScaling {
  double factor = 0;                         // finite, > 0
  std::int64_t original_context_tokens = 0;  // > 0
  double ntk_factor = 1;                     // in [0, 1]: share of NtkScaling
  double extrapolation_factor = 1;           // in [0, 1]: share of ω_i in fast pairs

  friend bool operator==(const NtkByPartsScaling&, const NtkByPartsScaling&) = default;
};

template <>
struct Describe<NtkByPartsScaling> {
  static constexpr std::string_view name = "ntk_by_parts";
  static constexpr std::string_view sentence =
      "NTK-by-parts leaves fast pairs alone and slows slow ones by {factor}, with ramps between.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(scaling_factor, self.factor);
    visit(original_context, self.original_context_tokens);
    visit(setting("ntk_factor", unit_interval, "how much of the NTK-aware frequencies is mixed in"),
          self.ntk_factor);
    visit(setting("extrapolation_factor", unit_interval, "how much fast pairs are left alone"),
          self.extrapolation_factor);
  }
};

// Whether clipped pairs slow down along a cosine, or all stop.
enum class ClippedEdge : std::int32_t { cosine = 1, hard = 2 };

template <>
struct Describe<ClippedEdge> {
  static constexpr std::array enumerators = {NamedEnumerator{ClippedEdge::cosine, "cosine"},
                                             NamedEnumerator{ClippedEdge::hard, "hard"}};
};

// Clipped RoPE: the clipped_pairs slowest pairs get ω_i (1 + cos t) / 2 with t from 0 to π in equal
// steps, or 0 (ClippedEdge::hard); the others keep ω_i. arXiv 2602.05258 (use_cope and use_hardclip
// of its authors' code, with 20 pairs).
struct ClippedScaling {
  std::int64_t clipped_pairs = 0;  // in [1, rotary_dim / 2]
  ClippedEdge edge = ClippedEdge::cosine;

  friend bool operator==(const ClippedScaling&, const ClippedScaling&) = default;
};

template <>
struct Describe<ClippedScaling> {
  static constexpr std::string_view name = "clipped";
  static constexpr std::string_view sentence =
      "Clipped rotary embedding slows down or stops the {clipped_pairs} slowest pairs.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("clipped_pairs", positive_count,
                  "how many of the slowest pairs are slowed down or stopped"),
          self.clipped_pairs);
    visit(setting("edge", {}, "how the clipped pairs begin: a cosine, or at once"), self.edge);
  }
};

// The exponents of RetNet (Sun et al. 2023, arXiv 2307.08621): base^(-i / (d/2 - 1)), so the last
// pair has 1 / base. Needs rotary_dim >= 4.
struct RetNetScaling {
  friend bool operator==(const RetNetScaling&, const RetNetScaling&) = default;
};

template <>
struct Describe<RetNetScaling> {
  static constexpr std::string_view name = "retnet";
  static constexpr std::string_view sentence =
      "RetNet's exponents: of n pairs, pair i turns by base^(-i/(n - 1)) radians a token.";
  template <class Self, class Visit>
  static void parameters(Self& /*self*/, Visit /*visit*/) {}
};

// Frequencies from another program, a search or training. The spec's base is not used.
struct ExplicitScaling {
  std::vector<double> inv_freq = {};  // [rotary_dim / 2], radians per position; -2^40 < each < 2^40
  double attention_factor = 1;        // A, in [2^-20, 2^20]

  friend bool operator==(const ExplicitScaling&, const ExplicitScaling&) = default;
};

template <>
struct Describe<ExplicitScaling> {
  static constexpr std::string_view name = "explicit";
  static constexpr std::string_view sentence =
      "The frequencies are given one by one; no base and no formula.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting_of_pairs("inv_freq",
                           {-0x1.fffffffffffffp39, 0x1.fffffffffffffp39, "in (-2^40, 2^40)"},
                           "the frequencies, radians a token"),
          self.inv_freq);
    visit(setting("attention_factor", attention_factors,
                  "the factor on cos and sin, in place of the rule's own"),
          self.attention_factor);
  }
};

// freqs_for="pixel" of lucidrains' rotary-embedding-torch, for positions from -1 to 1: equal steps
// from π to π max_freq / 2. The spec's base is not used.
struct PixelScaling {
  double max_freq = 0;  // finite, > 0; 10 in its source

  friend bool operator==(const PixelScaling&, const PixelScaling&) = default;
};

template <>
struct Describe<PixelScaling> {
  static constexpr std::string_view name = "pixel";
  static constexpr std::string_view sentence =
      "Frequencies for positions from -1 to 1, in equal steps: the first pair makes one turn "
      "between them, the last half of {max_freq}; no base.";
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(setting("max_freq", finite_positive,
                  "twice the turns of the last pair between positions -1 and 1"),
          self.max_freq);
  }
};

// Context lengths from first to last, in tokens.
struct ContextRange {
  std::int64_t first = 1;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool contains(std::int64_t context_tokens) const noexcept {
    return first <= context_tokens && context_tokens <= last;
  }
  friend bool operator==(const ContextRange&, const ContextRange&) = default;
};

// The alternatives of Scaling, a struct: a new alternative changes no symbol name.
using ScalingRules = std::variant<NoScaling, LinearScaling, NtkScaling, YarnScaling, Llama3Scaling,
                                  DynamicNtkScaling, LongRopeScaling, ProportionalScaling,
                                  MixedNtkScaling, NtkByPartsScaling, ClippedScaling, RetNetScaling,
                                  ExplicitScaling, PixelScaling, DoublingNtkScaling>;
// One scaling rule with its parameters.
struct Scaling : ScalingRules {
  using ScalingRules::ScalingRules;
  using ScalingRules::operator=;
};

// Calls visit(facts, member) for each parameter: member is a double, an integer, an enumerator, a
// std::optional<double> or a std::vector<double>; const if the scaling is.
template <class Rule, class Visit>
requires std::is_same_v<std::remove_const_t<Rule>, Scaling>
void for_each_parameter(Rule& scaling, Visit visit) {
  std::visit(
      [&](auto& rule) { Describe<std::remove_cvref_t<decltype(rule)>>::parameters(rule, visit); },
      scaling);
}

// The rope_type of every rule, in the order of the alternatives.
[[nodiscard]] ROTARY_API std::span<const std::string_view> rope_types() noexcept;

// A rule of this rope_type with default members; absent if there is none.
[[nodiscard]] ROTARY_API std::optional<Scaling> scaling_named(std::string_view rope_type) noexcept;

// The rule's rope_type in configs ("yarn"), or our own name for a rule that no config has ("ntk").
[[nodiscard]] ROTARY_API std::string_view rope_type(const Scaling& scaling) noexcept;

// The rule in one sentence for people; {KEY} stands for the value of the parameter KEY.
[[nodiscard]] ROTARY_API std::string_view sentence(const Scaling& scaling) noexcept;

// Checks each parameter by itself; make_frequencies also checks them against one another and the
// spec. Error: invalid_argument.
[[nodiscard]] ROTARY_API Status validate(const Scaling& scaling) noexcept;

// Whether the rule's frequencies change with the length of the context.
[[nodiscard]] ROTARY_API bool depends_on_context(const Scaling& scaling) noexcept;

}  // namespace rotary

#endif  // ROTARY_SCALING_HPP
