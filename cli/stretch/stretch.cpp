// SPDX-License-Identifier: Apache-2.0
// Sources of the flags: vllm/config/model.py (hf_overrides), sglang/srt/server_args.py
// (json_model_override_args), llama.cpp/common/arg.cpp (--rope-scaling and related).
#include "cli/stretch/stretch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "apps/failure.hpp"
#include "cli/difference/difference.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_difference.hpp"

namespace rotary::cli {
namespace {

constexpr std::string_view scaling_key = "rope_scaling";
constexpr std::string_view parameters_key = "rope_parameters";

// Settings that makers publish outside the config.
struct Advice {
  std::string_view model_type;
  std::int64_t config_tokens;  // max_position_embeddings of its configs
  std::int64_t original_tokens;
  double largest_factor;
  std::string_view source;
};

constexpr std::array advice = {
    Advice{"qwen2", 32768, 32768, 4, "the model cards of Qwen2.5"},
    Advice{"qwen3", 40960, 32768, 4, "the model cards of Qwen3"},
    Advice{"qwen3_moe", 40960, 32768, 4, "the model cards of Qwen3"},
    Advice{"qwen3_next", 262144, 262144, 4, "the model cards of Qwen3-Next"},
};

struct Problem {
  const ModelOptions& options;
  ConfigFile file;
  ModelSpec model = {};
  SortedJson part = {};  // the language model's config
  std::size_t main = 0;  // the embedding with the longest trained context
  std::int64_t tokens;

