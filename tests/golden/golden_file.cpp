// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary::test {

nlohmann::json read_golden(std::string_view name) {
  const std::string path = source_path("tests/golden/").append(name).append(".json");
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(file);
}

ModelSpec resolved_model(nlohmann::json config, std::string_view model_type) {
  config.emplace("model_type", model_type);
  return value_of(resolve(config.dump()));
}

RotarySpec resolved_spec(nlohmann::json config, std::string_view model_type, Numerics numerics) {
  config.emplace("model_type", model_type);
  const ModelSpec model = value_of(resolve(config.dump(), {.numerics = numerics}));
  if (model.rotary.size() != 1) throw std::runtime_error("one rotary embedding expected");
  return model.rotary.front().spec;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], wanted[i] * tolerance) << "pair " << i;
}

Tensor read_tensor(const nlohmann::json& tensor, std::string_view layout) {
  const auto shape = tensor.at("shape").get<std::vector<std::int64_t>>();
  const bool heads_first = layout.substr(0, 7) == "B,H,T,D";
  if (!heads_first && layout.substr(0, 7) != "B,T,H,D") {
    throw std::runtime_error("unknown layout " + std::string(layout));
  }
  Tensor result({.dtype = DType::f32,
                 .extents = {shape.at(0), shape.at(heads_first ? 2 : 1),
                             shape.at(heads_first ? 1 : 2), shape.at(3)},
                 .layout = heads_first ? Layout::bhtd : Layout::bthd});
  const auto data = tensor.at("data").get<std::vector<float>>();
  for_each_element(result.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const Extents& n = result.extents();
    const std::int64_t row = heads_first
                                 ? (index.batch * n.heads + index.head) * n.tokens + index.token
                                 : (index.batch * n.tokens + index.token) * n.heads + index.head;
    result.set(index, f, data.at(static_cast<std::size_t>(row * n.features + f)));
  });
  return result;
}

}  // namespace rotary::test
