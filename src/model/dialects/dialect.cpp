// SPDX-License-Identifier: Apache-2.0
#include "rotary/dialect.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/dialects/rule_target.hpp"
#include "model/json/config_json.hpp"
#include "model/json/overrides.hpp"

namespace rotary {

template <>
struct Describe<Engine> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Engine::transformers, "transformers"},
      NamedEnumerator{Engine::llama_cpp, "llama.cpp"}, NamedEnumerator{Engine::vllm, "vllm"},
      NamedEnumerator{Engine::mlx, "mlx"}, NamedEnumerator{Engine::onnxruntime, "onnxruntime"}};
};
template <>
struct Describe<RuleEvidence> {
  static constexpr std::array enumerators = {NamedEnumerator{RuleEvidence::run, "run"},
                                             NamedEnumerator{RuleEvidence::read, "read"}};
};

namespace {

constexpr std::array engines = {
    EngineFacts{Engine::transformers,
                "the wheels of Transformers 4.33.3 to 5.23.0",
                {4, 33},
                {5, 23},
                Numerics::transformers},
    EngineFacts{Engine::llama_cpp,
                "llama.cpp 0c1e5709, in llama_cpp_python 0.3.36",
                {},
                {},
                Numerics::ggml},
    EngineFacts{Engine::vllm, "vLLM 4ff865c3", {}, {}, Numerics::transformers},
    EngineFacts{Engine::mlx, "mlx-lm 0.32.2", {}, {}, Numerics::exact},
    EngineFacts{Engine::onnxruntime, "onnxruntime-genai 0.18.0", {}, {}, Numerics::transformers},
};

std::string version_text(const EngineVersion& version) {
  return message(version.major, ".", version.minor);
}

std::optional<EngineVersion> parse_version(std::string_view text) {
  EngineVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc()) return std::nullopt;
  const bool is_whole = minor.ptr == end || *minor.ptr == '.';  // 4.51.3 is of 4.51
  return is_whole ? std::optional(version) : std::nullopt;
}

Status check(const Dialect& dialect) {
  if (!is_enumerator(dialect.engine)) return no_enumerator("engine", dialect.engine);
  if (!dialect.version) return {};
  const EngineFacts& facts = facts_of(dialect.engine);
  if (facts.newest == EngineVersion{})
    return invalid_argument("a dialect must be ", to_string(dialect.engine),
                            " without a version, of which only ", facts.source, " is known; got ",
                            version_text(*dialect.version));
  if (*dialect.version >= facts.oldest && *dialect.version <= facts.newest) return {};
  return invalid_argument("the version of ", to_string(dialect.engine), " must be from ",
                          version_text(facts.oldest), " to ", version_text(facts.newest), ", got ",
                          version_text(*dialect.version));
}

bool is_in_force(const DialectRule& rule, const Dialect& dialect) {
  if (rule.last == EngineVersion{}) return true;
  const EngineVersion version = dialect.version.value_or(facts_of(dialect.engine).newest);
  return rule.first <= version && version <= rule.last;
}

// Applies the rule to each embedding. A rule may be about the model alone: one without any
// embedding is given to it, too.
void apply(const DialectRule& rule, const StatedKeys& stated, DialectReading& reading) {
  ModelRotary nothing{.layer_type = {},
                      .spec = {.head_dim = 2, .base = 10000.0, .pairing = Pairing::half},
                      .trained_context_tokens = {}};
  const auto apply_to = [&](ModelRotary& rotary) {
    RuleTarget target{reading.model, rotary, stated, reading.lengths, reading.refusal};
    rule.apply(target);
    const bool is_noted = std::ranges::find(reading.acted, &rule) != reading.acted.end();
    if ((target.acted || target.refusal) && !is_noted) reading.acted.push_back(&rule);
  };
  for (ModelRotary& rotary : reading.model.rotary) {
    if (!reading.refusal) apply_to(rotary);
  }
  if (reading.model.rotary.empty()) apply_to(nothing);
}

Result<DialectReading> read_with(ModelSpec model, const StatedKeys& stated,
                                 const Dialect& dialect) {
  if (auto status = check(dialect); !status) return std::move(status).error();
  DialectReading reading{.model = std::move(model), .acted = {}, .refusal = {}};
  for (const DialectRule& rule : rules_of(dialect.engine)) {
    if (reading.refusal) break;
    if (is_in_force(rule, dialect)) apply(rule, stated, reading);
  }
  return reading;
}

