// SPDX-License-Identifier: Apache-2.0
#include "apps/safetensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "apps/json.hpp"
#include "apps/printable.hpp"

namespace rotary::cli {
namespace {

// The limit in the format's own implementation (MAX_HEADER_SIZE).
constexpr std::uint64_t most_header_bytes = 100'000'000;
constexpr std::uint64_t size_bytes = 8;
constexpr std::size_t most_dimensions = 32;
constexpr std::string_view metadata_name = "__metadata__";

// The dtypes of safetensors 0.8.
constexpr std::array<SafetensorsType, 22> types = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

template <class... Values>
Error malformed(fmt::format_string<Values...> text, Values&&... values) {
  return {ErrorCode::malformed_input, fmt::format(text, std::forward<Values>(values)...)};
}

// Accepts only the parser events that the format allows, so nesting is limited.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(SafetensorsHeader& header) : header_(header) {}

  [[nodiscard]] Error error() const {
    return error_ ? *error_ : malformed("the safetensors header must be a JSON object");
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::before) return enter(Place::names);
    if (place_ == Place::metadata) return enter(Place::metadata_keys);
    if (place_ != Place::tensor) return refuse("an object");
    header_.tensors.emplace_back().name = name_;
    seen_ = {};
    return enter(Place::tensor_keys);
  }

  bool end_object() override {
    if (place_ == Place::names) return enter(Place::after);
    if (place_ == Place::tensor_keys && !(seen_.dtype && seen_.shape && seen_.data_offsets))
      return fail("tensor '{}' must have dtype, shape and data_offsets", shown_name(name_));
    return enter(Place::names);
  }

  bool key(std::string& key) override {
    if (place_ == Place::names) return take_name(key);
    if (place_ == Place::metadata_keys) {
      if (!metadata_keys_.insert(key).second)
        return fail("{} has the key '{}' twice", metadata_name, shown_name(key));
      header_.metadata.emplace_back(key, std::string());
      return enter(Place::metadata_value);
    }
    return take_tensor_key(key);
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata_value) {
      header_.metadata.back().second = text;
      return enter(Place::metadata_keys);
    }
    if (place_ != Place::dtype) return refuse("text");
    const auto* const type = std::ranges::find(types, text, &SafetensorsType::name);
    if (type == types.end()) {
      error_ = Error{.code = ErrorCode::unsupported,
                     .message = fmt::format("the safetensors header: tensor '{}' has the dtype "
                                            "'{}', whose size is not known here",
                                            shown_name(name_), shown_name(text))};
      return false;
    }
    header_.tensors.back().type = *type;
    return enter(Place::tensor_keys);
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::shape && place_ != Place::data_offsets) return refuse("an array");
    list_.clear();
    return enter(place_ == Place::shape ? Place::in_shape : Place::in_data_offsets);
  }

  bool end_array() override {
    SafetensorsTensor& tensor = header_.tensors.back();
    if (place_ == Place::in_shape) {
      tensor.shape = list_;
      return enter(Place::tensor_keys);
    }
    if (list_.size() != 2 || list_[0] > list_[1])
      return fail("tensor '{}' must have two data_offsets, the first not above the second",
                  shown_name(name_));
    tensor.begin = list_[0];
    tensor.end = list_[1];
    return enter(Place::tensor_keys);
  }

  bool number_unsigned(std::uint64_t number) override {
    if (place_ != Place::in_shape && place_ != Place::in_data_offsets) return refuse("a number");
    if (list_.size() == most_dimensions)
      return fail("tensor '{}' must have at most {} dimensions", shown_name(name_),
                  most_dimensions);
    list_.push_back(number);
    return true;
  }

  bool number_integer(std::int64_t) override { return refuse("a number below 0"); }
  bool number_float(double, const std::string&) override {
    return refuse("a number that is no integer below 2^64");
  }
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("bytes"); }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::json::exception&) override {
    return fail("is no JSON at its byte {}", byte);
  }

 private:
  enum class Place {
    before,
    names,
    metadata,
    metadata_keys,
    metadata_value,
    tensor,
    tensor_keys,
    dtype,
    shape,
    in_shape,
    data_offsets,
    in_data_offsets,
    after
  };
  struct Seen {
    bool dtype = false;
    bool shape = false;
    bool data_offsets = false;
  };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  template <class... Values>
  bool fail(fmt::format_string<Values...> text, Values&&... values) {
    error_ = malformed("the safetensors header {}{}", place_ == Place::before ? "" : ": ",
                       fmt::format(text, std::forward<Values>(values)...));
    return false;
  }

  bool refuse(std::string_view what) {
    if (place_ == Place::before) return fail("must be a JSON object, got {}", what);
    return fail("'{}' must not have {} there", shown_name(name_), what);
  }

  bool take_name(const std::string& name) {
    if (!names_.insert(name).second) return fail("has the name '{}' twice", shown_name(name));
    name_ = name;
    return enter(name == metadata_name ? Place::metadata : Place::tensor);
  }

  bool take_tensor_key(const std::string& key) {
    const auto take = [&](bool& seen, Place place) {
      if (std::exchange(seen, true))
        return fail("tensor '{}' has the key '{}' twice", shown_name(name_), key);
      return enter(place);
    };
    if (key == "dtype") return take(seen_.dtype, Place::dtype);
    if (key == "shape") return take(seen_.shape, Place::shape);
    if (key == "data_offsets") return take(seen_.data_offsets, Place::data_offsets);
    return fail("tensor '{}' must not have the key '{}'", shown_name(name_), shown_name(key));
  }

  SafetensorsHeader& header_;
  std::optional<Error> error_;
  Place place_ = Place::before;
  std::string name_;
  Seen seen_;
  std::vector<std::uint64_t> list_;
  std::set<std::string> names_;
  std::set<std::string> metadata_keys_;
};

