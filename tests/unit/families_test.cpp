// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/resolving.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

bool is_wrapper(const FamilyInfo& family) {
  const std::set<std::string_view> of_any_model = {"internvl_chat", "ovis", "ovis2_5"};
  return !family.text_model_type.empty() || of_any_model.contains(family.model_type);
}

std::vector<FamilyInfo> families() { return test::value_of(known_families()); }

// A config that resolves for any family but a wrapper. It has the layer count under every family's
// key, and layer types where needed.
std::string config_of(const FamilyInfo& family) {
  const std::set<std::string_view> with_listed_layers = {
      "jamba",        "kimi_linear", "minimax_m1", "minimax_text_01",
      "nemotron-nas", "nemotron_h",  "zamba",      "zamba2"};
  std::string members = test::member("model_type", test::json_text(family.model_type));
  members.append(R"(, "hidden_size": 4096, "num_attention_heads": 64, "head_dim": 80,
      "n_layer": 4, "num_hidden_layers": 4, "n_layers": 4, "num_layers": 4, "encoder_layers": 4,
      "num_transformer_layers": 4, "decoder_num_hidden_layers": 4,
      "decoder_layers": 4, "num_layers_per_stack": 4,
      "rotary_dim": 40, "depth": 4, "embed_dim": 1280, "num_heads": 16, "attention_head_dim": 128,
      "num_single_layers": 0,
      "memory_attention_hidden_size": 256, "memory_attention_num_attention_heads": 1,
      "memory_attention_num_layers": 4)");
  members.append(family.model_type == "ultrabert" ? R"(, "rope_theta": [20, 20, 20, 20])"
                                                  : R"(, "rope_theta": 20000)");
  if (with_listed_layers.contains(family.model_type))
    members.append(R"(, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"])");
  return test::json_object(members);
}

TEST(Families, EachHasOneRow) {
  std::set<std::string_view> names;
  for (const FamilyInfo& each : families()) {
    EXPECT_TRUE(names.insert(each.model_type).second) << each.model_type;
  }
  EXPECT_GE(names.size(), 190U);
  for (const FamilyInfo& each : families()) {
    if (!each.text_model_type.empty()) {
      EXPECT_TRUE(names.contains(each.text_model_type)) << each.model_type;
    }
  }
}

TEST(Families, EachResolvesUnlessItIsAWrapper) {
  for (const FamilyInfo& family : families()) {
    if (is_wrapper(family)) continue;
    SCOPED_TRACE(family.model_type);
    const ModelSpec model = test::resolved(config_of(family));
    ASSERT_EQ(model.layers.size(), 4U);
    for (const ModelRotary& rotary : model.rotary) {
      EXPECT_EQ(rotary.spec.pairing.get(), family.pairing);
      EXPECT_GT(rotary.spec.base.get(), 1);
    }
  }
}

// Related families may pair features differently, such as glm4 and glm4_moe.
TEST(Families, HaveThePairingsOfTheirClasses) {
  const std::map<std::string_view, Pairing> wanted = {
      {"llama", Pairing::half},
      {"glm", Pairing::interleaved},
      {"glm4", Pairing::interleaved},
      {"glm4_moe", Pairing::half},
      {"cohere", Pairing::interleaved},
      {"cohere2", Pairing::interleaved},
      {"gptj", Pairing::interleaved},
      {"codegen", Pairing::interleaved},
      {"helium", Pairing::interleaved},
      {"ernie4_5", Pairing::interleaved},
      {"ernie4_5_moe", Pairing::interleaved},
      {"llama4_text", Pairing::interleaved},
      {"deepseek_v2", Pairing::interleaved},
      {"deepseek_v3", Pairing::interleaved_to_half},
      {"glm4_moe_lite", Pairing::interleaved_to_half},
      {"minicpm3", Pairing::half},
      {"chatglm", Pairing::interleaved},
      {"moonshine", Pairing::interleaved},
      {"nanochat", Pairing::half}};
  std::size_t found = 0;
  for (const FamilyInfo& family : families()) {
    const auto row = wanted.find(family.model_type);
    if (row == wanted.end()) continue;
    ++found;
    EXPECT_EQ(family.pairing, row->second) << family.model_type;
  }
  EXPECT_EQ(found, wanted.size());
}

std::string base_text(const std::optional<double>& base) {
  if (!base) return "must be given";
  std::ostringstream text;
  text.precision(17);
  text << *base;
  return text.str();
}

std::string row_of(const FamilyInfo& family) {
  std::string row = "| `" + std::string(family.model_type) + "` | ";
  if (is_wrapper(family)) {
    row.append("around a language model | | |");
    if (!family.text_model_type.empty())
      row.append(" `").append(family.text_model_type).append("` unless it says otherwise");
    return row.append(" |");
  }
  if (family.pairing) {
    row.append(to_string(*family.pairing)).append(" | ").append(base_text(family.base));
  } else {
    row.append(to_string(family.encoding)).append(" |");
  }
  row.append(" | ").append(family.source.empty() ? "" : "`").append(family.source);
  row.append(family.source.empty() ? "its own code" : "`").append(" | ");
  return row.append(family.note).append(" |");
}

TEST(Families, ThePageShowsTheTable) {
  const std::string page = test::source_path("docs/families.md");
  std::ifstream file(page);
  ASSERT_TRUE(file) << page;
  std::vector<std::string> shown;
  for (std::string line; std::getline(file, line);) {
    if (line.substr(0, 3) == "| `") shown.push_back(line);
  }
  std::vector<std::string> wanted;
  for (const FamilyInfo& each : families()) wanted.push_back(row_of(each));
  ASSERT_EQ(shown.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(shown[i], wanted[i]);
}

}  // namespace
}  // namespace rotary
