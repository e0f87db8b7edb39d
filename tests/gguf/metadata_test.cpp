// SPDX-License-Identifier: Apache-2.0
// Tests the data that is read and kept of GGUF files, and the errors of malformed files. The
// malformed files follow llama.cpp's tests/test-gguf.cpp and published reports
// (docs/theory/gguf.md, "Hostile files").
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "rotary/gguf.hpp"
#include "support/gguf_bytes.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::as_byte_span;
using test::GgufFile;
using test::OrderedBytes;
using test::refused;
using test::value_of;

Result<GgufMetadata> read(const std::string& bytes) {
  return read_gguf_metadata(byte_source(as_byte_span(bytes)));
}
Result<GgufMetadata> read(const GgufFile& file) { return read(file.bytes()); }

const GgufKey& key_of(const GgufMetadata& metadata, std::string_view name) {
  for (const GgufKey& key : metadata.keys) {
    if (key.name == name) return key;
  }
  throw std::runtime_error("no key " + std::string(name));
}

// Keys of every type, arrays of three types, three rope tensors, and a tensor without data.
GgufFile everything(std::endian order) {
  GgufFile file(order);
  file.text("general.architecture", "llama");
  file.key("u8", 0, OrderedBytes(order).u8(200));
  file.key("i8", 1, OrderedBytes(order).u8(0xFF));
  file.key("u16", 2, OrderedBytes(order).u16(0xFFFE));
  file.key("i16", 3, OrderedBytes(order).u16(0xFFFE));
  file.u32("u32", 0xFFFFFFFF);
  file.key("i32", 5, OrderedBytes(order).u32(0xFFFFFFFF));
  file.f32("f32", 0.1F);
  file.boolean("bool", true);
  file.key("bool of 2", 7, OrderedBytes(order).u8(2));
  file.u64("u64", std::numeric_limits<std::uint64_t>::max());
  file.key("i64", 11, OrderedBytes(order).u64(std::numeric_limits<std::uint64_t>::max()));
  file.f64("f64", 0.1);
  file.i32s("i32s", {1, -2, 3});
  file.booleans("bools", {true, false, true});
  file.texts("texts", {"a", "", "ccc"});
  file.texts("tokenizer.ggml.tokens", {"<s>", "</s>"});
  file.text("tokenizer.chat_template", "{{ messages }}");
  file.tensor("rope_freqs.weight", {1, 2, 4});
  file.entry("blk.0.attn_q.weight", {256, 256}, 1, 32);
  file.tensor("rope_factors_long.weight", {8});
  file.tensor("rope_factors_short.weight", {0.5F});
  return file;
}

TEST(GgufMetadata, ReadsEveryType) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const GgufMetadata read_back = value_of(read(everything(order)));
    EXPECT_EQ(read_back.version, 3U);
    EXPECT_EQ(read_back.byte_order, order);
    EXPECT_EQ(read_back.tensors, 4U);
    const auto value = [&](std::string_view name) { return key_of(read_back, name).value; };
    EXPECT_EQ(value("general.architecture"), GgufValue("llama"));
    EXPECT_EQ(value("u8"), GgufValue(std::int64_t{200}));
    EXPECT_EQ(value("i8"), GgufValue(std::int64_t{-1}));
    EXPECT_EQ(value("u16"), GgufValue(std::int64_t{0xFFFE}));
    EXPECT_EQ(value("i16"), GgufValue(std::int64_t{-2}));
    EXPECT_EQ(value("u32"), GgufValue(std::int64_t{0xFFFFFFFF}));
    EXPECT_EQ(value("i32"), GgufValue(std::int64_t{-1}));
    EXPECT_EQ(value("f32"), GgufValue(double{0.1F}));
    EXPECT_EQ(value("bool"), GgufValue(true));
    EXPECT_EQ(value("bool of 2"), GgufValue(true));
    EXPECT_EQ(value("u64"), GgufValue(std::numeric_limits<std::uint64_t>::max()));
    EXPECT_EQ(value("i64"), GgufValue(std::int64_t{-1}));
    EXPECT_EQ(value("f64"), GgufValue(0.1));
    EXPECT_EQ(value("i32s"), GgufValue(std::vector<std::int64_t>{1, -2, 3}));
    EXPECT_EQ(value("bools"), GgufValue(std::vector<std::int64_t>{1, 0, 1}));
    EXPECT_EQ(key_of(read_back, "bools").element_type, GgufType::boolean);
    EXPECT_EQ(key_of(read_back, "bools").elements, 3U);
  }
}

