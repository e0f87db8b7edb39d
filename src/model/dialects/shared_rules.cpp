// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include "base/yarn_growth.hpp"
#include "model/dialects/rule_target.hpp"
#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary::dialects {
namespace {

// max_position_embeddings / original; nothing if max_position_embeddings is unknown.
std::optional<double> ratio_of_lengths(const RuleTarget& target, std::int64_t original) {
  const auto trained = target.rotary.trained_context_tokens;
  if (!trained || original <= 0) return std::nullopt;
  return static_cast<double>(*trained) / static_cast<double>(original);
}

}  // namespace

bool is_of(const RuleTarget& target, std::string_view model_types) {
  return has_word(model_types, target.model.model_type);
}

bool is_of(const ConfigEdit& config, std::string_view model_types) {
  return has_word(model_types, config.model_type);
}

void drop_scaling(RuleTarget& target) {
  set(target, target.rotary.spec.scaling, Scaling(NoScaling{}));
}

void drop_default_scaling(RuleTarget& target) {
  constexpr std::string_view with_default = "apertus gpt_oss";
  const bool is_stated = target.stated.has_parameters || target.stated.has_scaling;
  if (is_of(target, with_default) && !is_stated) drop_scaling(target);
}

void round_yarn_ramp(RuleTarget& target) {
  if (auto* const yarn = rule_of<YarnScaling>(target))
    set(target, yarn->ramp, YarnRamp::whole_pairs);
}

void compute_yarn_attention_factor(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr) return;
  set(target, yarn->attention_factor, std::optional<double>());
  // mscale or mscale_all_dim alone has no effect.
  if (yarn->mscale.value_or(0) == 0 || yarn->mscale_all_dim.value_or(0) == 0) return;
  set(target, yarn->mscale, std::optional<double>());
  set(target, yarn->mscale_all_dim, std::optional<double>());
}

void compute_yarn_factor_of_mscales(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr) return;
  const double mscale = yarn->mscale.value_or(1);
  const double all = yarn->mscale_all_dim.value_or(0);
  const bool is_usual = (!yarn->mscale && !yarn->mscale_all_dim) || (mscale != 0 && all != 0);
  std::optional<double> factor;
  if (!is_usual) factor = yarn_growth(yarn->factor, mscale) / yarn_growth(yarn->factor, all);
  set(target, yarn->attention_factor, factor);
}

void take_longrope_factor_of_lengths(RuleTarget& target) {
  auto* const longrope = rule_of<LongRopeScaling>(target);
  if (longrope == nullptr) return;
  const auto ratio = ratio_of_lengths(target, longrope->original_context_tokens);
  if (ratio) set(target, longrope->factor, *ratio);
}

void compute_longrope_attention_factor(RuleTarget& target) {
  auto* const longrope = rule_of<LongRopeScaling>(target);
  if (longrope == nullptr) return;
  // Phi-3's "yarn" has LongRoPE's lists, and YaRN's attention factor.
  const bool is_yarn =
      longrope->factor > 1 && longrope->attention_factor == yarn_growth(longrope->factor);
  take_longrope_factor_of_lengths(target);
  std::optional<double> factor;
  if (is_yarn) factor = yarn_growth(longrope->factor);
  set(target, longrope->attention_factor, factor);
}

void choose_longrope_list_once(RuleTarget& target) {
  const auto* const longrope = rule_of<LongRopeScaling>(target);
  if (longrope == nullptr || longrope->lists != LongRopeSwitch::by_context) return;
  set(target, target.lengths, LengthPolicy::whole_context);
}

void drop_dynamic(RuleTarget& target) {
  if (rule_of<DynamicNtkScaling>(target) != nullptr) drop_scaling(target);
}

void read_partial_rotary_factor(RuleTarget& target) {
  if (target.model.rotary.empty()) return;
  RotarySpec& spec = target.rotary.spec;
  const auto fraction = target.stated.partial_rotary_factor;
  const bool is_whole = !spec.rotary_dim || *spec.rotary_dim == spec.head_dim;
  const bool is_plain = std::holds_alternative<NoScaling>(spec.scaling);
  if (!fraction || !is_whole || !is_plain || !(*fraction > 0 && *fraction < 1)) return;
  const auto features = static_cast<std::int64_t>(static_cast<double>(spec.head_dim) * *fraction);
  if (features < 2 || features % 2 != 0) {
    target.refusal = "partial_rotary_factor leaves an odd number of features";
    return;
  }
  set(target, spec.rotary_dim, std::optional(features));
}

void read_rotary_dim(RuleTarget& target) {
  const Family* const family = find_family(target.model.model_type);
  if (family == nullptr || family->part.rotary_dim_key != RotaryDimKey::disputed) return;
  if (target.stated.rotary_dim)
    set(target, target.rotary.spec.rotary_dim, target.stated.rotary_dim);
}

}  // namespace rotary::dialects
