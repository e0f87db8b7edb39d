// SPDX-License-Identifier: Apache-2.0
// Tests the functions that find a model card in the tool. test_models.py tests what each card says.
#include "cli/model_cards.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {
namespace {

bool is_near(std::string_view text, std::string_view name) {
  const std::vector<std::string_view> names = near_card_names(text);
  return std::ranges::find(names, name) != names.end();
}

TEST(ModelCards, AreSortedAndFoundByName) {
  const auto cards = model_cards();
  ASSERT_GE(cards.size(), 30u);
  EXPECT_EQ(std::ranges::adjacent_find(cards, std::ranges::greater_equal(), &ModelCard::name),
            cards.end());
  for (const ModelCard& card : cards) EXPECT_EQ(find_model_card(card.name), &card) << card.name;
  EXPECT_EQ(find_model_card(""), nullptr);
  EXPECT_EQ(find_model_card("llama-3.1-8"), nullptr);
  EXPECT_EQ(find_model_card("zzz"), nullptr);
}

TEST(ModelCards, ALlamaCardHasModelTypeSourceAndJson) {
  const ModelCard* card = find_model_card("llama-3.1-8b");
  ASSERT_NE(card, nullptr);
  EXPECT_EQ(card->model_type, "llama");
  EXPECT_TRUE(card->source.starts_with("mlc-ai/mlc-llm at 79d603f0")) << card->source;
  EXPECT_TRUE(card->json.starts_with("{\n  \"_source\": \"mlc-ai/mlc-llm at ")) << card->json;
  EXPECT_TRUE(card->json.ends_with("}\n"));
}

TEST(ModelCards, NearNamesIgnoreCaseSeparatorsAndTypos) {
  EXPECT_TRUE(is_near("Llama_3.1_8B", "llama-3.1-8b"));
  EXPECT_TRUE(is_near("llama-3.1-8b.json", "llama-3.1-8b"));
  EXPECT_TRUE(is_near("lama-3.1-8b", "llama-3.1-8b"));
  EXPECT_TRUE(is_near("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"));
  EXPECT_TRUE(is_near("kimi", "kimi-k2"));
  EXPECT_TRUE(is_near("quen", "qwen2.5-7b"));
  EXPECT_EQ(near_card_names("llama-3.1-8b").front(), "llama-3.1-8b");
}

TEST(ModelCards, FindsAtMostFiveNearNames) {
  EXPECT_LE(near_card_names("qwen").size(), 5u);
  EXPECT_TRUE(near_card_names("").empty());
  EXPECT_TRUE(near_card_names("xyzzy").empty());
  EXPECT_TRUE(near_card_names(std::string(1 << 20, '\xff')).empty());
  EXPECT_EQ(near_card_names_text("xyzzy"), "; `rotary models` lists the names");
  EXPECT_EQ(near_card_names_text("kimik2"), "; the nearest names: kimi-k2, kimi-k2.5");
}

}  // namespace
}  // namespace rotary::cli