TEST(GgufMetadata, SkipsTokenizersAndListsOfTexts) {
  const GgufMetadata read_back = value_of(read(everything(std::endian::little)));
  for (const char* const name : {"texts", "tokenizer.ggml.tokens", "tokenizer.chat_template"}) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(key_of(read_back, name).value)) << name;
  }
  EXPECT_EQ(key_of(read_back, "tokenizer.ggml.tokens").elements, 2U);
  EXPECT_EQ(key_of(read_back, "tokenizer.ggml.tokens").element_type, GgufType::string);
}

TEST(GgufMetadata, KeepsShortTextsAndLists) {
  GgufFile file;
  file.text("long", std::string(1024, 'x')).text("longer", std::string(1025, 'x'));
  file.i32s("many", std::vector<std::int32_t>(4096, 7));
  file.i32s("more", std::vector<std::int32_t>(4097, 7));
  const GgufMetadata read_back = value_of(read(file));
  EXPECT_EQ(key_of(read_back, "long").value, GgufValue(std::string(1024, 'x')));
  EXPECT_EQ(key_of(read_back, "longer").value, GgufValue());
  EXPECT_EQ(key_of(read_back, "many").value, GgufValue(std::vector<std::int64_t>(4096, 7)));
  EXPECT_EQ(key_of(read_back, "more").value, GgufValue());
}

TEST(GgufMetadata, ReadsNumbersOfRopeTensorsOnly) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const GgufMetadata read_back = value_of(read(everything(order)));
    ASSERT_EQ(read_back.rope_tensors.size(), 3U);
    EXPECT_EQ(read_back.rope_tensors[0].name, "rope_freqs.weight");
    EXPECT_EQ(read_back.rope_tensors[0].values, (std::vector<float>{1, 2, 4}));
    EXPECT_EQ(read_back.rope_tensors[1].values, std::vector<float>{8});
    EXPECT_EQ(read_back.rope_tensors[2].values, std::vector<float>{0.5F});
  }
}

TEST(GgufMetadata, ReadsVersion2AndRefusesUnknownVersions) {
  EXPECT_EQ(value_of(read(GgufFile(std::endian::little, 2))).version, 2U);
  EXPECT_EQ(value_of(read(GgufFile(std::endian::big, 2))).version, 2U);
  for (const std::uint32_t version : {0U, 1U, 4U, 0xFFFFFFFFU}) {
    refused(read(GgufFile(std::endian::little, version)),
            {"GGUF: version must be 2 or 3, got " + std::to_string(version)},
            ErrorCode::unsupported);
  }
  refused(read(GgufFile(std::endian::big, 4)), {"got 4"}, ErrorCode::unsupported);
}

// A file may end after its list of tensors, unless it lists rope tensors.
TEST(GgufMetadata, AcceptsAFileWithoutTensorData) {
  GgufFile file;
  file.entry("blk.0.attn_q.weight", {256, 256}, 999, 0);
  EXPECT_EQ(value_of(read(file)).tensors, 1U);
}

TEST(GgufMetadata, EveryPrefixFailsCleanly) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const std::string whole = everything(order).bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A separate allocation, so that AddressSanitizer catches reads beyond it.
      const auto prefix = std::make_unique<std::byte[]>(size);
      std::copy_n(as_byte_span(whole).begin(), size, prefix.get());
      const auto result = read_gguf_metadata(byte_source({prefix.get(), size}));
      ASSERT_FALSE(result) << size;
      ASSERT_EQ(result.error().code, ErrorCode::malformed_input) << size;
      ASSERT_TRUE(result.error().message.starts_with("GGUF: ")) << result.error().message;
    }
  }
}

