// SPDX-License-Identifier: Apache-2.0
#include "apps/npy/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <system_error>
#include <utility>

namespace rotary::cli {
namespace {

// Elements are copied between file and memory as bytes.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t most_header_bytes = std::size_t{64} << 10;
constexpr std::size_t most_dimensions = 32;  // as in NumPy 1

struct TypeRow {
  std::string_view descr;
  std::size_t bytes;
};

// The index is the NpyType.
constexpr std::array<TypeRow, 7> types = {
    {{"<f2", 2}, {"<f4", 4}, {"<f8", 8}, {"<c8", 8}, {"<u2", 2}, {"<i4", 4}, {"<i8", 8}}};

template <class... Arguments>
Error malformed(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {ErrorCode::malformed_input, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

template <class... Arguments>
Error bad_header(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return malformed("the NPY header {}", fmt::format(text, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
Error unsupported(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {ErrorCode::unsupported, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

// The first bytes in ASCII, for messages.
std::string shown(std::string_view bytes) {
  constexpr std::size_t longest = 60;
  std::string text(bytes.substr(0, longest));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return bytes.size() > longest ? text + "..." : text;
}

// Reads the header, the text of a Python dict. Each take function skips blanks, then reads what it
// is named for. If something else is there, it reads nothing but the blanks.
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

  // A dimension: decimal, without sign.
  [[nodiscard]] std::optional<std::int64_t> take_dimension() noexcept {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    const std::string_view rest = text_.substr(offset_);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc{} || (digits > 1 && rest.front() == '0')) return std::nullopt;
    offset_ += digits;
    return value;
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
};

Result<NpyType> type_of(std::string_view descr) {
  const auto* const row = std::ranges::find(types, descr, &TypeRow::descr);
  if (row != types.end()) return static_cast<NpyType>(row - types.begin());
  const auto none = [&] {
    return bad_header("must have a descr such as '<f4', got '{}'", shown(descr));
  };
  if (descr.size() < 2 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return none();
  if (descr[1] == 'O')
    return unsupported("object arrays are Python pickles, which can run code: refused");
  if (descr[0] == '>') {
    return unsupported("elements must be little-endian, got '{}'; save with {}", shown(descr),
                       "array.astype(array.dtype.newbyteorder('<'))");
  }
  if (descr.find_first_not_of("0123456789", 2) != std::string_view::npos) return none();
  return unsupported(
      "the type must be one of '<f2', '<f4', '<f8', '<u2', '<i4', '<i8', '<c8', got '{}'; convert "
      "with array.astype",
      shown(descr));
}

Result<NpyType> parse_descr(HeaderText& text) {
  if (text.peek() == '[' || text.peek() == '(')
    return unsupported("structured types are refused: save one plain array");
  const auto descr = text.take_string();
  if (!descr) return bad_header("must have text as descr, at byte {}", text.offset());
  return type_of(*descr);
}

Status parse_fortran_order(HeaderText& text) {
  if (text.take("False")) return {};
  if (text.take("True"))
    return unsupported("the array must be in C order: save np.ascontiguousarray(array)");
  return bad_header("must have True or False as fortran_order, at byte {}", text.offset());
}

using Shape = std::vector<std::int64_t>;

Result<Shape> parse_shape(HeaderText& text) {
  Shape shape;
  if (!text.take("(")) return bad_header("must have a tuple as shape, at byte {}", text.offset());
  while (!text.take(")")) {
    if (shape.size() == most_dimensions)
      return bad_header("must have at most {} dimensions", most_dimensions);
    const auto dimension = text.take_dimension();
    if (!dimension) {
      return bad_header("must have dimensions that are integers in [0, 2^63), at byte {}",
                        text.offset());
    }
    shape.push_back(*dimension);
    const bool comma = text.take(",");
    // In Python, (3) is a number and (3,) a tuple.
    if (!comma && (shape.size() == 1 || text.peek() != ')'))
      return bad_header("must have a comma in shape, at byte {}", text.offset());
  }
  return shape;
}

struct Header {
  std::optional<NpyType> type;
  std::optional<Shape> shape;
  bool has_order = false;

  [[nodiscard]] Status parse_value(std::string_view key, HeaderText& text) {
    if (key == "descr" && !type) return moved_into(type, parse_descr(text));
    if (key == "shape" && !shape) return moved_into(shape, parse_shape(text));
    if (key == "fortran_order" && !std::exchange(has_order, true)) return parse_fortran_order(text);
    return bad_header("must have the keys descr, fortran_order and shape, once each, got '{}'",
                      shown(key));
  }

 private:
  template <class T>
  [[nodiscard]] static Status moved_into(std::optional<T>& member, Result<T> parsed) {
    if (!parsed) return std::move(parsed).error();
    member = *std::move(parsed);
    return {};
  }
};

// Parses a Python dict with exactly the keys descr, fortran_order and shape: {'descr': '<f4',
// 'fortran_order': False, 'shape': (3, 4), }. The array has no data yet.
Result<NpyArray> parse_header(std::string_view header_text) {
  HeaderText text(header_text);
  Header header;
  if (!text.take("{")) return bad_header("must be a Python dict");
  while (!text.take("}")) {
    const std::size_t key_offset = text.offset();
    const auto key = text.take_string();
    if (!key || !text.take(":"))
      return bad_header("must have a quoted key and a colon at byte {}", key_offset);
    Status parsed = header.parse_value(*key, text);
    if (!parsed) return std::move(parsed).error();
    if (!text.take(",") && text.peek() != '}')
      return bad_header("must have a comma or '}}' at byte {}", text.offset());
  }
  if (!header.type || !header.has_order || !header.shape)
    return bad_header("must have the keys descr, fortran_order and shape");
  if (!text.at_end()) return bad_header("must end after the dict, at byte {}", text.offset());
  return NpyArray{.type = *header.type, .shape = *std::move(header.shape), .data = {}};
}

std::size_t read_into(std::string& text, ByteStream& file) {
  return file.read(std::as_writable_bytes(std::span(text)));
}

// The header's size has 16 bits in version 1, and 32 bits in versions 2 and 3.
Result<std::size_t> read_header_size(ByteStream& file) {
  std::string start(magic.size() + 2, '\0');
  start.resize(read_into(start, file));
  if (!start.starts_with(magic))
    return malformed(
        "an NPY file must begin with \\x93NUMPY, so this is not one; numpy.save() writes one");
  if (start.size() < magic.size() + 2) return malformed("the NPY file ends before its version");
  const auto number_at = [](const std::string& text, std::size_t i) {
    return std::size_t{static_cast<unsigned char>(text[i])};
  };
  const std::size_t major = number_at(start, 6);
  const std::size_t minor = number_at(start, 7);
  if (major < 1 || major > 3 || minor != 0)
    return unsupported("the NPY version must be 1.0, 2.0 or 3.0, got {}.{}", major, minor);
  std::string length(major == 1 ? 2 : 4, '\0');
  if (read_into(length, file) < length.size())
    return malformed("the NPY file ends before the length of its header");
  std::size_t size = 0;
  for (std::size_t i = 0; i < length.size(); ++i) size |= number_at(length, i) << (8 * i);
  if (size > most_header_bytes)
    return bad_header("must have at most {} bytes, got {}", most_header_bytes, size);
  return size;
}

// Memory grows with the data read, because the announced size may be wrong.
Status read_elements(ByteStream& file, NpyArray& array, std::uint64_t wanted,
                     const NpyLimit& limit) {
  constexpr std::uint64_t first_bytes = std::uint64_t{1} << 20;
  const auto wrong_size = [&](std::string_view got) {
    return malformed("the data of shape {} and type '{}' must have {} bytes, got {}",
                     shape_text(array.shape), descr_of(array.type), wanted, got);
  };
  const auto truncated = [&](std::uint64_t got) {
    return wrong_size(fmt::format("{}: truncated?", got));
  };
  const auto left = file.bytes_left();
  if (left && *left < wanted) return truncated(*left);
  if (left && *left > wanted) return wrong_size(fmt::format("{}", *left));
  const std::uint64_t most = limit.of(array.shape);
  if (elements_of(array.shape) > most) {
    return unsupported("the array must have at most {} elements here, got the shape {}", most,
                       shape_text(array.shape));
  }
  std::vector<std::byte>& data = array.data;
  while (data.size() < wanted) {
    const std::size_t old_size = data.size();
    data.resize(left ? wanted
                     : std::min(wanted, std::max<std::uint64_t>(first_bytes, 2 * old_size)));
    const auto rest = std::span(data).subspan(old_size);
    const std::size_t count = file.read(rest);
    if (count < rest.size()) return truncated(old_size + count);
  }
  std::byte beyond{};
  if (!left && file.read({&beyond, 1}) != 0) return wrong_size("more");
  return {};
}

}  // namespace

std::size_t size_in_bytes(NpyType type) noexcept {
  return types[static_cast<std::size_t>(type)].bytes;
}

std::string_view descr_of(NpyType type) noexcept {
  return types[static_cast<std::size_t>(type)].descr;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<double> NpyArray::doubles() const {
  const auto converted = [](auto numbers) {
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  if (type == NpyType::f64) return converted(elements<double>());
  if (type == NpyType::f32) return converted(elements<float>());
  return {};
}

std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(dimension, 1));
    if (__builtin_mul_overflow(elements, factor, &elements)) return {};
  }
  return elements;
}

Result<NpyArray> read_npy(ByteStream& file, const NpyLimit& limit) {
  const auto size = read_header_size(file);
  if (!size) return size.error();
  std::string header(std::min<std::uint64_t>(*size, file.bytes_left().value_or(*size)), '\0');
  header.resize(read_into(header, file));
  if (header.size() != *size)
    return bad_header("must have the {} bytes it announces, got {}", *size, header.size());
  auto array = parse_header(header);
  if (!array) return array;
  const auto elements = elements_of(array->shape);
  if (!elements || *elements > INT64_MAX / size_in_bytes(array->type))
    return malformed("the shape must describe fewer than 2^63 bytes, got {}",
                     shape_text(array->shape));
  const bool is_empty = std::ranges::count(array->shape, 0) > 0;
  Status read =
      read_elements(file, *array, is_empty ? 0 : *elements * size_in_bytes(array->type), limit);
  if (!read) return std::move(read).error();
  return array;
}

void write_npy(const NpyView& array, const std::function<void(std::string_view)>& write) {
  constexpr std::size_t prefix_bytes = 10;  // magic, version, 16-bit length
  constexpr std::size_t alignment_bytes = 64;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   descr_of(array.type), fmt::join(array.shape, ", "),
                                   array.shape.size() == 1 ? "," : "");
  const std::size_t unpadded = prefix_bytes + header.size() + 1;
  header.append((alignment_bytes - unpadded % alignment_bytes) % alignment_bytes, ' ');
  header += '\n';

  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  write(file + header);
  write({reinterpret_cast<const char*>(array.data.data()), array.data.size()});
}

std::string write_npy(NpyType type, std::span<const std::int64_t> shape,
                      std::span<const std::byte> data) {
  std::string file;
  write_npy({type, shape, data}, [&file](std::string_view bytes) { file += bytes; });
  return file;
}

}  // namespace rotary::cli
