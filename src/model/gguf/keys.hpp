// SPDX-License-Identifier: Apache-2.0
// The keys of one architecture in a GGUF file, without its prefix: rope.freq_base for
// llama.rope.freq_base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/json/reader.hpp"
#include "model/sources.hpp"
#include "rotary/gguf.hpp"

namespace rotary {

// The value of a key, and its source.
template <class T>
struct Stated {
  std::optional<T> value;
  Origin origin = Origin::class_default;
  std::string key;  // "llama.rope.freq_base"

  [[nodiscard]] T or_else(T other) const { return value.value_or(other); }
};

template <class T>
void note_key(Sources& sources, std::string_view value, const Stated<T>& stated) {
  note(sources, value, stated.origin, stated.key);
}

// Reads keys. Writers of files differ in widths of numbers, so every integer type is accepted for
// an integer and every floating-point type for a number. Other types are errors.
class GgufKeys {
 public:
  GgufKeys(const GgufMetadata& metadata, std::string_view architecture, Findings& findings);

  [[nodiscard]] Stated<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] Stated<double> number(std::string_view name) const;
  [[nodiscard]] Stated<bool> boolean(std::string_view name) const;
  [[nodiscard]] Stated<std::string> text(std::string_view name) const;
  [[nodiscard]] Stated<std::vector<std::int64_t>> integers(std::string_view name) const;
  // A list with an integer for each layer, or one integer for all.
  [[nodiscard]] Stated<std::vector<std::int64_t>> one_or_each(std::string_view name,
                                                              std::int64_t count) const;
  // An integer, which must be given and at least 1.
  [[nodiscard]] Stated<std::int64_t> count(std::string_view name) const;

  [[nodiscard]] bool has(std::string_view name) const { return find(full(name)) != nullptr; }
  [[nodiscard]] bool is_array(std::string_view name) const;
  [[nodiscard]] std::string full(std::string_view name) const {
    return prefix_ + std::string(name);
  }
  [[nodiscard]] Findings& findings() const { return findings_; }

  // Adds an error or a warning whose message begins with "GGUF: ".
  template <class... Parts>
  void malformed(const Parts&... parts) const {
    findings_.fail(malformed_input("GGUF: ", parts...));
  }
  template <class... Parts>
  void not_supported(const Parts&... parts) const {
    findings_.fail(unsupported("GGUF: ", parts...));
  }

 private:
  [[nodiscard]] const GgufKey* find(const std::string& name) const;
  template <class T, class Convert>
  Stated<T> read(std::string_view name, std::string_view wanted, Convert convert) const;

  std::vector<const GgufKey*> by_name_;  // sorted
  std::string prefix_;
  Findings& findings_;
};

// A key without an architecture's prefix: general.architecture, split.no.
[[nodiscard]] const GgufKey* find_gguf_key(const GgufMetadata& metadata, std::string_view name);

}  // namespace rotary
