// SPDX-License-Identifier: Apache-2.0
// Writes valid and broken GGUF files in memory. Follows the format (docs/theory/gguf.md) and shares
// no code with the reader.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::test {

// Bytes written in one byte order.
class OrderedBytes {
 public:
  explicit OrderedBytes(std::endian order = std::endian::little) : order_(order) {}

  OrderedBytes& u8(std::uint8_t value) { return number(value, 1); }
  OrderedBytes& u16(std::uint16_t value) { return number(value, 2); }
  OrderedBytes& u32(std::uint32_t value) { return number(value, 4); }
  OrderedBytes& u64(std::uint64_t value) { return number(value, 8); }
  OrderedBytes& f32(float value) { return u32(std::bit_cast<std::uint32_t>(value)); }
  OrderedBytes& f64(double value) { return u64(std::bit_cast<std::uint64_t>(value)); }
  OrderedBytes& raw(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  // The length, then the bytes.
  OrderedBytes& text(std::string_view value) { return u64(value.size()).raw(value); }
  OrderedBytes& append(const OrderedBytes& other) { return raw(other.bytes_); }
  OrderedBytes& pad_to(std::size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back('\0');
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::endian order() const { return order_; }

 private:
  OrderedBytes& number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) {
      const int at = order_ == std::endian::little ? i : width - 1 - i;
      bytes_.push_back(static_cast<char>(value >> 8 * at & 0xFF));
    }
    return *this;
  }

  std::endian order_;
  std::string bytes_;
};

// Keys and tensors keep the order in which they are added.
class GgufFile {
 public:
  explicit GgufFile(std::endian order = std::endian::little, std::uint32_t version = 3)
      : version_(version), keys_(order), tensors_(order), data_(order) {}

  // A file with two layers and four heads of 64 features.
  static GgufFile small(std::string_view architecture, std::endian order = std::endian::little) {
    GgufFile file(order);
    file.named(architecture)
        .u32("$.block_count", 2)
        .u32("$.context_length", 4096)
        .u32("$.embedding_length", 256)
        .u32("$.attention.head_count", 4);
    return file;
  }

  GgufFile& named(std::string_view architecture) {
    name_ = architecture;
    return text("general.architecture", architecture);
  }

  // A "$" at the start of a name stands for the architecture.
  GgufFile& u32(std::string_view name, std::uint32_t value) {
    return key(name, 4, OrderedBytes(order()).u32(value));
  }
  GgufFile& u64(std::string_view name, std::uint64_t value) {
    return key(name, 10, OrderedBytes(order()).u64(value));
  }
  GgufFile& f32(std::string_view name, float value) {
    return key(name, 6, OrderedBytes(order()).f32(value));
  }
  GgufFile& f64(std::string_view name, double value) {
    return key(name, 12, OrderedBytes(order()).f64(value));
  }
  GgufFile& boolean(std::string_view name, bool value) {
    return key(name, 7, OrderedBytes(order()).u8(value ? 1 : 0));
  }
  GgufFile& text(std::string_view name, std::string_view value) {
    return key(name, 8, OrderedBytes(order()).text(value));
  }
  GgufFile& i32s(std::string_view name, const std::vector<std::int32_t>& values) {
    OrderedBytes array(order());
    array.u32(5).u64(values.size());
    for (const std::int32_t value : values) array.u32(static_cast<std::uint32_t>(value));
    return key(name, 9, array);
  }
  GgufFile& booleans(std::string_view name, const std::vector<bool>& values) {
    OrderedBytes array(order());
    array.u32(7).u64(values.size());
    for (const bool value : values) array.u8(value ? 1 : 0);
    return key(name, 9, array);
  }
  GgufFile& texts(std::string_view name, const std::vector<std::string>& values) {
    OrderedBytes array(order());
    array.u32(8).u64(values.size());
    for (const std::string& value : values) array.text(value);
    return key(name, 9, array);
  }
  // Adds a key of any type with any bytes.
  GgufFile& key(std::string_view name, std::uint32_t type, const OrderedBytes& value) {
    const bool is_own = name.starts_with("$");
    keys_.text(is_own ? name_ + std::string(name.substr(1)) : std::string(name));
    keys_.u32(type).append(value);
    ++key_count_;
    return *this;
  }

  GgufFile& tensor(std::string_view name, const std::vector<float>& values) {
    data_.pad_to(32);
    entry(name, {static_cast<std::int64_t>(values.size())}, 0, data_.bytes().size());
    for (const float value : values) data_.f32(value);
    return *this;
  }
  // Adds a tensor to the list, without data.
  GgufFile& entry(std::string_view name, const std::vector<std::int64_t>& extents,
                  std::uint32_t type, std::uint64_t offset) {
    tensors_.text(name).u32(static_cast<std::uint32_t>(extents.size()));
    for (const std::int64_t extent : extents) tensors_.u64(static_cast<std::uint64_t>(extent));
    tensors_.u32(type).u64(offset);
    ++tensor_count_;
    return *this;
  }

  // Makes the header state these numbers of tensors and keys.
  GgufFile& claim(std::uint64_t tensors, std::uint64_t keys) {
    claimed_ = true;
    claimed_tensors_ = tensors;
    claimed_keys_ = keys;
    return *this;
  }

  [[nodiscard]] std::string bytes() const {
    OrderedBytes all(order());
    all.raw("GGUF").u32(version_);
    all.u64(claimed_ ? claimed_tensors_ : tensor_count_);
    all.u64(claimed_ ? claimed_keys_ : key_count_);
    all.append(keys_).append(tensors_);
    if (tensor_count_ > 0) all.pad_to(32);
    return all.append(data_).bytes();
  }
  [[nodiscard]] std::endian order() const { return keys_.order(); }

 private:
  std::uint32_t version_;
  std::string name_;
  OrderedBytes keys_;
  OrderedBytes tensors_;
  OrderedBytes data_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  bool claimed_ = false;
  std::uint64_t claimed_tensors_ = 0;
  std::uint64_t claimed_keys_ = 0;
};

[[nodiscard]] inline std::span<const std::byte> as_byte_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

}  // namespace rotary::test
