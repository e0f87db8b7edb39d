// SPDX-License-Identifier: Apache-2.0
// Scaling rules: how a model stretches the frequencies of rotary embedding beyond the context it
// was trained on. Each rule is one aggregate here and one file in src/rotation/scaling/; d is
// rotary_dim, i the pair, ω_i = base^(-2i/d) the unscaled frequency. Which rules exist and where
// each formula comes from: docs/theory/scaling.md.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/export.h"

namespace rotary {

// ω_i unchanged. Su et al. 2021, RoFormer (arXiv 2104.09864), §3.2.2.
struct NoScaling {
  friend bool operator==(const NoScaling&, const NoScaling&) = default;
};

// Position interpolation: ω_i / factor. Chen et al. 2023 (arXiv 2306.15595).
struct LinearScaling {
  double factor = 0;  // finite, > 0

  friend bool operator==(const LinearScaling&, const LinearScaling&) = default;
};

// NTK-aware with a fixed alpha: base' = base * alpha^(d/(d-2)), ω_i = base'^(-2i/d); the slowest
// pair turns alpha times slower, the fastest stays. bloc97 2023; needs rotary_dim >= 4.
struct NtkScaling {
  double alpha = 0;  // finite, > 0

  friend bool operator==(const NtkScaling&, const NtkScaling&) = default;
};

// The quantity in which YaRN's ramp is linear.
enum class YarnRamp : std::int32_t {
  whole_pairs = 1,  // the pair's index, from and to whole pairs: Transformers, every checkpoint
  fractional = 2,   // the pair's index, the ends not rounded; gpt-oss: "truncate": false
  turns = 3,        // the number of turns itself, the paper's γ(r) of §3.2; no config says so
};

// YaRN. Peng et al. 2023 (arXiv 2309.00071), as computed by Transformers' _compute_yarn_parameters.
// Pairs that turn more than beta_fast times within the original context keep ω_i, those that turn
// less than beta_slow times get ω_i / factor, a linear ramp lies between.
struct YarnScaling {
  double factor = 0;                         // finite, > 0
  std::int64_t original_context_tokens = 0;  // > 0: what the model was trained on before scaling
  double beta_fast = 32;                     // turns; finite, >= beta_slow
  double beta_slow = 1;                      // turns; finite, > 0
  YarnRamp ramp = YarnRamp::whole_pairs;
  // The factor A on cos and sin. Given: used as it is. Otherwise g(mscale) / g(mscale_all_dim) when
  // both are given and not 0, else g(1), where g(m) = 0.1 m ln(factor) + 1, and 1 for factor <= 1.
  std::optional<double> attention_factor = {};
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};

  friend bool operator==(const YarnScaling&, const YarnScaling&) = default;
};

// Llama 3.1 and later. With wavelength λ = 2π/ω: ω/factor where λ > original/low_freq_factor,
// ω where λ < original/high_freq_factor, a blend between. Transformers' _compute_llama3_parameters.
struct Llama3Scaling {
  double factor = 0;                         // finite, > 0
  double low_freq_factor = 0;                // finite, > 0
  double high_freq_factor = 0;               // finite, >= low_freq_factor
  std::int64_t original_context_tokens = 0;  // > 0

  friend bool operator==(const Llama3Scaling&, const Llama3Scaling&) = default;
};

// Dynamic NTK: NTK-aware with a base that grows with the length L of the context, counted as at
// least the original one: base' = base * (factor L / original - (factor - 1))^(d/(d-2)).
// Transformers' _compute_dynamic_ntk_parameters; bloc97 and emozilla 2023. Needs rotary_dim >= 4.
// Depends on the length of the context.
struct DynamicNtkScaling {
  double factor = 0;                         // finite, > 0
  std::int64_t original_context_tokens = 0;  // > 0; a config's max_position_embeddings

  friend bool operator==(const DynamicNtkScaling&, const DynamicNtkScaling&) = default;
};

// Which of LongRoPE's two lists is used. Transformers compares the tokens so far with the original
// context, at each forward pass; vLLM and llama.cpp the most tokens that will ever be, once.
enum class LongRopeSwitch : std::int32_t { by_context = 1, always_short = 2, always_long = 3 };

