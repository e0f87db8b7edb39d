// SPDX-License-Identifier: Apache-2.0
// Reads the keys of JSON objects. Keeps the first error, so that callers need to check for errors
// only once at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "model/json/json.hpp"
#include "rotary/dialect.hpp"
#include "rotary/result.hpp"

namespace rotary {

// An engine's releases that read something differently from resolve().
struct DisputedBy {
  Engine engine = Engine::transformers;
  EngineVersion first = {};  // both inclusive
  EngineVersion last = {};
};
inline constexpr DisputedBy transformers_5 = {Engine::transformers, {5, 0}, {9999, 0}};
inline constexpr DisputedBy every_transformers = {Engine::transformers, {}, {9999, 0}};

// A warning that an engine computes something else, which no rule of its dialect shows.
struct Dispute {
  DisputedBy by;
  std::string text;
};

// Errors and warnings about a document. After an error, values may be missing; code that needs
// values asks failed() first.
struct Findings {
  std::optional<Error> error;  // the first
  std::vector<std::string> warnings;
  std::vector<Dispute> disputes;
  std::set<std::string>* asked = nullptr;  // receives the paths that readers look for

  [[nodiscard]] bool failed() const { return error.has_value(); }
  void fail(Error found) {
    if (!error) error = std::move(found);
  }
  template <class... Parts>
  void warn(const Parts&... parts) {
    warnings.push_back(message(parts...));
  }
  // Adds a warning that an engine differs. Comparisons with this engine are never Agreement::same.
  template <class... Parts>
  void dispute(const DisputedBy& by, const Parts&... parts) {
    warn(parts...);
    disputes.push_back({by, warnings.back()});
  }
};

// Reads one object of a document. Keys must be string literals, because the reader remembers them.
class Reader {
 public:
  // path: the text before keys in messages, "" for a config, "rope_scaling." for an object in it.
  Reader(const Json& object, std::string path, Findings& findings)
      : object_(&object), path_(std::move(path)), findings_(&findings) {}

  // The value of a key; nothing if it is absent, null or of another type. Another type is an error.
  // Integers may have a zero fraction (8192.0); booleans and strings are not numbers.
  std::optional<double> number(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::optional<std::vector<double>> numbers(std::string_view key);
  std::optional<Reader> object(std::string_view key);

  // The value of a key whose absence is an error and gives 0 or an empty value.
  double required_number(std::string_view key) { return required(key, number(key)); }
  std::int64_t required_integer(std::string_view key) { return required(key, integer(key)); }
  std::vector<double> required_numbers(std::string_view key) { return required(key, numbers(key)); }

  // The value of a key; nullptr if it is absent or null. The key "", which stands for no key in
  // families, is never found.
  [[nodiscard]] const Json* find(std::string_view key) const;
  // Whether the key is present, even if its value is null.
  [[nodiscard]] bool has(std::string_view key) const { return look_for(key) != nullptr; }
  [[nodiscard]] bool is_null(std::string_view key) const {
    return has(key) && object_->find(key)->is_null();
  }

  // Marks keys as asked for, so that they are not reported as unknown.
  void accept(std::span<const std::string_view> keys);
  // Sets a text that error_about_others() adds to its message about this key.
  void explain(std::string_view key, std::string_view why) { explanations_.emplace_back(key, why); }
  // The error for the first key that is not null and was never asked for; nothing if there is none.
  // The message is "<key><is_not><keys asked for>", then explain()'s text or a similar key.
  [[nodiscard]] std::optional<Error> error_about_others(ErrorCode code,
                                                        std::string_view is_not) const;

  // Adds an error or a warning whose message begins with the object's path.
  template <class... Parts>
  void malformed(const Parts&... parts) {
    findings_->fail(malformed_input(path_, parts...));
  }
  template <class... Parts>
  void not_supported(const Parts&... parts) {
    findings_->fail(unsupported(path_, parts...));
  }
  template <class... Parts>
  void warn(const Parts&... parts) {
    findings_->warn(path_, parts...);
  }
  template <class... Parts>
  void dispute(const DisputedBy& by, const Parts&... parts) {
    findings_->dispute(by, path_, parts...);
  }

  [[nodiscard]] const Json& json() const { return *object_; }
  [[nodiscard]] const Json::Object& members() const { return object_->object(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Findings& findings() const { return *findings_; }
  [[nodiscard]] bool failed() const { return findings_->failed(); }

 private:
  // The value of a key, null or not.
  [[nodiscard]] const Json* look_for(std::string_view key) const {
    if (findings_->asked != nullptr) findings_->asked->insert(message(path_, key));
    return object_->find(key);
  }
  // As find(), and remembers the key. convert: returns nothing for a value of another type.
  template <class Convert>
  auto read(std::string_view key, std::string_view wanted, Convert convert)
      -> decltype(convert(std::declval<const Json&>()));

  template <class T>
  T required(std::string_view key, std::optional<T> value) {
    if (!value) malformed(key, " must be given, got none");
    return std::move(value).value_or(T());
  }

  const Json* object_;  // always a JSON object
  std::string path_;
  Findings* findings_;
  std::vector<std::string_view> asked_;
  std::vector<std::pair<std::string_view, std::string_view>> explanations_;
};

// A number, or "none", for messages about a value that must be given.
[[nodiscard]] inline std::string text_or_none(std::optional<std::int64_t> value) {
  return value ? to_text(*value) : "none";
}

}  // namespace rotary
