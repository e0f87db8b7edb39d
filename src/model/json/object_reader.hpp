// SPDX-License-Identifier: Apache-2.0
// Reads the keys of one object in turn and keeps the first error, so that a function that reads ten
// keys checks only once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/json/config_json.hpp"

namespace rotary {

class ObjectReader {
 public:
  explicit ObjectReader(ConfigObject from) : from_(std::move(from)) {}

  std::optional<double> number(std::string_view key) { return read(key, read_number); }
  std::optional<std::int64_t> integer(std::string_view key) { return read(key, read_integer); }
  std::optional<bool> boolean(std::string_view key) { return read(key, read_boolean); }

  // Absence is an error; the result is then 0.
  double required_number(std::string_view key);
  std::int64_t required_integer(std::string_view key);

  // The object under a key. Nothing if the key is absent, or, with an error, for another value.
  std::optional<ObjectReader> object(std::string_view key);

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  // Sets the error unsupported for the first key that was never read.
  void refuse_other_keys();

  [[nodiscard]] const ConfigObject& from() const { return from_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

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

  ConfigObject from_;
  std::vector<std::string_view> known_;  // string literals
  std::optional<Error> error_;
};

}  // namespace rotary
