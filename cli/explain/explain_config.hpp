// SPDX-License-Identifier: Apache-2.0
// Finds each key's effect on positions: resolves the model without it, and with another value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "cli/model_input.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary::cli::explain {

// Explains the config of a file or a model card; prints the config's warnings.
[[nodiscard]] std::string explain_config(const std::string& path_or_card,
                                         const ResolveOptions& options, OutputForm form);

// A model as a list of named facts, to compare two models.
struct Fact {
  std::string name;        // as in `rotary inspect --json`: "base", "rotary_dim", ...
  std::string layer_type;  // the layer type of the embedding if there are several; else empty
  Json value;              // a number, a text or a list of numbers
};
void to_json(Json& json, const Fact& fact);

// The facts for this context, else for the trained context, else for one token.
[[nodiscard]] std::vector<Fact> facts_of(const ModelSpec& model,
                                         std::optional<std::int64_t> context_tokens);

// A null `from` or `to` means that the model has no such fact. If two lists differ, `from` is null
// and `to` describes the difference.
struct FactChange {
  std::string name;
  std::string layer_type;
  Json from;
  Json to;
};
void to_json(Json& json, const FactChange& change);

[[nodiscard]] std::vector<FactChange> changes(const std::vector<Fact>& from,
                                              const std::vector<Fact>& to);

// "base 500000", and "base 500000 -> 10000".
[[nodiscard]] std::string fact_text(const Fact& fact);
[[nodiscard]] std::string change_text(const FactChange& change);

enum class KeyUse : std::int32_t {
  required,   // without it the config is refused
  used,       // without it the model differs
  no_effect,  // read, and the model is the same without it
  ignored,    // without it the model is the same, but a warning is missing
  unread,     // no value of it has an effect: not about positions, or another key decides
};

struct KeyUseWords {
  std::string_view name;      // "no_effect"
  std::string_view title;     // of the keys with this use
  std::string_view sentence;  // about one such key
};
[[nodiscard]] const KeyUseWords& words_of(KeyUse use) noexcept;

// How the model changes, or why it is refused.
using Outcome = Result<std::vector<FactChange>>;

struct OtherValue {
  Json value;
  Outcome outcome;
};

struct ConfigKey {
  std::string path;  // "rope_scaling.factor"
  Json value;
  KeyUse use;
  std::vector<std::string> warnings = {};  // warnings that disappear without the key
  Outcome without = std::vector<FactChange>{};
  std::optional<OtherValue> other = {};  // a number doubled, a boolean negated
};

// The keys in the config's order, after overrides. Fails if the config does not resolve. Fails as
// wrong usage above 500 keys, 256 KiB or 2048 pairs of features, because each key takes several
// resolutions.
[[nodiscard]] std::vector<ConfigKey> keys_of_config(std::string_view json,
                                                    const ResolveOptions& options);

// The keys whose values `metadata` keeps, in the file's order. The limits are those of a config,
// with the names and kept values counted as bytes.
[[nodiscard]] std::vector<ConfigKey> keys_of_gguf(const GgufMetadata& metadata,
                                                  const GgufOptions& options);

[[nodiscard]] std::vector<ConfigKey> keys_of(const ConfigFile& config,
                                             const ResolveOptions& options);

// JSON text, or "{...}" for an object whose members are all unread. Cuts a text above `most` bytes
// and appends the ellipsis.
[[nodiscard]] std::string value_text(const Json& value, std::size_t most,
                                     std::string_view ellipsis);

// How the model changes with another value or without the key.
struct KeyEffect {
  std::string change;  // "without it", "with 16.0"
  std::vector<std::string> results;
  bool is_sentence;  // results has one sentence, "refused: ..." or "the same model"
};
[[nodiscard]] std::vector<KeyEffect> effects_of(const ConfigKey& key);

// The meaning of a path's last name ("factor" in "rope_scaling.factor"); "" for unknown keys.
[[nodiscard]] std::string meaning_of(std::string_view path);

}  // namespace rotary::cli::explain
