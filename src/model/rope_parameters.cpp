// SPDX-License-Identifier: Apache-2.0
// Each rope_type has one reader: it takes what it knows from the dictionary, and whatever key is
// left is refused by name. Defaults and precedence follow modeling_rope_utils.py of Transformers 5.
#include "model/rope_parameters.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "model/spelling.hpp"

namespace rotary {
namespace {

enum class Document { config, spec };

// A reading in progress: remembers which keys were asked for, and the first error.
class DictionaryReader {
 public:
  DictionaryReader(const ConfigObject& from, Document document, const RopeContext& context)
      : from_(from), document_(document), context_(context) {}

  std::optional<double> number(std::string_view key) { return read(key, read_number); }
  std::optional<std::int64_t> integer(std::string_view key) { return read(key, read_integer); }
  std::optional<bool> boolean(std::string_view key) { return read(key, read_boolean); }
  std::optional<std::string> text(std::string_view key) { return read(key, read_string); }

  double required_number(std::string_view key) {
    const auto value = number(key);
    if (!value) fail(malformed_input(from_.path, key, " must be given, got none"));
    return value.value_or(0);
  }

  // Beside the dictionary wins over inside; without either, the trained context stands in.
  std::int64_t original_context() {
    constexpr std::string_view key = "original_max_position_embeddings";
    const auto inside = integer(key);
    if (const auto original = context_.original_max_position_embeddings
                                  ? context_.original_max_position_embeddings
                                  : inside) {
      return *original;
    }
    if (!context_.max_position_embeddings) {
      fail(malformed_input(
          from_.path, key, " must be given, got none",
          document_ == Document::config ? " (and no max_position_embeddings)" : ""));
      return 0;
    }
    warn(message(from_.path, key, " is absent; max_position_embeddings, ",
                 *context_.max_position_embeddings, ", is used, as Transformers does"));
    return *context_.max_position_embeddings;
  }

  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  // After a rule has read its keys: anything else in the dictionary is not understood. It may be
  // the misspelt one that was found missing, so this error wins.
  void refuse_other_keys(std::string_view rope_type) {
    for (const auto& [key, value] : from_.object->items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end() || value.is_null()) continue;
      const bool is_named = find(from_, "rope_type") != nullptr || find(from_, "type") != nullptr;
      error_ =
          Error{document_ == Document::config ? ErrorCode::unsupported : ErrorCode::malformed_input,
                message(from_.path, shorten(key), " is not a key of rope_type '", rope_type,
                        is_named ? "'" : "' (assumed, because rope_type is absent)",
                        ", which accepts ", join(known_), did_you_mean(key, known_))};
      return;
    }
  }

  [[nodiscard]] const ConfigObject& from() const { return from_; }
  [[nodiscard]] const RopeContext& context() const { return context_; }
  [[nodiscard]] std::optional<Error>& error() { return error_; }
  [[nodiscard]] std::vector<std::string>& warnings() { return warnings_; }

 private:
  template <class T>
  std::optional<T> read(std::string_view key,
                        Result<std::optional<T>> (*reader)(const ConfigObject&, std::string_view)) {
    known_.push_back(key);
    auto value = reader(from_, key);
    if (value) return *std::move(value);
    fail(std::move(value).error());
    return std::nullopt;
  }

