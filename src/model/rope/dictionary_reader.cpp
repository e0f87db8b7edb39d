// SPDX-License-Identifier: Apache-2.0
#include "model/rope/dictionary_reader.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "model/json/spelling.hpp"

namespace rotary {

std::int64_t DictionaryReader::original_context() {
  constexpr std::string_view key = "original_max_position_embeddings";
  const auto inside = integer(key);
  const auto beside = context_.original_max_position_embeddings;
  if (inside && beside && *inside != *beside) {
    warn(message(key, " is given twice, ", *beside, " beside the rope parameters and ", *inside,
                 " among them; the former is used, as Transformers does"));
  }
  if (const auto original = beside ? beside : inside) return *original;
  if (!context_.max_position_embeddings) {
    fail(malformed_input(from_.path, key, " must be given, got none",
                         document_ == Document::config ? " (and no max_position_embeddings)" : ""));
    return 0;
  }
  warn(message(from_.path, key, " is absent; max_position_embeddings, ",
               *context_.max_position_embeddings, ", is used, as Transformers does"));
  return *context_.max_position_embeddings;
}

void DictionaryReader::warn_below_one(double factor) {
  if (factor > 0 && factor < 1) {
    warn(message(from_.path, "factor is below 1, which shortens the context; got ", factor));
  }
}

void DictionaryReader::refuse_other_keys(std::string_view rope_type) {
  for (const auto& [key, value] : from_.object->object()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end() || value.is_null()) continue;
    const bool is_named = find(from_, "rope_type") != nullptr || find(from_, "type") != nullptr;
    error_ =
        Error{document_ == Document::config ? ErrorCode::unsupported : ErrorCode::malformed_input,
              message(from_.path, shorten(key), " is not a key of rope_type '", rope_type,
                      is_named ? "'" : "' (assumed, because rope_type is absent)",
                      ", which accepts ", join(known_), hint_about(key))};
    return;
  }
}

void DictionaryReader::add_known(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
}

void DictionaryReader::fail_missing(std::string_view key) {
  fail(malformed_input(from_.path, key, " must be given, got none"));
}

std::string DictionaryReader::hint_about(std::string_view key) const {
  for (const auto& [explained, why] : explanations_) {
    if (explained == key) return message("; ", why);
  }
  return did_you_mean(key, known_);
}

}  // namespace rotary
