// SPDX-License-Identifier: Apache-2.0
// Scaling rules: how a model stretches the frequencies of rotary embedding beyond the context it
// was trained on. Each rule is one aggregate with its facts (Describe) and one file in
// src/rotation/scaling/. Rules that configs name are in config_scaling.hpp; those that only specs
// have are here. d is rotary_dim, i the pair, ω_i = base^(-2i/d) the unscaled frequency.
// docs/theory/scaling.md lists the rules with the source of each formula.
//
//   const Scaling scaling = YarnScaling{.factor = 4, .original_context_tokens = 4096};
//   rope_type(scaling);  // "yarn"
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "rotary/config_scaling.hpp"
#include "rotary/describe.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// NTK-aware with a fixed alpha: base' = base * alpha^(d/(d-2)), ω_i = base'^(-2i/d); the slowest
// pair turns alpha times slower, the fastest stays. bloc97 2023; needs rotary_dim >= 4.
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

// Su Jianlin's NTK-RoPE with fixed digits (kexue.fm 9706), as vLLM's rope_type "ntk" computes it.
// Without mixed_b: (base factor)^(-2i/d) / factor^(2/d). With it the stretch grows from pair to
// pair: ω_i / factor^(((i+1) / (d/2))^mixed_b), which is the whole factor in the last.
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
// jquesnelle/yarn). By turns within the original context: ω_i from 16, ω_i / factor up to 0.75, the
// frequency of NtkScaling{factor} from 1.25 to 2, linear ramps over the pairs between. Needs
// rotary_dim >= 4.
struct NtkByPartsScaling {
  double factor = 0;                         // finite, > 0
  std::int64_t original_context_tokens = 0;  // > 0
  double ntk_factor = 1;                     // in [0, 1]: how much of NtkScaling there is
  double extrapolation_factor = 1;           // in [0, 1]: how much the fast pairs are kept

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

// How a clipped rule ends: a cosine from the last frequency that is kept down to 0, or at once.
enum class ClippedEdge : std::int32_t { cosine = 1, hard = 2 };

template <>
struct Describe<ClippedEdge> {
  static constexpr std::array enumerators = {NamedEnumerator{ClippedEdge::cosine, "cosine"},
                                             NamedEnumerator{ClippedEdge::hard, "hard"}};
};

// Clipped RoPE: the slowest pairs are slowed down further or stand still, the others keep ω_i. Of n
// = clipped_pairs the first to the last get ω_i (1 + cos t) / 2, t from 0 to π in equal steps, or
// 0. arXiv 2602.05258 (use_cope and use_hardclip of its authors' code, with n = 20).
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

// The exponents of RetNet (Sun et al. 2023, arXiv 2307.08621): base^(-i / (d/2 - 1)), so that the
// last pair has exactly 1 / base. Needs rotary_dim >= 4.
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

// Frequencies that are known as numbers: those of another program, of a paper's search, of a
// trained parameter. The base of the spec is not used.
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

// freqs_for="pixel" of lucidrains' rotary-embedding-torch, for positions from -1 to 1: ω from π to
// π max_freq / 2 in equal steps. The base of the spec is not used.
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

// Lengths of a context, in tokens.
struct ContextRange {
  std::int64_t first = 1;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool contains(std::int64_t context_tokens) const noexcept {
    return first <= context_tokens && context_tokens <= last;
  }
  friend bool operator==(const ContextRange&, const ContextRange&) = default;
};

// One of these, and a type of its own, so that symbols keep their names when one is added.
using ScalingRules = std::variant<NoScaling, LinearScaling, NtkScaling, YarnScaling, Llama3Scaling,
                                  DynamicNtkScaling, LongRopeScaling, ProportionalScaling,
                                  MixedNtkScaling, NtkByPartsScaling, ClippedScaling, RetNetScaling,
                                  ExplicitScaling, PixelScaling, DoublingNtkScaling>;
struct Scaling : ScalingRules {
  using ScalingRules::ScalingRules;
  using ScalingRules::operator=;
};

// Calls visit(facts, member) for each parameter: member is a double, an integer, an enumerator, a
// std::optional<double> or a std::vector<double>; const where the scaling is.
template <class Rule, class Visit>
requires std::is_same_v<std::remove_const_t<Rule>, Scaling>
void for_each_parameter(Rule& scaling, Visit visit) {
  std::visit(
      [&](auto& rule) { Describe<std::remove_cvref_t<decltype(rule)>>::parameters(rule, visit); },
      scaling);
}

// The rope_type of every rule, in the order of the alternatives.
[[nodiscard]] ROTARY_API std::span<const std::string_view> rope_types() noexcept;

// A rule of this rope_type with nothing set; nothing where no rule has it.
[[nodiscard]] ROTARY_API std::optional<Scaling> scaling_named(std::string_view rope_type) noexcept;

// As the rope_type of model configs, "yarn"; of rules that no config has a name of ours, "ntk".
[[nodiscard]] ROTARY_API std::string_view rope_type(const Scaling& scaling) noexcept;

// The rule in one sentence for people; {KEY} stands for the value of the parameter of this name.
[[nodiscard]] ROTARY_API std::string_view sentence(const Scaling& scaling) noexcept;

// Every requirement on one parameter. make_frequencies checks besides what parameters require of
// each other, of base, of rotary_dim and of the context. Error: invalid_argument.
[[nodiscard]] ROTARY_API Status validate(const Scaling& scaling) noexcept;

// Whether the rule's frequencies change with the length of the context.
[[nodiscard]] ROTARY_API bool depends_on_context(const Scaling& scaling) noexcept;

}  // namespace rotary
