// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/experiments.hpp"
#include "lab/experiment/json_object.hpp"

namespace rotary::lab {
namespace {

using cli::ExitCode;
using cli::Failure;
using nlohmann::json;

constexpr std::uint64_t file_bytes_limit = 1 << 20;

template <class... Arguments>
[[noreturn]] void fail(const JsonObject& object, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) {
  throw Failure(ExitCode::malformed_input,
                object.name() + ": " + fmt::format(format, std::forward<Arguments>(arguments)...));
}

// Refuses a name that is not plain, because it becomes a folder.
void check_plain(const JsonObject& object, std::string_view name) {
  if (is_plain_name(name)) return;
  fail(object, "a name must be {}, got '{}'", plain_name_requirement, name);
}

Task read_task(JsonObject& object) {
  const std::string name = object.text("task");
  const auto* const found = std::ranges::find(named_tasks, name, &NamedTask::name);
  if (found != named_tasks.end()) return found->task;
  fail(object, "task must be one of {}, got '{}'",
       fmt::join(named_tasks | std::views::transform(&NamedTask::name), ", "), name);
}

AttentionKind read_attention(JsonObject& object) {
  if (!object.has("attention")) return AttentionKind::softmax;
  const std::string name = object.text("attention");
  if (name == "softmax") return AttentionKind::softmax;
  if (name == "linear") return AttentionKind::linear;
  fail(object, "attention must be softmax or linear, got '{}'", name);
}

// Refuses an encoding that changes scores if the attention has no scores.
void check_attention(const JsonObject& object, const Encoding& encoding, AttentionKind attention) {
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding.kind);
  const bool on_scores = std::holds_alternative<BiasEncoding>(encoding.kind) ||
                         std::holds_alternative<ShawEncoding>(encoding.kind) ||
                         std::holds_alternative<ClippedAngleEncoding>(encoding.kind) ||
                         (rotary != nullptr && rotary->layers);
  if (attention == AttentionKind::softmax || !on_scores) return;
  fail(object, "linear attention has no scores for {} to act on", encoding.name);
}

ModelConfig read_model(JsonObject object, Task task) {
  const ModelConfig model{.task = object.has("task") ? read_task(object) : task,
                          .d_model = object.integer("d_model", 2),
                          .layers = object.integer("layers", 1),
                          .heads = object.integer("heads", 1),
                          .tokens = object.integer("tokens", 2),
                          .attention = read_attention(object)};
  object.finish();
  if (model.task == Task::translation && model.attention == AttentionKind::linear)
    fail(object, "linear attention sees padding, of which the texts of translation have some");
  if (model.d_model % (2 * model.heads) == 0) return model;
  fail(object, "d_model / heads must be an even number, got {} / {}", model.d_model, model.heads);
}

// Reads the list at a key. Fails, and states the requirement, if a value does not fit.
template <class T>
std::vector<T> read_list(JsonObject& object, std::string_view key, std::string_view requirement,
                         bool (*fits)(const json& value)) {
  std::vector<T> values;
  for (const json& each : object.at(key)) {
    if (!fits(each)) fail(object, "{} must be {}, got {}", key, requirement, each.dump());
    values.push_back(each.get<T>());
  }
  if (values.empty()) fail(object, "{} must not be empty", key);
  return values;
}

template <class Integer = std::int64_t>
std::vector<Integer> read_integers(JsonObject& object, std::string_view key) {
  return read_list<Integer>(object, key, "whole numbers from 1", [](const json& value) {
    return value.is_number_integer() && value.get<std::int64_t>() >= 1;
  });
}

TrainingConfig read_training(JsonObject object) {
  TrainingConfig training{.steps = object.integer("steps", 1),
                          .batch = object.integer("batch", 1),
                          .learning_rate = object.number("learning_rate"),
                          .warmup_steps = object.integer("warmup_steps", 0),
                          .final_fraction = object.number("final_fraction", 0.1),
                          .weight_decay = object.number("weight_decay", 0.1),
                          .beta2 = object.number("beta2", 0.99),
                          .clip_norm = object.number("clip_norm", 1),
                          .validate_every = object.integer("validate_every", 1),
                          .validation_rows = object.integer("validation_rows", 1)};
  training.evaluate_lengths = object.has("evaluate_lengths")
                                  ? read_integers(object, "evaluate_lengths")
                                  : std::vector<std::int64_t>{1};
  const std::int64_t longest = std::ranges::max(training.evaluate_lengths);
  for (const std::int64_t multiple : training.evaluate_lengths) {
    if (longest % multiple != 0)
      fail(object, "evaluate_lengths must divide the longest, {}, got {}", longest, multiple);
  }
  training.evaluate_unit = object.integer("evaluate_unit", 1, 0);
  if (object.has("rescale")) {
    const std::string rules = fmt::format("some of {}", fmt::join(rescaling_rules, ", "));
    training.rescale = read_list<std::string>(object, "rescale", rules, [](const json& value) {
      return value.is_string() && is_rescaling_rule(value.get<std::string>());
    });
  }
  if (object.has("cost_lengths")) training.cost_lengths = read_integers(object, "cost_lengths");
  training.spike_window = object.integer("spike_window", 1, 0);
  training.pair_rows = object.integer("pair_rows", 1, 0);
  object.finish();
  return training;
}

Start read_start(JsonObject object) {
  Start start{.experiment = object.text("experiment"), .encoding = object.text("encoding")};
  check_plain(object, start.experiment);
  check_plain(object, start.encoding);
  object.finish();
  return start;
}

// Settings shared by a preset's arms, which an arm may replace.
struct Shared {
  Task task;
  json model;
  json training;
  std::vector<std::uint64_t> seeds;
};

// Removes and returns the key's value, or null.
json take(json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return {};
  json value = std::move(object[key]);
  object.erase(key);
  return value;
}

// Validation must include the trained length, even if the unit is another length.
void check_unit(const JsonObject& object, const Arm& arm) {
  const std::int64_t unit = arm.training.evaluate_unit;
  if (unit == 0) return;
  const auto& lengths = arm.training.evaluate_lengths;
  const bool trained = arm.model.tokens % unit == 0 &&
                       std::ranges::find(lengths, arm.model.tokens / unit) != lengths.end();
  if (trained) return;
  fail(object,
       "evaluate_lengths must hold the trained length, {} tokens, in multiples "
       "of evaluate_unit, {}",
       arm.model.tokens, unit);
}

// Pairs can be examined only for a rotary encoding in a language model with softmax attention.
void check_pairs(const JsonObject& object, const Encoding& encoding, const Arm& arm) {
  if (arm.training.pair_rows == 0) return;
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding.kind);
  const bool has_pairs = rotary != nullptr && !rotary->spec.xpos &&
                         arm.model.task == Task::causal_lm &&
                         arm.model.attention == AttentionKind::softmax;
  if (has_pairs) return;
  fail(object, "pair_rows needs a rotary encoding without xpos, in a causal_lm with softmax");
}