const Json* member(const Json* object, std::string_view key) {
  return object != nullptr && object->is_object() ? object->find(key) : nullptr;
}

template <class Number>
void take(const Json* value, std::optional<Number>& target) {
  if (value == nullptr || !value->is_number() || target) return;
  if constexpr (std::is_floating_point_v<Number>)
    target = value->number();
  else if (value->is_integer())
    target = value->integer();
}

// path: "text_config", "a.b"; empty: the config itself.
const Json* object_at(const Json& config, std::string_view path) {
  const Json* object = &config;
  while (!path.empty() && object != nullptr) {
    const std::size_t dot = path.find('.');
    object = member(object, path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return object;
}

StatedKeys stated_keys(const Json& config, std::string_view part) {
  StatedKeys stated;
  const Json* const object = object_at(config, part);
  take(member(object, "hidden_size"), stated.hidden_size);
  take(member(object, "num_attention_heads"), stated.heads);
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* const rope = member(object, key);
    take(member(rope, "partial_rotary_factor"), stated.partial_rotary_factor);
    const Json* const factor = member(rope, "factor");
    if (factor != nullptr && factor->is_null()) stated.factor_is_null = true;
  }
  take(member(object, "partial_rotary_factor"), stated.partial_rotary_factor);
  return stated;
}

}  // namespace

std::string_view to_string(Engine engine) noexcept { return name_or_unknown(engine); }

std::string_view to_string(RuleEvidence evidence) noexcept { return name_or_unknown(evidence); }

const EngineFacts& facts_of(Engine engine) noexcept {
  const auto found = std::ranges::find(engines, engine, &EngineFacts::engine);
  return found == engines.end() ? engines.front() : *found;
}

std::span<const DialectRule> rules_of(Engine engine) noexcept {
  switch (engine) {
    case Engine::transformers:
      return transformers_rules();
    case Engine::llama_cpp:
      return llama_cpp_rules();
    case Engine::vllm:
      return vllm_rules();
    case Engine::mlx:
      return mlx_rules();
    case Engine::onnxruntime:
      return onnxruntime_rules();
  }
  return {};
}

Result<Dialect> parse_dialect(std::string_view text) noexcept {
  return guarded([&]() -> Result<Dialect> {
    const std::size_t at = text.find('@');
    const std::string_view name = text.substr(0, at);
    Dialect dialect;
    const auto engine =
        std::ranges::find(all_engines, name, [](Engine each) { return to_string(each); });
    if (engine == all_engines.end())
      return invalid_argument("a dialect must be ", enumerator_names<Engine>(),
                              ", such as transformers@4.51, got '", shorten(text), "'");
    dialect.engine = *engine;
    if (at != std::string_view::npos) {
      dialect.version = parse_version(text.substr(at + 1));
      if (!dialect.version)
        return invalid_argument("the version of a dialect must be two numbers, such as 4.51, got '",
                                shorten(text.substr(at + 1)), "'");
    }
    if (auto status = check(dialect); !status) return std::move(status).error();
    return dialect;
  });
}

Result<std::string> to_string(const Dialect& dialect) noexcept {
  return guarded([&]() -> Result<std::string> {
    const std::string_view engine = to_string(dialect.engine);
    return dialect.version ? message(engine, "@", version_text(*dialect.version))
                           : std::string(engine);
  });
}

Result<DialectReading> read_as(const ModelSpec& model, const Dialect& dialect) noexcept {
  return guarded([&] { return read_with(model, {}, dialect); });
}

Result<DialectReading> read_as(std::string_view config_json, const Dialect& dialect,
                               const ResolveOptions& options) noexcept {
  return guarded([&]() -> Result<DialectReading> {
    auto model = resolve(config_json, options);
    if (!model) return std::move(model).error();
    auto config = parse_config(config_json);
    if (!config) return std::move(config).error();
    if (auto status = apply_overrides(*config, options.overrides); !status)
      return std::move(status).error();
    const StatedKeys stated = stated_keys(*config, model->config_part);
    return read_with(*std::move(model), stated, dialect);
  });
}

Result<DialectReading> apply_rule(const DialectRule& rule, const ModelSpec& model) noexcept {
  return guarded([&]() -> Result<DialectReading> {
    if (rule.apply == nullptr) return invalid_argument("a rule must be one of rules_of()");
    DialectReading reading{.model = model, .acted = {}, .refusal = {}};
    apply(rule, {}, reading);
    return reading;
  });
}

}  // namespace rotary
