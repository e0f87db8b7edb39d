// SPDX-License-Identifier: Apache-2.0
#include "model/json/non_finite.hpp"

#include <array>
#include <limits>
#include <utility>

namespace rotary {
namespace {

constexpr std::string_view blanks = " \t\n\r";
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::array<std::pair<std::string_view, double>, 3> spellings = {
    {{"NaN", std::numeric_limits<double>::quiet_NaN()},
     {"Infinity", infinity},
     {"-Infinity", -infinity}}};

// Reads the text like a parser, up to the first place that is not JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : found_{.text = std::string(text), .numbers = {}} {}

  NonFiniteNumbers take() {
    while (at_ < found_.text.size()) step();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = found_.text[at_];
    if (blanks.find(c) != std::string_view::npos) {
      ++at_;
    } else if (c == '"') {
      skip_string();
    } else if (!take_number()) {
      if (c == '{' || c == '[') open_ += c;
      if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
      before_ = c;
      ++at_;
    }
  }

  void skip_string() {
    ++strings_;
    for (++at_; at_ < found_.text.size() && found_.text[at_] != '"'; ++at_) {
      if (found_.text[at_] == '\\') ++at_;
    }
    ++at_;
    before_ = '"';
  }

  [[nodiscard]] bool is_at_value() const {
    const bool is_element = before_ == ',' && !open_.empty() && open_.back() == '[';
    return before_ == ':' || before_ == '[' || is_element || before_ == '\0';
  }

  [[nodiscard]] bool ends_value(std::size_t end) const {
    const std::size_t next = found_.text.find_first_not_of(blanks, end);
    return next == std::string::npos ||
           std::string_view(",]}").find(found_.text[next]) != std::string_view::npos;
  }

  bool take_number() {
    if (!is_at_value()) return false;
    for (const auto& [name, value] : spellings) {
      if (found_.text.compare(at_, name.size(), name) != 0 || !ends_value(at_ + name.size())) {
        continue;
      }
      found_.text.replace(at_, name.size(), name.size(), ' ');
      found_.text[at_] = found_.text[at_ + 1] = '"';
      found_.numbers.push_back({.string = strings_++, .value = value});
      at_ += name.size();
      before_ = '"';
      return true;
    }
    return false;
  }

  NonFiniteNumbers found_;
  std::size_t at_ = 0;
  std::size_t strings_ = 0;
  char before_ = '\0';  // last byte that is no blank; 0: none
  std::string open_;    // brackets
};

}  // namespace

NonFiniteNumbers take_non_finite(std::string_view text) {
  const bool may_have =
      text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
  return may_have ? Scanner(text).take() : NonFiniteNumbers();
}

}  // namespace rotary
