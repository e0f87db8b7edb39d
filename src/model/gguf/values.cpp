// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/values.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/enumerators.hpp"
#include "base/spelling.hpp"

namespace rotary {
namespace {

// Bytes of a value of each type: the fewest for strings, 0 for arrays.
constexpr std::array<std::uint64_t, 13> bytes_of_types = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};

constexpr std::uint64_t bytes_of(GgufType type) {
  return bytes_of_types[static_cast<std::size_t>(type)];
}

std::string named(const GgufKey& key) { return message("key '", printable(key.name), "'"); }

std::optional<GgufType> read_type(FileWindow& file, const GgufKey& key) {
  const auto number = static_cast<std::int32_t>(file.number<std::uint32_t>());
  if (file.failed()) return {};
  const auto type = GgufType{number};
  if (is_enumerator(type)) return type;
  file.malformed(named(key), " must be of one of the types 0 to 12, got ", number);
  return {};
}

std::uint64_t read_text_bytes(FileWindow& file, const GgufKey& key) {
  const auto bytes = file.number<std::uint64_t>();
  if (bytes <= std::min(most_gguf_text_bytes, file.left())) return bytes;
  file.malformed("a string of ", named(key), " must have at most ", most_gguf_text_bytes,
                 " bytes and no more than the ", file.left(), " left, got ", bytes);
  return 0;
}

double floating_number(FileWindow& file, GgufType type) {
  if (type == GgufType::float32) {
    return double{std::bit_cast<float>(file.number<std::uint32_t>())};
  }
  return std::bit_cast<double>(file.number<std::uint64_t>());
}

// Reads an integer or a boolean. uint64 values from 2^63 become negative.
std::int64_t whole_number(FileWindow& file, GgufType type) {
  const std::uint64_t number = file.number(bytes_of(type));
  if (type == GgufType::boolean) return number != 0 ? 1 : 0;
  const bool is_signed =
      type == GgufType::int8 || type == GgufType::int16 || type == GgufType::int32;
  const auto unused = static_cast<int>(is_signed ? 64 - 8 * bytes_of(type) : 0);
  return static_cast<std::int64_t>(number << unused) >> unused;
}

constexpr bool is_floating(GgufType type) {
  return type == GgufType::float32 || type == GgufType::float64;
}

void skip_strings(FileWindow& file, const GgufKey& key, std::uint64_t& strings) {
  if (key.elements > strings) {
    file.not_supported("arrays of strings must have at most ", most_gguf_strings,
                       " elements together, got more with the ", key.elements, " of ", named(key));
    return;
  }
  strings -= key.elements;
  for (std::uint64_t i = 0; i < key.elements && !file.failed(); ++i) {
    file.skip(read_text_bytes(file, key));
  }
}

bool is_kept(const GgufKey& key) {
  return !key.name.starts_with("tokenizer.") && key.element_type != GgufType::string &&
         key.elements <= most_kept_elements;
}

void read_elements(FileWindow& file, GgufKey& key) {
  const GgufType type = *key.element_type;
  if (is_floating(type)) {
    std::vector<double> values(static_cast<std::size_t>(key.elements));
    for (double& value : values) value = floating_number(file, type);
    key.value = std::move(values);
    return;
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(key.elements));
  bool fits = true;
  for (std::int64_t& value : values) {
    value = whole_number(file, type);
    fits = fits && (type != GgufType::uint64 || value >= 0);
  }
  if (fits) key.value = std::move(values);
}

// Reads an array. strings: number of strings that may still be read, reduced by this array's.
void read_array(FileWindow& file, GgufKey& key, std::uint64_t& strings) {
  key.element_type = read_type(file, key);
  if (!key.element_type) return;
  if (key.element_type == GgufType::array) {
    file.not_supported(named(key), " must be no array of arrays, which llama.cpp refuses, too");
    return;
  }
  key.elements = file.number<std::uint64_t>();
  const std::uint64_t each = bytes_of(*key.element_type);
  if (key.elements > file.left() / each) {
    file.malformed(named(key), " must have no more elements than fit in the ", file.left(),
                   " bytes left, got ", key.elements, " of at least ", each);
    return;
  }
  if (is_kept(key)) {
    read_elements(file, key);
  } else if (key.element_type == GgufType::string) {
    skip_strings(file, key, strings);
  } else {
    file.skip(key.elements * each);
  }
}

void read_text(FileWindow& file, GgufKey& key) {
  const std::uint64_t bytes = read_text_bytes(file, key);
  if (!is_kept(key) || bytes > most_kept_text_bytes) {
    file.skip(bytes);
  } else {
    key.value = file.text(bytes);
  }
}

void read_value(FileWindow& file, GgufKey& key, std::uint64_t& strings) {
  if (key.type == GgufType::array) return read_array(file, key, strings);
  if (key.type == GgufType::string) return read_text(file, key);
  if (is_floating(key.type)) {
    key.value = floating_number(file, key.type);
    return;
  }
  const std::int64_t number = whole_number(file, key.type);
  if (key.type == GgufType::boolean) {
    key.value = number != 0;
  } else if (key.type == GgufType::uint64 && number < 0) {
    key.value = static_cast<std::uint64_t>(number);
  } else {
    key.value = number;
  }
}

void read_name(FileWindow& file, GgufKey& key) {
  const auto bytes = file.number<std::uint64_t>();
  if (file.failed()) return;
  if (bytes == 0) {
    file.malformed("a key must have a name, got an empty one");
  } else if (bytes > std::min(most_gguf_name_bytes, file.left())) {
    file.malformed("the name of a key must have at most ", most_gguf_name_bytes,
                   " bytes and no more than the ", file.left(), " left, got ", bytes);
  } else {
    key.name = file.text(bytes);
  }
}

GgufKey read_key(FileWindow& file, std::uint64_t& strings) {
  GgufKey key;
  read_name(file, key);
  if (file.failed()) return key;
  const auto type = read_type(file, key);
  if (!type) return key;
  key.type = *type;
  read_value(file, key, strings);
  return key;
}

std::uint64_t kept_bytes(const GgufKey& key) {
  const auto on_heap = [](const auto& held) -> std::uint64_t {
    if constexpr (requires { held.data(); }) return held.size() * sizeof(*held.data());
    return 0;
  };
  return sizeof(GgufKey) + key.name.size() + std::visit(on_heap, key.value);
}

void refuse_duplicates(FileWindow& file, const std::vector<GgufKey>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(), [&](std::uint32_t one, std::uint32_t other) {
    return keys[one].name < keys[other].name;
  });
  const auto twice = std::adjacent_find(
      order.begin(), order.end(),
      [&](std::uint32_t one, std::uint32_t other) { return keys[one].name == keys[other].name; });
  if (twice == order.end()) return;
  file.malformed(named(keys[*twice]), " must be there once, got it twice");
}

}  // namespace

std::vector<GgufKey> read_gguf_keys(FileWindow& file, std::uint64_t count) {
  std::vector<GgufKey> keys;
  std::uint64_t kept = 0;
  std::uint64_t strings = most_gguf_strings;
  for (std::uint64_t i = 0; i < count && !file.failed(); ++i) {
    keys.push_back(read_key(file, strings));
    kept += kept_bytes(keys.back());
    if (kept <= most_gguf_kept_bytes) continue;
    file.not_supported("names and values of keys must have at most ", most_gguf_kept_bytes,
                       " bytes, got more with ", named(keys.back()));
  }
  if (!file.failed()) refuse_duplicates(file, keys);
  return keys;
}

}  // namespace rotary
