// SPDX-License-Identifier: Apache-2.0
#include "golden/onnx_file.hpp"

#include <cstring>
#include <stdexcept>

#include "golden/golden_file.hpp"
#include "support/elements.hpp"

namespace rotary::test {
namespace {

using nlohmann::json;

std::vector<std::byte> decoded_base64(const std::string& text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    const std::size_t value = digits.find(digit);
    if (value == std::string_view::npos) throw std::runtime_error("a pool must be base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xFF));
  }
  return bytes;
}

std::size_t bytes_of(std::string_view type) {
  if (type == "bool") return 1;
  if (type == "float16" || type == "bfloat16") return 2;
  return type == "int64" ? 8 : 4;
}

using Pools = std::map<std::string, std::vector<std::byte>>;

std::map<std::string, OnnxTensor> read_tensors(const json& tensors, const Pools& pools) {
  std::map<std::string, OnnxTensor> all;
  for (const auto& [name, place] : tensors.items()) {
    OnnxTensor tensor{.type = place.at(0), .shape = place.at(2), .bytes = {}};
    const std::size_t bytes = bytes_of(tensor.type);
    const auto first = static_cast<std::ptrdiff_t>(place.at(1).get<std::size_t>() * bytes);
    const auto begin = pools.at(tensor.type).begin() + first;
    tensor.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(tensor.size() * bytes));
    all.emplace(name, std::move(tensor));
  }
  return all;
}

}  // namespace

std::size_t OnnxTensor::size() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return static_cast<std::size_t>(count);
}

DType OnnxTensor::dtype() const {
  if (type == "float32") return DType::f32;
  return type == "float16" ? DType::f16 : DType::bf16;
}

double OnnxTensor::at(std::size_t index) const {
  const std::byte* const element = bytes.data() + index * bytes_of(type);
  if (type == "bool") return static_cast<double>(*element);
  if (type != "int64") return value_at(dtype(), element);
  std::int64_t number = 0;
  std::memcpy(&number, element, sizeof(number));
  return static_cast<double>(number);
}

const OnnxTensor* OnnxCase::input(const std::string& of) const {
  const auto found = inputs.find(of);
  return found == inputs.end() ? nullptr : &found->second;
}

std::int64_t OnnxCase::attribute(const char* of, std::int64_t otherwise) const {
  return attributes.value(of, otherwise);
}

std::vector<OnnxCase> read_onnx_cases(std::string_view an_operator) {
  const json file = read_golden("onnx_vectors");
  Pools pools;
  for (const auto& [type, text] : file.at("pools").items())
    pools.emplace(type, decoded_base64(text.get<std::string>()));
  std::vector<OnnxCase> cases;
  for (const json& entry : file.at("cases")) {
    if (entry.at("operator") != an_operator) continue;
    cases.push_back({.name = entry.at("name"),
                     .opset = entry.at("opset"),
                     .attributes = entry.at("attributes"),
                     .inputs = read_tensors(entry.at("inputs"), pools),
                     .outputs = read_tensors(entry.at("outputs"), pools)});
  }
  return cases;
}

HeadsView heads_view(OnnxTensor& tensor, std::int64_t heads) {
  const std::vector<std::int64_t>& n = tensor.shape;
  if (n.size() == 4) {
    const Extents extents{.batch = n[0], .tokens = n[2], .heads = n[1], .features = n[3]};
    return {tensor.bytes.data(), tensor.dtype(), extents, strides_bhtd(extents)};
  }
  const Extents extents{.batch = n[0], .tokens = n[1], .heads = heads, .features = n[2] / heads};
  return {tensor.bytes.data(), tensor.dtype(), extents, strides_bthd(extents)};
}

OnnxTensor unwritten(const OnnxTensor& like) {
  OnnxTensor tensor = like;
  tensor.bytes.assign(like.bytes.size(), std::byte{0xFF});
  return tensor;
}

}  // namespace rotary::test
