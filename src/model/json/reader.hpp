// SPDX-License-Identifier: Apache-2.0
// Reads the keys of JSON objects in turn and keeps the first error, so that a function that reads
// ten keys checks nothing, and its caller checks once.
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

// An engine, in the releases that read something otherwise than resolve() does.
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

// Results of reading one document beside its values. After an error, values may be missing, so work
// that needs them asks failed() first.
struct Findings {
  std::optional<Error> error;  // the first
  std::vector<std::string> warnings;
  std::vector<Dispute> disputes;
  std::set<std::string>* asked = nullptr;  // gets the path of each key that a reader looks for

  [[nodiscard]] bool failed() const { return error.has_value(); }
  void fail(Error found) {
    if (!error) error = std::move(found);
  }
  template <class... Parts>
  void warn(const Parts&... parts) {
    warnings.push_back(message(parts...));
  }
  // Warns, and no comparison with that engine calls the two the same.
  template <class... Parts>
  void dispute(const DisputedBy& by, const Parts&... parts) {
    warn(parts...);
    disputes.push_back({by, warnings.back()});
  }
};

// One object of a document. Keys must be string literals: the reader remembers which were asked
// for.
class Reader {
 public:
  // path: the object's name before its keys in messages: "" for a whole config, "rope_scaling."
  // inside it.
  Reader(const Json& object, std::string path, Findings& findings)
      : object_(&object), path_(std::move(path)), findings_(&findings) {}

  // Nothing if the key is absent, null or mistyped; a mistyped value is also an error. Integers may
  // be written with a zero fraction (8192.0); booleans and strings are not numbers.
  std::optional<double> number(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::optional<std::vector<double>> numbers(std::string_view key);
  std::optional<Reader> object(std::string_view key);

  // Absence is an error; the result is then 0 or empty.
  double required_number(std::string_view key) { return required(key, number(key)); }
  std::int64_t required_integer(std::string_view key) { return required(key, integer(key)); }
  std::vector<double> required_numbers(std::string_view key) { return required(key, numbers(key)); }

  // The value of a key; nullptr if it is absent or null. Families use the key "" for keys they do
  // not have: it is never found, whatever the config has under it.
  [[nodiscard]] const Json* find(std::string_view key) const;
  // Whether the key is there, be its value null.
  [[nodiscard]] bool has(std::string_view key) const { return look_for(key) != nullptr; }
  [[nodiscard]] bool is_null(std::string_view key) const {
    return has(key) && object_->find(key)->is_null();
  }

  // Counts keys as asked for.
  void accept(std::span<const std::string_view> keys);
  // Text that error_about_others() adds to its message about this key.
  void explain(std::string_view key, std::string_view why) { explanations_.emplace_back(key, why); }
  // The error for the first key with a value that was never asked for: "<key><is_not><the keys
  // asked for>", with the nearest of these.
  [[nodiscard]] std::optional<Error> error_about_others(ErrorCode code,
                                                        std::string_view is_not) const;

  // Messages that begin with the object's path.
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
  // find(), and remembers that the key was asked for.
  const Json* ask(std::string_view key);
  void mistyped(std::string_view key, const Json& value, std::string_view wanted);

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

// For messages about a value that must be there.
[[nodiscard]] inline std::string text_or_none(std::optional<std::int64_t> value) {
  return value ? to_text(*value) : "none";
}

}  // namespace rotary