  [[nodiscard]] const RotarySpec& spec() const { return model.rotary[main].spec; }
};

std::string_view own_key(const Problem& problem) {
  for (const std::string_view key : {scaling_key, parameters_key}) {
    const auto found = problem.part.find(key);
    if (found != problem.part.end() && found->is_object() && !found->empty()) return key;
  }
  return {};
}

// The config's rope dictionary after setting these members for the main embedding.
Json dictionary_with(const Problem& problem, const Json& members) {
  const std::string_view key = own_key(problem);
  Json whole = key.empty() ? Json::object() : Json(problem.part.at(key));
  const auto& layer_type = problem.model.rotary[problem.main].layer_type;
  const bool is_nested =
      layer_type && whole.contains(*layer_type) && whole[*layer_type].is_object();
  Json& own = is_nested ? whole[*layer_type] : whole;
  if (members.contains("rope_type")) own.erase("type");
  for (const auto& [name, value] : members.items()) own[name] = value;
  return whole;
}

// The members as engines read them: rope_parameters also contains the base.
Json engine_members(const Problem& problem, const Json& config_members) {
  if (!config_members.contains(scaling_key) || !own_key(problem).empty()) return config_members;
  Json whole = {{"rope_theta", problem.spec().base.get()}};
  if (const auto found = problem.part.find("partial_rotary_factor");
      found != problem.part.end() && found->is_number())
    whole["partial_rotary_factor"] = *found;
  whole.update(config_members.at(scaling_key));
  Json members = config_members;
  members.erase(scaling_key);
  members[parameters_key] = std::move(whole);
  return members;
}

ResolveOptions options_with(const Problem& problem, const Json& members) {
  ResolveOptions options = problem.options.resolving;
  options.context_tokens = problem.tokens;
  const std::string& part = problem.model.config_part;
  for (const auto& [key, value] : members.items())
    options.overrides.push_back(
        {.key = part.empty() ? key : fmt::format("{}.{}", part, key), .value = dumped(value)});
  return options;
}

std::string llama_cpp_flags(const Problem& problem, const ModelSpec& stretched,
                            std::string_view rule) {
  const RotarySpec& spec = stretched.rotary[problem.main].spec;
  if (rule == "ntk") return fmt::format("--rope-freq-base {}", spec.base.get());
  if (const auto* linear = std::get_if<LinearScaling>(&spec.scaling))
    return fmt::format("--rope-scaling linear --rope-scale {}", linear->factor);
  if (const auto* yarn = std::get_if<YarnScaling>(&spec.scaling))
    return fmt::format("--rope-scaling yarn --rope-scale {} --yarn-orig-ctx {}", yarn->factor,
                       yarn->original_context_tokens);
  return {};
}

// How an engine deviates from the candidate; empty if no deviation is known.
std::string remark_of(const Problem& problem, const Json& members, const ModelSpec& wanted,
                      Engine engine) {
  const DialectReading reading =
      reading_of(problem.file, problem.options.config, options_with(problem, members), {engine});
  if (reading.refusal) return fmt::format("does not run it: {}", *reading.refusal);
  const ModelDifference difference = value_or_fail(
      compare_models(wanted, reading.model, {.context_tokens = problem.tokens}), "stretch");
  std::string remark;
  if (difference.differs()) {
    for (const DialectRule* each : reading.acted)
      remark += fmt::format("{}{}", remark.empty() ? "" : " ", each->sentence);
    if (remark.empty()) remark = "computes something else";
  }
  const bool is_known =
      reading.evidence.kind == Evidence::run || reading.evidence.kind == Evidence::read;
  if (remark.empty() && !is_known) remark = reading.evidence.sentence;
  return remark;
}

std::vector<StretchedEngine> engines_of(const Problem& problem, const StretchCandidate& candidate,
                                        const ModelSpec& stretched) {
  const Json members = engine_members(problem, candidate.settings);
  Json whole;  // {"text_config": {...}} if the language model's config is nested
  whole[pointer_to(problem.model.config_part)] = members;
  const std::string json = dumped(whole);
  const std::string llama = llama_cpp_flags(problem, stretched, candidate.rule);
  return {
      {"transformers", "", remark_of(problem, candidate.settings, stretched, Engine::transformers)},
      {"vllm", fmt::format("--hf-overrides '{}' --max-model-len {}", json, problem.tokens),
       remark_of(problem, members, stretched, Engine::vllm)},
      {"sglang",
       fmt::format("--json-model-override-args '{}' --context-length {}", json, problem.tokens),
       remark_of(problem, members, stretched, Engine::sglang)},
      {"llama.cpp", llama.empty() ? "" : fmt::format("{} -c {}", llama, problem.tokens),
       llama.empty() ? fmt::format("has no flag for {}: convert the changed config", candidate.rule)
                     : ""}};
}

StretchedRotary change_of(const ModelRotary& before, const ModelRotary& after,
                          std::int64_t tokens) {
  const Frequencies old_rates = value_or_fail(make_frequencies(before.spec, tokens), "stretch");
  const Frequencies rates = value_or_fail(make_frequencies(after.spec, tokens), "stretch");
  const double factor = rates.attention_factor / old_rates.attention_factor;
  StretchedRotary change{
      .layer_type = after.layer_type,
      .pairs = rates.inv_freq.size(),
      .score_factor = factor * factor * after.softmax_factor / before.softmax_factor};
  for (std::size_t pair = 0; pair < rates.inv_freq.size(); ++pair) {
    const double moved = std::abs(rates.inv_freq[pair] - old_rates.inv_freq[pair]);
    if (moved > 1e-12 * std::abs(old_rates.inv_freq[pair])) ++change.changed_pairs;
    if (moved > change.largest_angle_change) change.largest_angle_change = moved;
  }
  return change;
}

// Fine-tuning in the papers of the rules: arXiv 2309.00071 (YaRN), 2306.15595 (linear).
constexpr std::string_view of_yarn =
    "not needed at factors near 2 to 4; its paper fine-tunes 400 steps for 16";
constexpr std::string_view of_ntk =
    "not needed at factors near 2; quality falls toward the end of the context";
constexpr std::string_view of_dynamic =
    "none: a prompt within the trained context is unchanged; keys cached before a longer prompt go "
    "stale";
constexpr std::string_view of_linear =
    "required: its paper fine-tunes 1000 steps; angles between neighbouring tokens shrink, too";
constexpr std::string_view of_own_rule =
    "likely: the weights were trained with a smaller factor of the same rule";

// The settings that set these members of the config's rope dictionary.
Json rule_settings(const Problem& problem, const Json& members) {
  const std::string_view key = own_key(problem);
  return {{key.empty() ? scaling_key : key, dictionary_with(problem, members)}};
}

StretchCandidate yarn_candidate(const Problem& problem, std::int64_t trained) {
  const auto found = std::ranges::find_if(advice, [&](const Advice& each) {
    return each.model_type == problem.model.model_type && each.config_tokens == trained;
  });
  const bool is_advised = found != advice.end();
  const std::int64_t original = is_advised ? found->original_tokens : trained;
  const double factor = static_cast<double>(problem.tokens) / static_cast<double>(original);
  const Json members = {
      {"rope_type", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}};
  const bool is_published = is_advised && factor <= found->largest_factor;
  return {.rule = "yarn",
          .fine_tuning = of_yarn,
          .published = is_published ? std::string(found->source) : "",
          .settings = rule_settings(problem, members)};
}

// Raises the base so that the slowest pair slows by the factor and the fastest does not change.
StretchCandidate ntk_candidate(const Problem& problem, double factor) {
  const RotarySpec& spec = problem.spec();
  const auto turning = static_cast<double>(spec.rotary_dim.value_or(spec.head_dim));
  const double base = spec.base.get() * std::pow(factor, turning / (turning - 2));
  const auto& sources = problem.model.rotary[problem.main].sources;
  const auto source = std::ranges::find(sources, "base", &ValueSource::value);
  const bool has_key = source != sources.end() && !source->key.empty();
  const std::string path = has_key ? source->key : "rope_theta";
  const bool is_inside =
      problem.part.find(path) == problem.part.end() && own_key(problem) == parameters_key;
  Json settings = is_inside ? Json{{parameters_key, dictionary_with(problem, {{path, base}})}}
                            : Json{{path, base}};
  settings["max_position_embeddings"] = problem.tokens;
  return {.rule = "ntk", .fine_tuning = of_ntk, .settings = std::move(settings)};
}

// A model with YaRN was trained on its original context times the factor.
std::int64_t trained_tokens(const ModelRotary& rotary) {
  const std::int64_t stated = rotary.trained_context_tokens.value_or(0);
  const auto* const yarn = std::get_if<YarnScaling>(&rotary.spec.scaling);
  if (yarn == nullptr) return stated;
  const double held = yarn->factor * static_cast<double>(yarn->original_context_tokens);
  return std::max(stated, static_cast<std::int64_t>(held));
}

Problem read_problem(const ModelOptions& options, std::int64_t tokens) {
  Problem problem{.options = options, .file = read_config(options.config), .tokens = tokens};
  require(!problem.file.gguf, "stretch needs a config.json, and {} is a GGUF file", options.config);
  problem.model = model_of(problem.file, options.config, options.resolving);
  if (problem.model.rotary.empty())
    fail(ExitCode::unsupported, "the model has no rotary embedding to stretch");
  const auto longest = std::ranges::max_element(problem.model.rotary, {}, trained_tokens);
  problem.main = static_cast<std::size_t>(longest - problem.model.rotary.begin());
  problem.part = parsed_config(problem.file.json).at(pointer_to(problem.model.config_part));
  return problem;
}

// The config's own rule with a larger factor; empty if its dictionary has no factor.
std::optional<StretchCandidate> own_rule(const Problem& problem, double ratio) {
  double factor = 0;
  for_each_parameter(problem.spec().scaling, [&](const ParameterFacts& facts, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      if (facts.name == "factor") factor = value;
  });
  const std::string_view rule = rope_type(problem.spec().scaling);
  if (factor == 0 || own_key(problem).empty()) return {};
  const Json members = {{"factor", factor * ratio}};
  return StretchCandidate{
      .rule = rule, .fine_tuning = of_own_rule, .settings = rule_settings(problem, members)};
}

}  // namespace

Stretch stretch_model(const ModelOptions& options, std::int64_t tokens) {
  const Problem problem = read_problem(options, tokens);
  Stretch stretch{.tokens = tokens,
                  .trained_tokens = trained_tokens(problem.model.rotary[problem.main]),
                  .warnings = problem.model.warnings};
  require(stretch.trained_tokens > 0,
          "the context that {} was trained for is not stated; give it by "
          "--set max_position_embeddings=N",
          options.config);
  if (tokens <= stretch.trained_tokens) return stretch;
  const double ratio = static_cast<double>(tokens) / static_cast<double>(stretch.trained_tokens);
  if (std::holds_alternative<NoScaling>(problem.spec().scaling)) {
    stretch.candidates = {
        yarn_candidate(problem, stretch.trained_tokens),
        {.rule = "dynamic",
         .fine_tuning = of_dynamic,
         .settings = rule_settings(problem, {{"rope_type", "dynamic"}, {"factor", ratio}})},
        ntk_candidate(problem, ratio),
        {.rule = "linear",
         .fine_tuning = of_linear,
         .settings = rule_settings(problem, {{"rope_type", "linear"}, {"factor", ratio}})}};
  } else {
    const std::string_view rule = rope_type(problem.spec().scaling);
    auto candidate = own_rule(problem, ratio);
    stretch.remark = fmt::format(
        "The weights were trained with rope_type {}; another rule would replace it. This rule {}.",
        rule, candidate ? "allows a larger factor" : "has no factor to raise");
    if (candidate) stretch.candidates.push_back(*std::move(candidate));
  }
  for (StretchCandidate& each : stretch.candidates) {
    const auto stretched = resolve(problem.file.json, options_with(problem, each.settings));
    if (!stretched) {
      each.refusal = stretched.error().message;
      continue;
    }
    for (std::size_t i = 0; i < stretched->rotary.size(); ++i)
      each.rotary.push_back(change_of(problem.model.rotary[i], stretched->rotary[i], tokens));
    each.engines = engines_of(problem, each, *stretched);
  }
  return stretch;
}

}  // namespace rotary::cli
