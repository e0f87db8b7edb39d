// SPDX-License-Identifier: Apache-2.0
// Reads a rope dictionary key by key, so that keys never read can be refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/json/config_json.hpp"
#include "model/rope/rope_parameters.hpp"

namespace rotary {

enum class Document { config, spec };

// Remembers the keys that were read and the first error. Keys must be string literals.
class DictionaryReader {
 public:
  DictionaryReader(const ConfigObject& from, Document document, const RopeContext& context)
      : from_(from), document_(document), context_(context) {}

  // Nothing if the key is absent, null or mistyped; a mistyped value is also an error.
  std::optional<double> number(std::string_view key) { return read(key, read_number); }
  std::optional<std::int64_t> integer(std::string_view key) { return read(key, read_integer); }
  std::optional<bool> boolean(std::string_view key) { return read(key, read_boolean); }
  std::optional<std::string> text(std::string_view key) { return read(key, read_string); }
  std::optional<std::vector<double>> numbers(std::string_view key) {
    return read(key, read_numbers);
  }

  double required_number(std::string_view key) { return required(key, number(key)); }
  std::int64_t required_integer(std::string_view key) { return required(key, integer(key)); }
  std::vector<double> required_numbers(std::string_view key) { return required(key, numbers(key)); }

  // original_max_position_embeddings. The value beside the dictionary wins over the one inside;
  // without both, the trained context is used.
  std::int64_t original_context();

  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  // A factor should make the context longer; below 1 it is legal but suspicious.
  void warn_below_one(double factor);
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  // Text that refuse_other_keys() adds to its message about this key.
  void explain(std::string_view key, std::string_view why) { explanations_.emplace_back(key, why); }

  // Refuses every key the rule has not read; call it after the rule's keys. This error replaces
  // that of a missing key, since the unknown key may be its misspelling.
  void refuse_other_keys(std::string_view rope_type);

  [[nodiscard]] const ConfigObject& from() const { return from_; }
  [[nodiscard]] Document document() const { return document_; }
  [[nodiscard]] const RopeContext& context() const { return context_; }
  [[nodiscard]] std::optional<Error>& error() { return error_; }
  [[nodiscard]] std::vector<std::string>& warnings() { return warnings_; }

 private:
  template <class T>
  std::optional<T> read(std::string_view key,
                        Result<std::optional<T>> (*reader)(const ConfigObject&, std::string_view)) {
    add_known(key);
    auto value = reader(from_, key);
    if (value) return *std::move(value);
    fail(std::move(value).error());
    return std::nullopt;
  }

  template <class T>
  T required(std::string_view key, std::optional<T> value) {
    if (!value) fail_missing(key);
    return std::move(value).value_or(T());
  }

  void add_known(std::string_view key);
  void fail_missing(std::string_view key);
  [[nodiscard]] std::string hint_about(std::string_view key) const;

  const ConfigObject& from_;
  Document document_;
  const RopeContext& context_;
  std::vector<std::string_view> known_;
  std::vector<std::pair<std::string_view, std::string_view>> explanations_;
  std::vector<std::string> warnings_;
  std::optional<Error> error_;
};

}  // namespace rotary