// A copy per learning rate, in one family; without rates, the arm itself.
std::vector<Arm> at_rates(const Arm& arm, const std::vector<double>& rates) {
  if (rates.empty()) return {arm};
  std::vector<Arm> arms;
  for (const double rate : rates) {
    arms.push_back(arm);
    arms.back().family = arm.name;
    arms.back().name = fmt::format("{}-lr-{}", arm.name, rate);
    arms.back().training.learning_rate = rate;
  }
  return arms;
}

Arm read_arm(json entry, const Shared& shared, const std::string& source) {
  const auto merged = [&](const json& common, const char* key) {
    json all = common;
    if (const json own = take(entry, key); own.is_object()) all.update(own);
    return all;
  };
  const json model = merged(shared.model, "model");
  const json training = merged(shared.training, "training");
  const json start = take(entry, "start");
  const json seeds = take(entry, "seeds");
  const json settings = encoding_settings(entry);
  const std::string name = settings.at("name").get<std::string>();
  const std::string where = fmt::format("{}: {}", source, name);
  Arm arm{.name = name,
          .family = "",
          .encoding = settings,
          .model = read_model(JsonObject(model, where + ": model"), shared.task),
          .training = read_training(JsonObject(training, where + ": training")),
          .start = std::nullopt,
          .seeds = shared.seeds};
  const JsonObject object(settings, where);
  check_plain(object, name);
  check_unit(object, arm);
  const Encoding encoding = parse_encoding(settings, arm.model.head_dim());
  check_attention(object, encoding, arm.model.attention);
  check_pairs(object, encoding, arm);
  if (!start.is_null()) arm.start = read_start(JsonObject(start, where + ": start"));
  if (!seeds.is_null()) {
    const json own = {{"seeds", seeds}};
    JsonObject of_arm(own, where);
    arm.seeds = read_integers<std::uint64_t>(of_arm, "seeds");
  }
  return arm;
}

