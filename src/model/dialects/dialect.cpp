// SPDX-License-Identifier: Apache-2.0
#include "rotary/dialect.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/dialects/evidence.hpp"
#include "model/dialects/rule_target.hpp"
#include "model/json/config_json.hpp"
#include "model/json/overrides.hpp"
#include "model/resolve_json.hpp"

namespace rotary {

template <>
struct Describe<Engine> {
  static constexpr std::array enumerators = {NamedEnumerator{Engine::transformers, "transformers"},
                                             NamedEnumerator{Engine::llama_cpp, "llama.cpp"},
                                             NamedEnumerator{Engine::vllm, "vllm"},
                                             NamedEnumerator{Engine::mlx, "mlx"},
                                             NamedEnumerator{Engine::onnxruntime, "onnxruntime"},
                                             NamedEnumerator{Engine::sglang, "sglang"}};
};
template <>
struct Describe<Evidence> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Evidence::run, "run"}, NamedEnumerator{Evidence::read, "read"},
      NamedEnumerator{Evidence::absent, "absent"}, NamedEnumerator{Evidence::none, "none"}};
};

namespace {

constexpr std::array transformers_releases = {
    EngineVersion{4, 38}, EngineVersion{4, 43}, EngineVersion{4, 45}, EngineVersion{4, 48},
    EngineVersion{4, 51}, EngineVersion{4, 53}, EngineVersion{4, 55}, EngineVersion{4, 57},
    EngineVersion{5, 0},  EngineVersion{5, 8},  EngineVersion{5, 13}, EngineVersion{5, 24}};

constexpr EngineVersion last_transformers_4 = {4, 57};

constexpr std::array vllm_releases = {EngineVersion{0, 33}};

constexpr std::array engines = {
    EngineFacts{.engine = Engine::transformers,
                .source = "the wheels of Transformers 4.33.3 to 5.24.0",
                .oldest = {4, 33},
                .newest = {5, 24},
                .numerics = Numerics::transformers,
                .looked_at = "2026-11-27",
                .releases = transformers_releases},
    EngineFacts{.engine = Engine::llama_cpp,
                .source = "llama.cpp 0c1e5709, in llama_cpp_python 0.3.36",
                .numerics = Numerics::ggml,
                .looked_at = "2026-11-27"},
    EngineFacts{.engine = Engine::vllm,
                .source = "vLLM 0.22.1 to 0.33.0",
                .oldest = {0, 22},
                .newest = {0, 33},
                .numerics = Numerics::vllm,
                .looked_at = "2026-11-27",
                .releases = vllm_releases},
    EngineFacts{.engine = Engine::mlx,
                .source = "mlx-lm 0.32.2",
                .oldest = {0, 32},
                .newest = {0, 32},
                .numerics = Numerics::exact,
                .looked_at = "2026-11-27"},
    EngineFacts{.engine = Engine::onnxruntime,
                .source = "onnxruntime-genai 0.18.0",
                .oldest = {0, 18},
                .newest = {0, 18},
                .numerics = Numerics::transformers,
                .looked_at = "2026-11-27"},
    EngineFacts{.engine = Engine::sglang,
                .source = "SGLang 0.5.23",
                .numerics = Numerics::transformers,
                .looked_at = "2026-11-27"},
};

std::optional<EngineVersion> parse_version(std::string_view text) {
  EngineVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc()) return std::nullopt;
  const bool is_whole = minor.ptr == end || *minor.ptr == '.';  // 4.51.3 belongs to 4.51
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
  const bool was_released = dialect.engine != Engine::transformers || dialect.version->major != 4 ||
                            *dialect.version <= last_transformers_4;
  if (!was_released)
    return invalid_argument("the version of transformers must be a release, got ",
                            version_text(*dialect.version), "; the last before 5.0 is ",
                            version_text(last_transformers_4));
  if (*dialect.version >= facts.oldest && *dialect.version <= facts.newest) return {};
  return invalid_argument("the version of ", to_string(dialect.engine), " must be from ",
                          version_text(facts.oldest), " to ", version_text(facts.newest), ", got ",
                          version_text(*dialect.version));
}

EngineVersion version_of(const Dialect& dialect) {
  return dialect.version.value_or(facts_of(dialect.engine).newest);
}

bool is_in_force(const DialectRule& rule, const Dialect& dialect) {
  const EngineVersion version = version_of(dialect);
  return rule.last == EngineVersion{} || (rule.first <= version && version <= rule.last);
}

void note(const DialectRule& rule, DialectReading& reading) {
  if (std::ranges::find(reading.acted, &rule) == reading.acted.end())
    reading.acted.push_back(&rule);
}

// Applies the rule to each embedding of the model. Applies it once to a model without embeddings,
// because a rule may change other members of the model.
void apply(const DialectRule& rule, const StatedKeys& stated, const EngineVersion& version,
           DialectReading& reading) {
  ModelRotary nothing{.layer_type = {},
                      .spec = {.head_dim = 2, .base = 10000.0, .pairing = Pairing::half},
                      .trained_context_tokens = {}};
  const auto apply_to = [&](ModelRotary& rotary) {
    RuleTarget target{reading.model, rotary, stated, reading.lengths, reading.refusal, version};
    rule.apply(target);
    if (target.acted || target.refusal) note(rule, reading);
  };
  if (rule.apply == nullptr) return;
  for (ModelRotary& rotary : reading.model.rotary) {
    if (!reading.refusal) apply_to(rotary);
  }
  if (reading.model.rotary.empty()) apply_to(nothing);
}

