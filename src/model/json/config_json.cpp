// SPDX-License-Identifier: Apache-2.0
#include "model/json/config_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "model/json/non_finite.hpp"

namespace rotary {
namespace {

// Replaces bytes beyond ASCII. The parser quotes any bytes, but messages must be UTF-8.
std::string in_ascii(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return shown;
}

// Builds the tree from the parser's events and stops at the first error.
class StrictHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  StrictHandler(std::string_view document, std::span<const NonFinite> non_finite)
      : document_(document), non_finite_(non_finite) {}

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override {
    const std::size_t at = strings_++;
    if (non_finite_.empty() || non_finite_.front().string != at) return add(Json(std::move(value)));
    const double number = non_finite_.front().value;
    non_finite_ = non_finite_.subspan(1);
    return add(Json(number));
  }
  bool binary(binary_t&) override {
    return refuse(document_, " must be JSON text, got a binary value");
  }

  bool start_object(std::size_t) override { return open(Json(Json::Object())); }
  bool start_array(std::size_t) override { return open(Json(Json::Array())); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    ++strings_;
    if (open_.back()->find(name) != nullptr) {
      return refuse(document_, " must not repeat a key, got '", shorten(name),
                    "' twice in one object");
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what" -> place, what
    constexpr std::string_view opening = "parse error at ";
    std::string_view what = error.what();
    std::string place = message("byte ", position);
    if (const auto bracket = what.find("] "); bracket != std::string_view::npos)
      what.remove_prefix(bracket + 2);
    if (const auto colon = what.find(": "); colon != std::string_view::npos) {
      if (what.starts_with(opening))
        place += message(" (", what.substr(opening.size(), colon - opening.size()), ")");
      what.remove_prefix(colon + 2);
    }
    return refuse(document_,
                  " must be valid JSON with numbers that a double holds, got an error at ", place,
                  ": ", shorten(in_ascii(what), 200));
  }

  [[nodiscard]] Result<Json> take() {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  template <class... Parts>
  bool refuse(const Parts&... parts) {
    error_ = malformed_input(parts...);
    return false;
  }

  Json* place(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.array().emplace_back(std::move(value));
    return &(parent.object()[key_] = std::move(value));
  }

  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }

  bool open(Json&& container) {
    if (open_.size() == max_config_depth) {
      return refuse(document_, " must not nest deeper than ", max_config_depth,
                    " levels, got more");
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view document_;
  std::span<const NonFinite> non_finite_;  // those not reached yet
  std::size_t strings_ = 0;                // keys included
  // The open containers, outermost first. Only the innermost grows, so these pointers stay valid.
  std::vector<Json*> open_;
  std::string key_;
  Json root_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view document) {
  if (text.size() > max_config_bytes) {
    return malformed_input(document, " must be at most ", max_config_bytes, " bytes, got ",
                           text.size());
  }
  // The parser would take a NUL for the end of the text.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return malformed_input(document, " must be JSON text, got a NUL byte at byte ", nul);
  }
  const NonFiniteNumbers found = take_non_finite(text);
  StrictHandler handler(document, found.numbers);
  const std::string_view parsed = found.numbers.empty() ? text : found.text;
  nlohmann::json::sax_parse(parsed.begin(), parsed.end(), &handler);
  return handler.take();
}

Result<Json> parse_config(std::string_view text, std::string_view document) {
  auto config = parse_json(text, document);
  if (config && !config->is_object()) {
    return malformed_input(document, " must be a JSON object, got ", describe(*config));
  }
  return config;
}

std::string shorten(std::string_view text, std::size_t longest) {
  std::size_t end = std::min(text.size(), longest);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  std::string shown;
  for (const char c : text.substr(0, end)) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    shown += is_control ? '?' : c;  // a terminal would obey it
  }
  return end < text.size() ? shown + "…" : shown;
}

std::string describe(const Json& value) {
  if (value.size() > 16) {
    return message(value.is_object() ? "an object" : "an array", " of ", value.size(), " entries");
  }
  return shorten(value.text());
}

std::string describe(const std::string& value) { return describe(Json(value)); }

}  // namespace rotary