TEST(GgufMetadata, ChangedBytesCauseNoReadPastTheEnd) {
  const std::string whole = everything(std::endian::little).bytes();
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {1, 0x80, 0xFF}) {
      const auto changed = std::make_unique<std::byte[]>(whole.size());
      std::copy_n(as_byte_span(whole).begin(), whole.size(), changed.get());
      changed[at] ^= std::byte(bit);
      const auto source = byte_source({changed.get(), whole.size()});
      accepted += read_gguf_metadata(source) ? 1 : 0;
      const auto model = resolve_gguf(source);
      EXPECT_TRUE(model || !model.error().message.empty());
    }
  }
  EXPECT_GT(accepted, 0U);  // some bytes are values that may change freely
}

struct BadFile {
  const char* what;
  std::string bytes;
  ErrorCode code;
  std::string message;  // without the position
};

void expect_all(const std::vector<BadFile>& files) {
  for (const auto& [what, bytes, code, message] : files) {
    SCOPED_TRACE(what);
    refused(read(bytes), {"GGUF: " + message + " (byte "}, code);
  }
}

constexpr auto malformed = ErrorCode::malformed_input;
constexpr auto unsupported = ErrorCode::unsupported;

TEST(GgufHostile, BadHeadersAreRefused) {
  expect_all({
      {"empty", "", malformed, "the file must begin with the bytes GGUF, got ''"},
      {"another magic", "GGJT", malformed, "the file must begin with the bytes GGUF, got 'GGJT'"},
      {"control bytes", std::string("\x1b[2J\0", 5), malformed,
       "the file must begin with the bytes GGUF, got '\\x1b[2J'"},
      {"-1 tensors", GgufFile().claim(~std::uint64_t{0}, 0).bytes(), unsupported,
       "the number of tensors must be at most 1048576, got -1"},
      {"-1 keys", GgufFile().claim(0, ~std::uint64_t{0}).bytes(), unsupported,
       "the number of keys must be at most 65536, got -1"},
      {"more tensors than bytes", GgufFile().claim(1000, 0).bytes(), malformed,
       "the number of tensors must be what fits in the 8 bytes left, got 1000"},
      {"more keys than bytes", GgufFile().claim(0, 1000).bytes(), malformed,
       "the number of keys must be what fits in the 0 bytes left, got 1000"},
  });
}

// A file with this key, followed by 64 bytes.
std::string one_key(const OrderedBytes& key) {
  OrderedBytes padded;
  padded.append(key).raw(std::string(64, '\0'));
  OrderedBytes file;
  return file.raw("GGUF").u32(3).u64(0).u64(1).append(padded).bytes();
}

OrderedBytes array_of(std::uint32_t type, std::uint64_t count) {
  OrderedBytes key;
  return key.text("a").u32(9).u32(type).u64(count);
}