Preset read_preset(JsonObject object, Task task) {
  Preset preset{.data = object.has("data") ? object.text("data") : "grammar", .arms = {}};
  check_plain(object, preset.data);
  // Checks the shared settings here, so that an error names them instead of the first arm.
  (void)read_model(object.object("model"), task);
  (void)read_training(object.object("training"));
  const Shared shared{.task = task,
                      .model = object.at("model"),
                      .training = object.at("training"),
                      .seeds = read_integers<std::uint64_t>(object, "seeds")};
  std::vector<double> rates;
  if (object.has("learning_rates")) {
    rates = read_list<double>(object, "learning_rates", "numbers above 0", [](const json& value) {
      return value.is_number() && value.get<double>() > 0;
    });
  }
  std::set<std::string> names;
  for (const json& entry : object.at("encodings")) {
    for (Arm& arm : at_rates(read_arm(entry, shared, object.name()), rates)) {
      if (!names.insert(arm.name).second)
        fail(object, "encodings must have different names, got {} twice", arm.name);
      preset.arms.push_back(std::move(arm));
    }
  }
  object.finish();
  return preset;
}

}  // namespace

double learning_rate_at(const TrainingConfig& training, std::int64_t step) noexcept {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(training.warmup_steps);
  if (at < warmup) return training.learning_rate * (at + 1) / (warmup + 1);
  const double rest = std::max(static_cast<double>(training.steps) - warmup, 1.0);
  const double fall = 0.5 * (1 + std::cos(std::numbers::pi * (at - warmup) / rest));
  return training.learning_rate * (training.final_fraction + (1 - training.final_fraction) * fall);
}

Experiment parse_experiment(std::string_view text, const std::string& source) {
  const json document = parse_json(text, source);
  JsonObject object(document, source);
  if (object.integer("schema_version", 1) != 1) fail(object, "schema_version must be 1");
  Experiment experiment;
  experiment.name = object.text("name");
  check_plain(object, experiment.name);
  experiment.title = object.text("title");
  experiment.mirrors = object.text("mirrors");
  const Task task = read_task(object);
  JsonObject presets = object.object("presets");
  for (const auto& [name, value] : object.at("presets").items()) {
    check_plain(presets, name);
    experiment.presets.emplace(name, read_preset(presets.object(name), task));
  }
  (void)object.at("claims");
  if (object.has("paper")) (void)object.at("paper");
  object.finish();
  return experiment;
}

Experiment load_experiment(const std::string& path) {
  return parse_experiment(cli::read_file(path, file_bytes_limit), path);
}

bool is_called(const Arm& arm, std::string_view name) {
  return arm.name == name || (!arm.family.empty() && arm.family == name);
}

const Preset& find_preset(const Experiment& experiment, const std::string& name) {
  const auto found = experiment.presets.find(name);
  if (found != experiment.presets.end()) return found->second;
  throw Failure(ExitCode::usage,
                fmt::format("--preset of {} must be one of {}, got '{}'", experiment.name,
                            fmt::join(std::views::keys(experiment.presets), ", "), name));
}

}  // namespace rotary::lab
