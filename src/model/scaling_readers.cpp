// SPDX-License-Identifier: Apache-2.0
#include "model/scaling_readers.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "model/spelling.hpp"

namespace rotary {
namespace {

Scaling read_default(DictionaryReader&) { return NoScaling{}; }

Scaling read_ntk(DictionaryReader& reader) {
  return NtkScaling{.alpha = reader.required_number("alpha")};
}

Scaling read_linear(DictionaryReader& reader) {
  const double factor = reader.required_number("factor");
  reader.warn_below_one(factor);
  return LinearScaling{.factor = factor};
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
  reader.warn_below_one(rule.factor);
  return rule;
}

constexpr std::array rope_types = {RopeType{"default", read_default},
                                   RopeType{"linear", read_linear},
                                   RopeType{"ntk", read_ntk, UsedIn::specs},
                                   RopeType{"yarn", read_yarn}, RopeType{"llama3", read_llama3}};

bool accepts(Document document, const RopeType& rope_type) {
  return document == Document::spec || rope_type.used_in == UsedIn::configs_and_specs;
}

}  // namespace

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

}  // namespace rotary