TEST(GgufHostile, BadKeysAreRefused) {
  const std::uint64_t huge = std::uint64_t{1} << 63;
  const GgufFile twice = GgufFile().u32("a.b", 1).u32("c", 1).u32("a.b", 2);
  expect_all({
      {"a name of -1 bytes", one_key(OrderedBytes().u64(~std::uint64_t{0})), malformed,
       "the name of a key must have at most 65535 bytes and no more than the 64 left, got "
       "18446744073709551615"},
      {"an empty name", one_key(OrderedBytes().u64(0)), malformed,
       "a key must have a name, got an empty one"},
      {"type 13", one_key(OrderedBytes().text("a").u32(13)), malformed,
       "key 'a' must be of one of the types 0 to 12, got 13"},
      {"type -1", one_key(OrderedBytes().text("a\n").u32(~0U)), malformed,
       "key 'a\\x0a' must be of one of the types 0 to 12, got -1"},
      {"a string of 2^63 bytes", one_key(OrderedBytes().text("a").u32(8).u64(huge)), malformed,
       "a string of key 'a' must have at most 16777216 bytes and no more than the 64 left, got "
       "9223372036854775808"},
      {"an array of 2^63 bytes, which hangs gguf 0.19", one_key(array_of(0, huge)), malformed,
       "key 'a' must have no more elements than fit in the 64 bytes left, got "
       "9223372036854775808 of at least 1"},
      {"elements times size wraps", one_key(array_of(10, huge / 4)), malformed,
       "key 'a' must have no more elements than fit in the 64 bytes left, got "
       "2305843009213693952 of at least 8"},
      {"an array of 2^60 strings", one_key(array_of(8, huge / 8)), malformed,
       "key 'a' must have no more elements than fit in the 64 bytes left, got "
       "1152921504606846976 of at least 8"},
      {"an array of arrays", one_key(array_of(9, 1)), unsupported,
       "key 'a' must be no array of arrays, which llama.cpp refuses, too"},
      {"an array of type 13", one_key(array_of(13, 1)), malformed,
       "key 'a' must be of one of the types 0 to 12, got 13"},
      {"a key twice", twice.bytes(), malformed, "key 'a.b' must be there once, got it twice"},
      {"an alignment of 3", GgufFile().u32("general.alignment", 3).bytes(), malformed,
       "general.alignment must be a power of two up to 1048576, got 3"},
      {"an alignment of 0", GgufFile().u32("general.alignment", 0).bytes(), malformed,
       "general.alignment must be a power of two up to 1048576, got 0"},
      {"an alignment of 2^31", GgufFile().u32("general.alignment", 1U << 31).bytes(), malformed,
       "general.alignment must be a power of two up to 1048576, got 2147483648"},
      {"an alignment of another type", GgufFile().u64("general.alignment", 32).bytes(), malformed,
       "general.alignment must be a uint32, got a uint64"},
  });
}

TEST(GgufHostile, BadTensorsAreRefused) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto entry = [](std::string_view name, const std::vector<std::int64_t>& extents,
                        std::uint32_t type, std::uint64_t offset) {
    return GgufFile().entry(name, extents, type, offset).bytes();
  };
  const std::string name(63, 'x');
  const GgufFile twice =
      GgufFile().tensor("rope_freqs.weight", {1}).tensor("rope_freqs.weight", {1});
  expect_all({
      {"a name of 64 bytes", entry(name + "x", {1}, 0, 0), malformed,
       "the name of a tensor must have at most 63 bytes, got 64"},
      {"5 dimensions", entry("t", {1, 1, 1, 1, 1}, 0, 0), malformed,
       "tensor 't' must have at most 4 dimensions, got 5"},
      {"a negative extent", entry("t", {1, -1}, 0, 0), malformed,
       "tensor 't' must have extents >= 0, got -1"},
      {"a product of 2^64", entry("t", {most, 2}, 0, 0), malformed,
       "tensor 't' must have fewer than 2^63 numbers, got extents whose product is larger"},
      {"2^42 + 1 twice",
       entry("t", {(std::int64_t{1} << 42) + 1, (std::int64_t{1} << 42) + 1}, 0, 0), malformed,
       "tensor 't' must have fewer than 2^63 numbers, got extents whose product is larger"},
      {"a negative type", entry("t", {1}, ~0U, 0), malformed,
       "tensor 't' must have a type >= 0, got -1"},
      {"an offset that is not aligned", entry("t", {1}, 0, 31), malformed,
       "tensor 't' must begin at a multiple of 32, got offset 31"},
      {"factors twice", twice.bytes(), malformed,
       "tensor rope_freqs.weight must be there once, got it twice"},
      {"factors of another type", entry("rope_freqs.weight", {4}, 1, 0), unsupported,
       "tensor rope_freqs.weight must be of type 0, float32, got 1"},
      {"no factors", entry("rope_freqs.weight", {0}, 0, 0), malformed,
       "tensor rope_freqs.weight must have 1 to 65536 numbers, got 0"},
      {"too many factors", entry("rope_freqs.weight", {65537}, 0, 0), malformed,
       "tensor rope_freqs.weight must have 1 to 65536 numbers, got 65537"},
      {"factors beyond the file", entry("rope_freqs.weight", {4}, 0, 64), malformed,
       "the file must hold the 16 bytes of tensor rope_freqs.weight from byte 96 + 64 on, and "
       "ends before"},
      {"an offset near 2^64", entry("rope_freqs.weight", {4}, 0, ~std::uint64_t{31}), malformed,
       "the file must hold the 16 bytes of tensor rope_freqs.weight from byte 96 + "
       "18446744073709551584 on, and ends before"},
  });
  EXPECT_TRUE(read(entry(name, {0, most}, 0, 0)));
}