// LongRoPE: ω_i / list_i, of the long list where the context is longer than the original one, of
// the short list otherwise. Ding et al. 2024 (arXiv 2402.13753); Transformers'
// _compute_longrope_parameters. Depends on the length of the context, unless lists says otherwise.
struct LongRopeScaling {
  std::vector<double> short_factor = {};     // [rotary_dim / 2], finite, > 0
  std::vector<double> long_factor = {};      // [rotary_dim / 2], finite, > 0
  std::int64_t original_context_tokens = 0;  // > 1
  double factor = 0;                         // finite, > 0: the longest context / the original one
  LongRopeSwitch lists = LongRopeSwitch::by_context;
  // The factor A on cos and sin, each in [2^-20, 2^20]: the mscale of the list that is used, where
  // it is given (PhiMoE); else attention_factor; else sqrt(1 + ln(factor) / ln(original)), and 1
  // for factor <= 1.
  std::optional<double> attention_factor = {};
  std::optional<double> short_mscale = {};
  std::optional<double> long_mscale = {};

  friend bool operator==(const LongRopeScaling&, const LongRopeScaling&) = default;
};

// Proportional (Gemma 4; p-RoPE, Barbero et al. 2024, arXiv 2410.06205): of the d/2 pairs of the
// whole head the first floor(turning_fraction d / 2) keep ω_i / factor, the others stand still. Not
// partial rotary embedding, where fewer features turn as if they were the whole head.
struct ProportionalScaling {
  double turning_fraction = 0;  // in (0, 1]; a config's partial_rotary_factor
  double factor = 1;            // finite, > 0

  friend bool operator==(const ProportionalScaling&, const ProportionalScaling&) = default;
};

// Su Jianlin's NTK-RoPE with fixed digits (kexue.fm 9706), as vLLM's rope_type "ntk" computes it.
// Without mixed_b: (base factor)^(-2i/d) / factor^(2/d). With it the stretch grows from pair to
// pair: ω_i / factor^(((i+1) / (d/2))^mixed_b), which is the whole factor in the last.
struct MixedNtkScaling {
  double factor = 0;                   // finite, > 0
  std::optional<double> mixed_b = {};  // finite, >= 0; Su proposes 0.625

  friend bool operator==(const MixedNtkScaling&, const MixedNtkScaling&) = default;
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

// How a clipped rule ends: a cosine from the last frequency that is kept down to 0, or at once.
enum class ClippedEdge : std::int32_t { cosine = 1, hard = 2 };

// Clipped RoPE: the slowest pairs are slowed down further or stand still, the others keep ω_i. Of n
// = clipped_pairs the first to the last get ω_i (1 + cos t) / 2, t from 0 to π in equal steps, or
// 0. arXiv 2602.05258 (use_cope and use_hardclip of its authors' code, with n = 20).
struct ClippedScaling {
  std::int64_t clipped_pairs = 0;  // in [1, rotary_dim / 2]
  ClippedEdge edge = ClippedEdge::cosine;

  friend bool operator==(const ClippedScaling&, const ClippedScaling&) = default;
};

// The exponents of RetNet (Sun et al. 2023, arXiv 2307.08621): base^(-i / (d/2 - 1)), so that the
// last pair has exactly 1 / base. Needs rotary_dim >= 4.
struct RetNetScaling {
  friend bool operator==(const RetNetScaling&, const RetNetScaling&) = default;
};

// Frequencies that are known as numbers: those of another program, of a paper's search, of a
// trained parameter. The base of the spec is not used.
struct ExplicitScaling {
  std::vector<double> inv_freq = {};  // [rotary_dim / 2], radians per position; -2^40 < each < 2^40
  double attention_factor = 1;        // A, in [2^-20, 2^20]

  friend bool operator==(const ExplicitScaling&, const ExplicitScaling&) = default;
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
using ScalingRules =
    std::variant<NoScaling, LinearScaling, NtkScaling, YarnScaling, Llama3Scaling,
                 DynamicNtkScaling, LongRopeScaling, ProportionalScaling, MixedNtkScaling,
                 NtkByPartsScaling, ClippedScaling, RetNetScaling, ExplicitScaling>;
struct Scaling : ScalingRules {
  using ScalingRules::ScalingRules;
  using ScalingRules::operator=;
};

// As the rope_type of model configs, "yarn"; of rules that no config has a name of ours, "ntk".
[[nodiscard]] ROTARY_API std::string_view rope_type(const Scaling& scaling) noexcept;

// Whether the rule's frequencies change with the length of the context.
[[nodiscard]] ROTARY_API bool depends_on_context(const Scaling& scaling) noexcept;

}  // namespace rotary
