// SPDX-License-Identifier: Apache-2.0
// A command chooses one of a model's rotary embeddings.
#include "cli/model_input.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "apps/failure.hpp"

namespace rotary::cli {
namespace {

ModelRotary rotary_for(std::optional<std::string> layer_type) {
  return {.layer_type = std::move(layer_type),
          .spec = {.head_dim = 4, .base = 10000.0, .pairing = Pairing::half},
          .softmax_factor = 1,
          .trained_context_tokens = {}};
}

ModelSpec two_rotaries() {
  ModelSpec model;
  model.rotary = {rotary_for("full"), rotary_for("sliding")};
  model.layers = {{.rotary = 1}, {.rotary = 0}, {.rotary = 1}};
  return model;
}

std::string refusal_of(const ModelSpec& model, const LayerChoice& choice) {
  try {
    static_cast<void>(choose_rotary(model, choice));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::usage);
    return failure.what();
  }
  ADD_FAILURE() << "was accepted";
  return {};
}

TEST(ChooseRotary, NeedsNoChoiceWhenThereIsOne) {
  ModelSpec model;
  model.rotary = {rotary_for(std::nullopt)};
  EXPECT_EQ(choose_rotary(model, {}), 0u);
}

TEST(ChooseRotary, FollowsTheLayerOrItsType) {
  const ModelSpec model = two_rotaries();
  EXPECT_EQ(choose_rotary(model, {.layer = 0, .layer_type = {}}), 1u);
  EXPECT_EQ(choose_rotary(model, {.layer = 1, .layer_type = {}}), 0u);
  EXPECT_EQ(choose_rotary(model, {.layer = {}, .layer_type = "sliding"}), 1u);
}

TEST(ChooseRotary, NamesTheChoicesThatExist) {
  const ModelSpec model = two_rotaries();
  EXPECT_EQ(refusal_of(model, {}),
            "the model has 2 rotary embeddings: choose one with --layer-type (full, sliding)");
  EXPECT_EQ(refusal_of(model, {.layer = 3, .layer_type = {}}),
            "--layer must be one of 0 to 2, got 3");
  EXPECT_EQ(refusal_of(model, {.layer = -1, .layer_type = {}}),
            "--layer must be one of 0 to 2, got -1");
  EXPECT_EQ(refusal_of(model, {.layer = {}, .layer_type = "linear"}),
            "--layer-type must be one that the config names (full, sliding), got 'linear'");
  EXPECT_EQ(refusal_of(model, {.layer = 0, .layer_type = "full"}),
            "--layer and --layer-type exclude each other");
}

TEST(ChooseRotary, RefusesALayerOfAModelWithoutALayerList) {
  ModelSpec model = two_rotaries();
  model.layers.clear();
  EXPECT_NE(refusal_of(model, {.layer = 0, .layer_type = {}}).find("num_hidden_layers"),
            std::string::npos);
}

}  // namespace
}  // namespace rotary::cli
