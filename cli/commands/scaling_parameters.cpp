// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/scaling_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace rotary::cli {
namespace {

using Parameters = std::vector<std::pair<std::string_view, ParameterValue>>;

void add_if_given(Parameters& parameters, std::string_view name, std::optional<double> value) {
  if (value) parameters.emplace_back(name, *value);
}

Parameters parameters_of(const NoScaling&) { return {}; }

Parameters parameters_of(const LinearScaling& rule) { return {{"factor", rule.factor}}; }

Parameters parameters_of(const NtkScaling& rule) { return {{"alpha", rule.alpha}}; }

Parameters parameters_of(const YarnScaling& rule) {
  Parameters parameters = {
      {"factor", rule.factor},
      {"original_max_position_embeddings", rule.original_context_tokens},
      {"beta_fast", rule.beta_fast},
      {"beta_slow", rule.beta_slow},
  };
  if (rule.ramp == YarnRamp::fractional) parameters.emplace_back("ramp", "fractional");
  if (rule.ramp == YarnRamp::turns) parameters.emplace_back("ramp", "turns");
  add_if_given(parameters, "attention_factor", rule.attention_factor);
  add_if_given(parameters, "mscale", rule.mscale);
  add_if_given(parameters, "mscale_all_dim", rule.mscale_all_dim);
  return parameters;
}

Parameters parameters_of(const Llama3Scaling& rule) {
  return {
      {"factor", rule.factor},
      {"low_freq_factor", rule.low_freq_factor},
      {"high_freq_factor", rule.high_freq_factor},
      {"original_max_position_embeddings", rule.original_context_tokens},
  };
}

Parameters parameters_of(const DynamicNtkScaling& rule) {
  return {
      {"factor", rule.factor},
      {"original_max_position_embeddings", rule.original_context_tokens},
  };
}

std::string_view switch_name(LongRopeSwitch lists) {
  return lists == LongRopeSwitch::always_long ? "always_long" : "always_short";
}

Parameters parameters_of(const LongRopeScaling& rule) {
  Parameters parameters = {
      {"short_factor", rule.short_factor},
      {"long_factor", rule.long_factor},
      {"original_max_position_embeddings", rule.original_context_tokens},
      {"factor", rule.factor},
  };
  if (rule.lists != LongRopeSwitch::by_context) {
    parameters.emplace_back("switch", switch_name(rule.lists));
  }
  add_if_given(parameters, "attention_factor", rule.attention_factor);
  add_if_given(parameters, "short_mscale", rule.short_mscale);
  add_if_given(parameters, "long_mscale", rule.long_mscale);
  return parameters;
}

Parameters parameters_of(const ProportionalScaling& rule) {
  return {{"partial_rotary_factor", rule.turning_fraction}, {"factor", rule.factor}};
}

Parameters parameters_of(const MixedNtkScaling& rule) {
  Parameters parameters = {{"factor", rule.factor}};
  add_if_given(parameters, "mixed_b", rule.mixed_b);
  return parameters;
}

Parameters parameters_of(const NtkByPartsScaling& rule) {
  return {
      {"factor", rule.factor},
      {"original_max_position_embeddings", rule.original_context_tokens},
      {"ntk_factor", rule.ntk_factor},
      {"extrapolation_factor", rule.extrapolation_factor},
  };
}

Parameters parameters_of(const ClippedScaling& rule) {
  return {{"clipped_pairs", rule.clipped_pairs},
          {"edge", rule.edge == ClippedEdge::hard ? "hard" : "cosine"}};
}

Parameters parameters_of(const RetNetScaling&) { return {}; }

Parameters parameters_of(const ExplicitScaling& rule) {
  return {{"inv_freq", rule.inv_freq}, {"attention_factor", rule.attention_factor}};
}

}  // namespace

Parameters scaling_parameters(const Scaling& scaling) {
  return std::visit([](const auto& rule) { return parameters_of(rule); }, scaling);
}

std::string parameter_text(const ParameterValue& value) {
  const auto* const list = std::get_if<std::vector<double>>(&value);
  if (list != nullptr && list->size() > 8) {
    return fmt::format("[{}, {}, … {}], {} numbers", list->front(), (*list)[1], list->back(),
                       list->size());
  }
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

}  // namespace rotary::cli