// Counts dimensions of 0 as 1, because the strides of an empty tensor must not overflow.
std::optional<std::uint64_t> bytes_of(const SafetensorsTensor& tensor) {
  std::uint64_t bits = tensor.type.bits;
  for (const std::uint64_t dimension : tensor.shape) {
    if (__builtin_mul_overflow(bits, std::max<std::uint64_t>(dimension, 1), &bits)) return {};
  }
  if (std::ranges::count(tensor.shape, 0U) > 0) return 0;
  if (bits % 8 != 0) return {};
  return bits / 8;
}

// Checks that the tensors cover each byte of the data once.
Status check_data(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  for (const SafetensorsTensor& tensor : header.tensors) {
    const auto wanted = bytes_of(tensor);
    if (!wanted) {
      return malformed("the safetensors header: tensor '{}' must have whole bytes, fewer than 2^61",
                       shown_name(tensor.name));
    }
    if (tensor.size_in_bytes() != *wanted) {
      return malformed(
          "the safetensors header: tensor '{}' must have {} bytes by dtype and shape, "
          "got {} by data_offsets",
          shown_name(tensor.name), *wanted, tensor.size_in_bytes());
    }
    if (tensor.begin != covered) {
      return malformed(
          "the safetensors header: tensor '{}' must begin at byte {} of the data, "
          "where the one before ends, got {}",
          shown_name(tensor.name), covered, tensor.begin);
    }
    covered = tensor.end;
  }
  if (covered == data_bytes) return {};
  return malformed(
      "the data must have the {} bytes that the safetensors header describes, got {}{}", covered,
      data_bytes, data_bytes < covered ? ": truncated?" : "");
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                   std::uint64_t data_bytes) {
  SafetensorsHeader header;
  if (!json.starts_with('{')) return malformed("the safetensors header must begin with '{{'");
  HeaderEvents events(header);
  if (!parse_events(json, events)) return events.error();
  // An empty tensor sorts before a tensor that begins at the same byte.
  std::ranges::stable_sort(header.tensors, {}, [](const SafetensorsTensor& tensor) {
    return std::pair(tensor.begin, tensor.end);
  });
  if (const Status checked = check_data(header, data_bytes); !checked) return checked.error();
  return header;
}

Result<SafetensorsStart> read_safetensors_start(ByteStream& file) {
  const auto total = file.bytes_left();
  if (!total) {
    return Error{.code = ErrorCode::unsupported,
                 .message = "a safetensors file must be a regular file, whose size is known"};
  }
  SafetensorsStart start{.bytes = std::string(size_bytes, '\0'), .header = {}};
  const auto read = [&file](std::span<char> bytes) {
    return file.read(std::as_writable_bytes(bytes)) == bytes.size();
  };
  if (*total < size_bytes || !read(start.bytes))
    return malformed("a safetensors file must have at least {} bytes, got {}", size_bytes, *total);
  std::uint64_t size = 0;
  for (std::size_t i = size_bytes; i-- > 0;)
    size = size << 8U | static_cast<unsigned char>(start.bytes[i]);
  if (size > most_header_bytes) {
    return malformed(
        "the safetensors header must have at most {} bytes, got {}: is this a "
        "safetensors file?",
        most_header_bytes, size);
  }
  if (size > *total - size_bytes) {
    return malformed(
        "the safetensors header must have the {} bytes it announces, got {}: "
        "truncated?",
        size, *total - size_bytes);
  }
  start.bytes.resize(size_bytes + size);
  if (!read(std::span(start.bytes).subspan(size_bytes)))
    return malformed("the safetensors file ended while it was read");
  auto header = parse_safetensors_header(std::string_view(start.bytes).substr(size_bytes),
                                         *total - size_bytes - size);
  if (!header) return header.error();
  start.header = *std::move(header);
  return start;
}

}  // namespace rotary::cli
