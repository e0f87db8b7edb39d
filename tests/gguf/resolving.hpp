// SPDX-License-Identifier: Apache-2.0
// Expected values of tests that include this follow llama.cpp at 0c1e5709: src/llama-model.cpp,
// src/llama-context.cpp, src/models/*.cpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/gguf.hpp"
#include "support/gguf_bytes.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary::test {

[[nodiscard]] inline Result<ModelSpec> resolve(const GgufFile& file,
                                               const GgufOptions& options = {}) {
  const std::string bytes = file.bytes();
  return resolve_gguf(byte_source(as_byte_span(bytes)), options);
}

[[nodiscard]] inline ModelSpec resolved(const GgufFile& file, const GgufOptions& options = {}) {
  return value_of(resolve(file, options));
}

[[nodiscard]] inline const RotarySpec& only_spec(const ModelSpec& model) {
  EXPECT_EQ(model.rotary.size(), 1U);
  return model.rotary.at(0).spec;
}

// The bytes of a file of tests/golden/gguf.
[[nodiscard]] inline std::string file_named(std::string_view start, std::string_view name,
                                            std::string_view ending) {
  const std::string path =
      source_path("tests/golden/gguf/").append(start).append(name).append(ending);
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// For each layer the index of its rotary embedding, n for none, or x for no attention.
[[nodiscard]] inline std::string layers_of(const ModelSpec& model) {
  std::string text;
  for (const ModelLayer& layer : model.layers) {
    text += layer.encoding == LayerEncoding::rotary         ? static_cast<char>('0' + layer.rotary)
            : layer.encoding == LayerEncoding::none         ? 'n'
            : layer.encoding == LayerEncoding::no_attention ? 'x'
                                                            : '?';
  }
  return text;
}

// Returns for example "stated llama.rope.freq_base".
[[nodiscard]] inline std::string source_of(const std::vector<ValueSource>& sources,
                                           std::string_view value) {
  for (const ValueSource& each : sources) {
    if (each.value == value)
      return std::string(to_string(each.origin)) + (each.key.empty() ? "" : " ") + each.key;
  }
  return "none";
}

[[nodiscard]] inline GgufFile with_layers(std::string_view architecture, std::uint32_t layers) {
  GgufFile file;
  return file.named(architecture)
      .u32("$.block_count", layers)
      .u32("$.context_length", 4096)
      .u32("$.embedding_length", 256)
      .u32("$.attention.head_count", 4);
}

[[nodiscard]] inline GgufFile yarn(std::string_view architecture, float factor) {
  return GgufFile::small(architecture)
      .text("$.rope.scaling.type", "yarn")
      .f32("$.rope.scaling.factor", factor)
      .u32("$.rope.scaling.original_context_length", 1024);
}

}  // namespace rotary::test
