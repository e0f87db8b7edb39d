// SPDX-License-Identifier: Apache-2.0
// Reading a GGUF file allocates only a read window and the kept data. A vocabulary of 100,000 words
// costs nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "rotary/gguf.hpp"
#include "support/counted_new.hpp"
#include "support/gguf_bytes.hpp"

namespace rotary {
namespace {

using test::GgufFile;

// The factor 3: a growing vector holds its old elements beside room for twice as many.
std::int64_t bytes_of(const GgufMetadata& metadata) {
  std::size_t bytes = 3 * metadata.keys.size() * sizeof(GgufKey);
  for (const GgufKey& key : metadata.keys) {
    bytes += key.name.size() + 1;
    if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&key.value)) {
      bytes += list->size() * sizeof(std::int64_t);
    }
  }
  for (const GgufTensor& tensor : metadata.rope_tensors) bytes += tensor.values.size() * 4;
  return static_cast<std::int64_t>(bytes);
}

TEST(GgufMemory, IsLimitedToTheWindowAndKeptData) {
  GgufFile file = GgufFile::small("llama");
  file.texts("tokenizer.ggml.tokens", std::vector<std::string>(100000, "a word of a vocabulary"));
  file.i32s("tokenizer.ggml.token_type", std::vector<std::int32_t>(100000, 1));
  file.texts("general.tags", std::vector<std::string>(1000, "a tag of a model"));
  file.i32s("$.attention.head_count_kv", {2, 2});
  file.tensor("rope_freqs.weight", std::vector<float>(32, 2.0F));
  for (int i = 0; i < 1000; ++i) {
    file.entry("blk." + std::to_string(i) + ".attn_output.weight", {4096, 4096}, 1, 128);
  }
  const std::string bytes = file.bytes();
  ASSERT_GT(bytes.size(), std::size_t{3000000});
  const std::int64_t before = test::live_bytes();
  test::restart_peak();
  const auto metadata = read_gguf_metadata(byte_source(test::as_byte_span(bytes)));
  const std::int64_t most = test::peak_bytes() - before;
  ASSERT_TRUE(metadata) << metadata.error().message;
  constexpr std::int64_t window = std::int64_t{64} << 10;
  EXPECT_LE(most, window + bytes_of(*metadata));
  EXPECT_GE(most, std::int64_t{32} << 10);  // the window itself is counted
}

// A size that a file only claims must cost no memory.
TEST(GgufMemory, DoesNotGrowWithFalseSizes) {
  test::OrderedBytes key;
  key.text("a").u32(9).u32(10).u64(std::uint64_t{1} << 40).raw(std::string(1 << 12, '\0'));
  test::OrderedBytes file;
  file.raw("GGUF").u32(3).u64(0).u64(1).append(key);
  const std::int64_t before = test::live_bytes();
  test::restart_peak();
  const auto metadata = read_gguf_metadata(byte_source(test::as_byte_span(file.bytes())));
  EXPECT_FALSE(metadata);
  EXPECT_LE(test::peak_bytes() - before, std::int64_t{64} << 10);
}

}  // namespace
}  // namespace rotary
