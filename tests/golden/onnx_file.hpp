// SPDX-License-Identifier: Apache-2.0
// Reads onnx_vectors.json: test vectors of ONNX's RotaryEmbedding and Attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/tensor_view.hpp"

namespace rotary::test {

struct OnnxTensor {
  std::string type;  // "float32", "float16", "bfloat16", "bool", "int64"
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t element_bytes() const {
    return size() == 0 ? 0 : bytes.size() / size();
  }
  [[nodiscard]] DType dtype() const;  // not for bool and int64
  [[nodiscard]] double at(std::size_t index) const;
};

struct OnnxCase {
  std::string name;
  std::int64_t opset = 0;
  nlohmann::json attributes;
  std::map<std::string, OnnxTensor> inputs;
  std::map<std::string, OnnxTensor> outputs;

  [[nodiscard]] const OnnxTensor* input(const std::string& of) const;
  [[nodiscard]] std::int64_t attribute(const char* of, std::int64_t otherwise) const;
};

[[nodiscard]] std::vector<OnnxCase> read_onnx_cases(std::string_view an_operator);

// A view of [batch, heads, tokens, features] or [batch, tokens, heads * features].
[[nodiscard]] HeadsView heads_view(OnnxTensor& tensor, std::int64_t heads);

// An unfilled tensor of the same shape and type.
[[nodiscard]] OnnxTensor unwritten(const OnnxTensor& like);

}  // namespace rotary::test
