// SPDX-License-Identifier: Apache-2.0
#include "cli/npy/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace rotary::cli {
namespace {

constexpr std::size_t most_dimensions = 32;  // NumPy 1's own limit

Error malformed(std::string message) {
  return {ErrorCode::malformed_input, "the NPY header " + std::move(message)};
}

// Bytes of the file as a message shows them: the first few, in ASCII.
std::string shown(std::string_view bytes) {
  constexpr std::size_t longest = 60;
  std::string text(bytes.substr(0, longest));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return bytes.size() > longest ? text + "..." : text;
}

Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

// Reads the subset of Python literals that such a header needs, from left to right, without
// recursion. Each take_ skips blanks, then consumes what it names or leaves everything as it was.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

  [[nodiscard]] char peek() noexcept {
    offset_ = std::min(text_.find_first_not_of(" \t\r\n", offset_), text_.size());
    return offset_ < text_.size() ? text_[offset_] : '\0';
  }

  [[nodiscard]] bool at_end() noexcept { return peek() == '\0' && offset_ == text_.size(); }

  [[nodiscard]] bool take(std::string_view word) noexcept {
    static_cast<void>(peek());
    if (!text_.substr(offset_).starts_with(word)) return false;
    offset_ += word.size();
    return true;
  }

  // 'text' or "text", without escapes.
  [[nodiscard]] std::optional<std::string_view> take_string() noexcept {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const auto end = text_.find(quote, offset_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(offset_ + 1, end - offset_ - 1);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    offset_ = end + 1;
    return inside;
  }

  // Decimal, no sign: a dimension.
  [[nodiscard]] std::optional<std::int64_t> take_dimension() noexcept {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    const std::string_view rest = text_.substr(offset_);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return std::nullopt;
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (digits > 1 && rest.front() == '0') return std::nullopt;
    offset_ += digits;
    return value;
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
};

Result<NpyType> type_of(std::string_view descr) {
  for (const NpyType type : {NpyType::f16, NpyType::f32, NpyType::f64, NpyType::c64, NpyType::u16,
                             NpyType::i32, NpyType::i64}) {
    if (descr == descr_of(type)) return type;
  }
  if (descr.size() < 2 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    return malformed(fmt::format("must have a descr such as '<f4', got '{}'", shown(descr)));
  }
  if (descr[1] == 'O') {
    return unsupported("object arrays are Python pickles, which can run code: refused");
  }
  if (descr[0] == '>') {
    return unsupported(fmt::format("elements must be little-endian, got '{}'; save with {}",
                                   shown(descr), "array.astype(array.dtype.newbyteorder('<'))"));
  }
  for (const char digit : descr.substr(2)) {
    if (digit < '0' || digit > '9') {
      return malformed(fmt::format("must have a descr such as '<f4', got '{}'", shown(descr)));
    }
  }
  return unsupported(
      fmt::format("the type must be one of '<f2', '<f4', '<f8', '<u2', '<i4', '<i8', '<c8', got "
                  "'{}'; convert with array.astype",
                  shown(descr)));
}

Result<NpyType> parse_descr(HeaderText& text) {
  if (text.peek() == '[' || text.peek() == '(') {
    return unsupported("structured types are refused: save one plain array");
  }
  const auto descr = text.take_string();
  if (!descr) {
    return malformed(fmt::format("must have text as descr, at byte {}", text.offset()));
  }
  return type_of(*descr);
}

Status parse_fortran_order(HeaderText& text) {
  if (text.take("False")) return {};
  if (text.take("True")) {
    return unsupported("the array must be in C order: save np.ascontiguousarray(array)");
  }
  return malformed(
      fmt::format("must have True or False as fortran_order, at byte {}", text.offset()));
}

Result<std::vector<std::int64_t>> parse_shape(HeaderText& text) {
  std::vector<std::int64_t> shape;
  if (!text.take("(")) {
    return malformed(fmt::format("must have a tuple as shape, at byte {}", text.offset()));
  }
  while (!text.take(")")) {
    if (shape.size() == most_dimensions) {
      return malformed(fmt::format("must have at most {} dimensions", most_dimensions));
    }
    const auto dimension = text.take_dimension();
    if (!dimension) {
      return malformed(fmt::format(
          "must have dimensions that are integers in [0, 2^63), at byte {}", text.offset()));
    }
    shape.push_back(*dimension);
    const bool comma = text.take(",");
    // (3) is a number in Python, (3,) a tuple.
    if (!comma && (shape.size() == 1 || text.peek() != ')')) {
      return malformed(fmt::format("must have a comma in shape, at byte {}", text.offset()));
    }
  }
  return shape;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view header) {
  HeaderText text(header);
  std::optional<NpyType> type;
  std::optional<std::vector<std::int64_t>> shape;
  bool order_seen = false;
  if (!text.take("{")) return malformed("must be a Python dict");
  while (!text.take("}")) {
    const std::size_t key_offset = text.offset();
    const auto key = text.take_string();
    if (!key || !text.take(":")) {
      return malformed(fmt::format("must have a quoted key and a colon at byte {}", key_offset));
    }
    if (*key == "descr" && !type) {
      auto parsed = parse_descr(text);
      if (!parsed) return std::move(parsed).error();
      type = *parsed;
    } else if (*key == "fortran_order" && !order_seen) {
      Status parsed = parse_fortran_order(text);
      if (!parsed) return std::move(parsed).error();
      order_seen = true;
    } else if (*key == "shape" && !shape) {
      auto parsed = parse_shape(text);
      if (!parsed) return std::move(parsed).error();
      shape = *std::move(parsed);
    } else {
      return malformed(fmt::format(
          "must have the keys descr, fortran_order and shape, once each, got '{}'", shown(*key)));
    }
    if (!text.take(",") && text.peek() != '}') {
      return malformed(fmt::format("must have a comma or '}}' at byte {}", text.offset()));
    }
  }
  if (!type || !order_seen || !shape) {
    return malformed("must have the keys descr, fortran_order and shape");
  }
  if (!text.at_end()) {
    return malformed(fmt::format("must end after the dict, at byte {}", text.offset()));
  }
  return NpyHeader{.type = *type, .shape = *std::move(shape)};
}

}  // namespace rotary::cli