  const ConfigObject& from_;
  Document document_;
  const RopeContext& context_;
  std::vector<std::string_view> known_;  // literals
  std::vector<std::string> warnings_;
  std::optional<Error> error_;
};

void warn_below_one(DictionaryReader& reader, double factor) {
  if (factor > 0 && factor < 1) {
    reader.warn(
        message(reader.from().path, "factor is below 1, which shortens the context; got ", factor));
  }
}

Scaling read_default(DictionaryReader&) { return NoScaling{}; }

Scaling read_ntk(DictionaryReader& reader) {
  return NtkScaling{.alpha = reader.required_number("alpha")};
}

Scaling read_linear(DictionaryReader& reader) {
  const double factor = reader.required_number("factor");
  warn_below_one(reader, factor);
  return LinearScaling{.factor = factor};
}

// Factor and lengths that contradict each other: one of the three is usually wrong.
void warn_about_ratio(DictionaryReader& reader, const YarnScaling& rule) {
  const auto trained = reader.context().max_position_embeddings;
  if (!trained || rule.original_context_tokens <= 0) return;
  const double ratio =
      static_cast<double>(*trained) / static_cast<double>(rule.original_context_tokens);
  if (ratio == 1 || ratio == rule.factor) return;
  reader.warn(message(reader.from().path, "factor ", rule.factor,
                      " is not max_position_embeddings / original_max_position_embeddings = ",
                      ratio, "; factor is used"));
}

Scaling read_yarn(DictionaryReader& reader) {
  YarnScaling rule;
  const bool has_factor_key = reader.from().object->contains("factor");
  const auto factor = reader.number("factor");
  rule.original_context_tokens = reader.original_context();
  if (!has_factor_key) reader.required_number("factor");
  const auto trained = reader.context().max_position_embeddings;
  if (factor) {
    rule.factor = *factor;
    warn_about_ratio(reader, rule);
  } else if (trained && rule.original_context_tokens > 0) {  // "factor": null
    rule.factor = static_cast<double>(*trained) / static_cast<double>(rule.original_context_tokens);
  }
  warn_below_one(reader, rule.factor);
  // Transformers reads `beta or default`, so 0 is the default.
  if (const auto beta = reader.number("beta_fast"); beta && *beta != 0) rule.beta_fast = *beta;
  if (const auto beta = reader.number("beta_slow"); beta && *beta != 0) rule.beta_slow = *beta;
  rule.attention_factor = reader.number("attention_factor");
  rule.mscale = reader.number("mscale");
  rule.mscale_all_dim = reader.number("mscale_all_dim");
  const Json* const given = find(reader.from(), "attention_factor");
  if (given != nullptr && given->is_number_integer()) {
    reader.warn(message(reader.from().path, "attention_factor is an integer, ", describe(*given),
                        "; Transformers warns unless it is a float"));
  }
  reader.boolean("finetuned");  // of the YaRN authors' own models: says how, not what
  if (reader.from().object->contains("truncate") && find(reader.from(), "truncate") == nullptr) {
    reader.fail(malformed_input(reader.from().path, "truncate must be true or false, got null"));
  }
  if (!reader.boolean("truncate").value_or(true)) rule.ramp = YarnRamp::fractional;
  return rule;
}

Scaling read_llama3(DictionaryReader& reader) {
  const Llama3Scaling rule{.factor = reader.required_number("factor"),
                           .low_freq_factor = reader.required_number("low_freq_factor"),
                           .high_freq_factor = reader.required_number("high_freq_factor"),
                           .original_context_tokens = reader.original_context()};
  const auto trained = reader.context().max_position_embeddings;
  if (trained && rule.original_context_tokens >= *trained) {
    reader.warn(message(reader.from().path, "original_max_position_embeddings, ",
                        rule.original_context_tokens, ", is not below max_position_embeddings, ",
                        *trained));
  }
  warn_below_one(reader, rule.factor);
  return rule;
}

// Every rule has its form in a spec; configs use fewer.
enum class UsedIn { configs_and_specs, specs };

struct RopeType {
  std::string_view name;  // rope_type() of the rule
  Scaling (*read)(DictionaryReader&);
  UsedIn used_in = UsedIn::configs_and_specs;
};

constexpr std::array rope_types = {RopeType{"default", read_default},
                                   RopeType{"linear", read_linear},
                                   RopeType{"ntk", read_ntk, UsedIn::specs},
                                   RopeType{"yarn", read_yarn}, RopeType{"llama3", read_llama3}};

bool accepts(Document document, const RopeType& rope_type) {
  return document == Document::spec || rope_type.used_in == UsedIn::configs_and_specs;
}

Result<const RopeType*> find_rope_type(const ConfigObject& from, Document document,
                                       std::string_view name) {
  std::vector<std::string_view> accepted;
  for (const RopeType& each : rope_types) {
    if (!accepts(document, each)) continue;
    if (each.name == name) return &each;
    accepted.push_back(each.name);
  }
  return unsupported(from.path, "rope_type must be one of ", join(accepted), "; got ",
                     describe(std::string(name)));
}

// rope_type, or type in files from before Transformers 4.43.
std::string read_rope_type(DictionaryReader& reader) {
  const auto name = reader.text("rope_type");
  const auto old_name = reader.text("type");
  if (name && old_name && *name != *old_name) {
    reader.fail(malformed_input(reader.from().path, "rope_type and type must agree, got '", *name,
                                "' and '", *old_name, "'"));
  }
  return name ? *name : old_name.value_or("default");
}

}  // namespace

Result<RopeParameters> read_rope_parameters(const ConfigObject& from, const RopeContext& context) {
  DictionaryReader reader(from, Document::config, context);
  RopeParameters parameters;
  const std::string name = read_rope_type(reader);
  if (reader.error()) return *std::move(reader.error());
  const auto rope_type = find_rope_type(from, Document::config, name);
  if (!rope_type) return rope_type.error();
  parameters.rope_theta = reader.number("rope_theta");
  parameters.partial_rotary_factor = reader.number("partial_rotary_factor");
  parameters.scaling = (*rope_type)->read(reader);
  reader.refuse_other_keys(name);
  if (reader.error()) return *std::move(reader.error());
  parameters.warnings = std::move(reader.warnings());
  return parameters;
}

Result<Scaling> read_spec_scaling(const ConfigObject& from) {
  const RopeContext context;
  DictionaryReader reader(from, Document::spec, context);
  const auto name = reader.text("rope_type");
  if (reader.error()) return *std::move(reader.error());
  if (!name) return malformed_input(from.path, "rope_type must be given, got none");
  const auto rope_type = find_rope_type(from, Document::spec, *name);
  if (!rope_type) return rope_type.error();
  const Scaling scaling = (*rope_type)->read(reader);
  reader.refuse_other_keys(*name);
  if (reader.error()) return *std::move(reader.error());
  return scaling;
}

}  // namespace rotary
