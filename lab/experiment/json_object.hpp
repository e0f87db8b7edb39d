// SPDX-License-Identifier: Apache-2.0
// Reads a JSON object strictly: missing, mistyped and unknown keys are failures that name the
// object and key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace rotary::lab {

class JsonObject {
 public:
  // The object must outlive this. name is for messages: "e1.json: presets.quick".
  JsonObject(const nlohmann::json& object, std::string name);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // The key must exist.
  [[nodiscard]] const nlohmann::json& at(std::string_view key);
  [[nodiscard]] JsonObject object(std::string_view key);
  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] double number(std::string_view key);
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t least);

  // otherwise: returned if the key is absent.
  [[nodiscard]] double number(std::string_view key, double otherwise);
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t least,
                                     std::int64_t otherwise);

  // Fails on the first key that was not read. Call last.
  void finish() const;

 private:
  [[noreturn]] void fail(std::string_view key, std::string_view requirement) const;

  const nlohmann::json& object_;
  std::string name_;
  std::set<std::string, std::less<>> asked_;
};

// Messages call the document `source`.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, std::string_view source);

}  // namespace rotary::lab