// Many lists together exceed the limit. So do many texts.
TEST(GgufHostile, KeysWithTooManyBytesAreRefused) {
  GgufFile many;
  for (int i = 0; i < 5000; ++i) {
    many.i32s("k" + std::to_string(i), std::vector<std::int32_t>(1024, i));
  }
  refused(read(many),
          {"names and values of keys must have at most 16777216 bytes, got more with "
           "key 'k20"},
          unsupported);
  GgufFile texts;
  for (int i = 0; i < 20000; ++i) texts.text("k" + std::to_string(i), std::string(1024, 'v'));
  refused(read(texts),
          {"names and values of keys must have at most 16777216 bytes, got more with "
           "key 'k14"},
          unsupported);
}

// In a sparse file, arrays of empty strings take no disk space, so the file's size is no limit.
TEST(GgufHostile, ArraysWithTooManyStringsAreRefused) {
  constexpr std::uint64_t most = std::uint64_t{1} << 23;
  const auto two_arrays = [](std::uint64_t first, std::uint64_t second) {
    test::OrderedBytes file;
    file.raw("GGUF").u32(3).u64(0).u64(2);
    for (const auto& [name, count] : {std::pair("a", first), std::pair("b", second)})
      file.text(name).u32(9).u32(8).u64(count).raw(std::string(8 * count, '\0'));
    return file.bytes();
  };
  const std::string whole = two_arrays(most - 1, 1);
  EXPECT_TRUE(read_gguf_metadata(byte_source(as_byte_span(whole))));
  const std::string more = two_arrays(most - 1, 2);
  refused(read_gguf_metadata(byte_source(as_byte_span(more))),
          {"arrays of strings must have at most 8388608 elements together, got more "
           "with the 2 of key 'b'"},
          unsupported);
}

TEST(GgufMetadata, AShrinkingFileIsAnError) {
  const std::string whole = everything(std::endian::little).bytes();
  const auto shorter = [](void* context, std::uint64_t offset, std::byte* bytes,
                          std::size_t count) -> std::size_t {
    const auto* const held = static_cast<const std::string*>(context);
    const std::size_t left = offset < 100 ? 100 - static_cast<std::size_t>(offset) : 0;
    const std::size_t copied = std::min(count, left);
    std::copy_n(as_byte_span(*held).begin() + static_cast<std::ptrdiff_t>(offset), copied, bytes);
    return copied;
  };
  const ByteSource source{
      .context = const_cast<std::string*>(&whole), .read_at = shorter, .size_bytes = whole.size()};
  refused(read_gguf_metadata(source),
          {"the file must not change while it is read", " follow 100 could be read"}, malformed);
  refused(read_gguf_metadata({.context = nullptr, .read_at = nullptr, .size_bytes = 9}),
          {"source.read_at must not be null"});
}

TEST(GgufType, NamesKnownAndUnknownTypes) {
  EXPECT_EQ(to_string(GgufType::uint8), "uint8");
  EXPECT_EQ(to_string(GgufType::float64), "float64");
  EXPECT_EQ(to_string(GgufType{13}), "unknown");
}

}  // namespace
}  // namespace rotary
