// SPDX-License-Identifier: Apache-2.0
// What each key of a config does, found by experiment: the model is resolved again without the key,
// and with another value. So what is said of a key is what resolve() does with it, and a family
// that reads a key is not listed twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/explain/model_facts.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary::cli::explain {

enum class KeyUse : std::int32_t {
  required,   // nothing can be said without it
  used,       // without it the model is another one
  no_effect,  // read, and the model is the same without it
  ignored,    // the model is the same without it, and a warning less says why
  unread,     // whatever it is: not about positions, or another key says it
};

[[nodiscard]] std::string_view to_string(KeyUse use) noexcept;

// What the model becomes.
using Outcome = std::variant<std::vector<FactChange>, Error>;

struct OtherValue {
  std::string value;  // JSON text
  Outcome outcome;
};

struct ConfigKey {
  std::string path;   // with dots into objects
  std::string value;  // JSON text; of an object none of whose members is read, "{...}"
  KeyUse use;
  std::vector<std::string> warnings;  // that the config has because of the key
  Outcome without;
  std::optional<OtherValue> other;  // twice a number, the opposite of a truth
};

struct ConfigText {
  std::string_view json;
  ResolveOptions options;  // their overrides are applied first
};

// In the config's order. The config must be one that resolves. Usage failure for a config of more
// than 500 keys, of more than 256 KiB or of more than 2048 pairs of features: it is resolved
// several times for each key that is read.
[[nodiscard]] std::vector<ConfigKey> keys_of_config(const ConfigText& config);

}  // namespace rotary::cli::explain