void apply_rules(const StatedKeys& stated, const Dialect& dialect, DialectReading& reading) {
  for (const DialectRule& rule : rules_of(dialect.engine)) {
    if (reading.refusal) break;
    if (is_in_force(rule, dialect)) apply(rule, stated, version_of(dialect), reading);
  }
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

// The object at a path such as "text_config" or "a.b"; the config itself for "".
Json& object_at(Json& config, std::string_view path) {
  Json* object = &config;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    object = &object->object()[std::string(path.substr(0, dot))];
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return *object;
}

bool has_members(const Json* object) {
  return object != nullptr && object->is_object() && object->size() > 0;
}

StatedKeys stated_keys(const Json& part) {
  StatedKeys stated;
  take(member(&part, "hidden_size"), stated.hidden_size);
  take(member(&part, "num_attention_heads"), stated.heads);
  take(member(&part, "rotary_dim"), stated.rotary_dim);
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* const rope = member(&part, key);
    take(member(rope, "partial_rotary_factor"), stated.partial_rotary_factor);
    take(member(rope, "rope_theta"), stated.theta_within);
    const Json* const factor = member(rope, "factor");
    if (factor != nullptr && factor->is_null()) stated.factor_is_null = true;
  }
  take(member(&part, "partial_rotary_factor"), stated.partial_rotary_factor);
  take(member(&part, "rope_theta"), stated.theta_beside);
  stated.has_parameters = has_members(member(&part, "rope_parameters"));
  stated.has_scaling = has_members(member(&part, "rope_scaling"));
  stated.has_scaling_key = member(&part, "rope_scaling") != nullptr;
  constexpr std::string_view original = "original_max_position_embeddings";
  const Json* const rope = member(&part, stated.has_scaling ? "rope_scaling" : "rope_parameters");
  stated.original_inside = member(rope, original) != nullptr;
  stated.original_beside = member(&part, original) != nullptr;
  return stated;
}

// Edits the model's part of the config by the rules that change keys. Returns those that acted.
std::vector<const DialectRule*> edit(Json& part, const ModelSpec& model, const Dialect& dialect) {
  std::vector<const DialectRule*> acted;
  ConfigEdit target{part.object(), model.model_type, version_of(dialect)};
  for (const DialectRule& rule : rules_of(dialect.engine)) {
    if (rule.edit != nullptr && is_in_force(rule, dialect) && rule.edit(target))
      acted.push_back(&rule);
  }
  return acted;
}

bool concerns(const Dispute& dispute, const Dialect& dialect) {
  const EngineVersion version = version_of(dialect);
  return dispute.by.engine == dialect.engine && dispute.by.first <= version &&
         version <= dispute.by.last;
}

Result<DialectReading> read_config(Json config, const Dialect& dialect,
                                   const ResolveOptions& options) {
  if (auto status = check(dialect); !status) return std::move(status).error();
  auto resolved = resolve_json(config, options);
  EngineKeys engine_keys;
  if (!resolved && resolved.error().code == ErrorCode::unsupported) {
    engine_keys = dialects::take_engine_keys(config);
    if (engine_keys != EngineKeys{}) resolved = resolve_json(config, options);
  }
  if (!resolved) return std::move(resolved).error();
  Json& part = object_at(config, resolved->model.config_part);
  DialectReading reading;
  reading.evidence = evidence_of(part, resolved->model, dialect);
  reading.acted = edit(part, resolved->model, dialect);
  if (!reading.acted.empty()) {
    ResolveOptions edited = options;
    edited.overrides.clear();  // the config has them already
    auto read = resolve_json(config, edited);
    if (read)
      resolved = std::move(read);
    else  // the engine has an unknown default
      reading.disputes.push_back(
          message(reading.acted.back()->sentence, " ", read.error().message));
  }
  for (const Dispute& dispute : resolved->disputes)
    if (concerns(dispute, dialect)) reading.disputes.push_back(dispute.text);
  reading.model = std::move(resolved->model);
  StatedKeys stated = stated_keys(part);
  stated.engine_keys = engine_keys;
  apply_rules(stated, dialect, reading);
  // The engine was run only with configs that lack the keys of EngineKeys.
  if (engine_keys != EngineKeys{} && reading.evidence.kind == Evidence::run)
    reading.evidence = {Evidence::read, message("the source of ", to_string(dialect.engine),
                                                " was read for keys that Transformers lacks")};
  if (reading.evidence.kind == Evidence::absent && !reading.refusal)
    reading.refusal = reading.evidence.sentence;
  return reading;
}

}  // namespace

std::string_view to_string(Engine engine) noexcept { return name_or_unknown(engine); }

std::string_view to_string(Evidence evidence) noexcept { return name_or_unknown(evidence); }

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
    case Engine::sglang:
      return sglang_rules();
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
  return guarded([&]() -> Result<DialectReading> {
    if (auto status = check(dialect); !status) return std::move(status).error();
    DialectReading reading;
    reading.model = model;
    reading.evidence.sentence = "there is no config whose form could be looked up";
    apply_rules({}, dialect, reading);
    return reading;
  });
}

Result<DialectReading> read_as(std::string_view config_json, const Dialect& dialect,
                               const ResolveOptions& options) noexcept {
  return guarded([&]() -> Result<DialectReading> {
    auto config = parse_config(config_json);
    if (!config) return std::move(config).error();
    if (auto status = apply_overrides(*config, options.overrides); !status)
      return std::move(status).error();
    return read_config(*std::move(config), dialect, options);
  });
}

Result<DialectReading> apply_rule(const DialectRule& rule, const ModelSpec& model) noexcept {
  return guarded([&]() -> Result<DialectReading> {
    if (rule.apply == nullptr && rule.edit == nullptr)
      return invalid_argument("a rule must be one of rules_of()");
    DialectReading reading;
    reading.model = model;
    apply(rule, {}, {}, reading);
    return reading;
  });
}

}  // namespace rotary
