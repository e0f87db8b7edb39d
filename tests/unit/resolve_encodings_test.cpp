// SPDX-License-Identifier: Apache-2.0
// Families that do not rotate, or that leave it to the config: positions enter by name.
#include <gtest/gtest.h>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::layers_of;
using test::malformed;
using test::model_with;
using test::not_supported;
using test::resolved;
using test::warns;

TEST(Encodings, ByFamily) {
  struct Case {
    std::string_view config;
    LayerEncoding encoding;
  };
  for (const auto& [config, encoding] : {
           Case{R"({"model_type": "bloom", "n_layer": 2})", LayerEncoding::alibi},
           Case{R"({"model_type": "mpt", "n_layers": 2})", LayerEncoding::alibi},
           Case{R"({"model_type": "t5", "num_layers": 2})", LayerEncoding::t5_bias},
           Case{R"({"model_type": "gpt2", "n_layer": 2})", LayerEncoding::learned},
           Case{R"({"model_type": "opt", "num_hidden_layers": 2})", LayerEncoding::learned},
           Case{R"({"model_type": "bert", "num_hidden_layers": 2})", LayerEncoding::learned},
           Case{R"({"model_type": "marian", "encoder_layers": 2})", LayerEncoding::sinusoidal},
           Case{R"({"model_type": "distilbert", "n_layers": 2, "sinusoidal_pos_embds": true})",
                LayerEncoding::sinusoidal},
       }) {
    SCOPED_TRACE(config);
    const ModelSpec model = resolved(config);
    EXPECT_TRUE(model.rotary.empty());
    ASSERT_EQ(model.layers.size(), 2U);
    EXPECT_EQ(model.layers[1].encoding, encoding);
    EXPECT_TRUE(model.warnings.empty());
  }
  malformed(R"({"model_type": "bloom"})", {"n_layer must be given"});
}

TEST(Encodings, FalconRotatesUnlessItSaysAlibi) {
  const ModelSpec rotary = resolved(model_with("falcon", R"("alibi": false)"));
  EXPECT_EQ(layers_of(rotary), "R0 R0 R0 R0");
  EXPECT_EQ(rotary.rotary.front().spec.pairing.get(), Pairing::half);
  const ModelSpec alibi = resolved(model_with("falcon", R"("alibi": true)"));
  EXPECT_EQ(layers_of(alibi), "a a a a");
  EXPECT_TRUE(alibi.rotary.empty());
  malformed(model_with("falcon", R"("alibi": 1)"), {"alibi", "true or false"});
}

TEST(Encodings, EsmRotatesIfItSaysSo) {
  EXPECT_EQ(layers_of(resolved(model_with("esm", R"("position_embedding_type": "rotary")"))),
            "R0 R0 R0 R0");
  EXPECT_EQ(layers_of(resolved(model_with("esm"))), "l l l l");
  not_supported(model_with("esm", R"("position_embedding_type": "relative_key")"),
                {"position_embedding_type", "rotary or absolute", "relative_key"});
  not_supported(model_with("bert", R"("position_embedding_type": "relative_key")"),
                {"position_embedding_type", "absolute"});
}

// The original code has encodings behind attn_config that Transformers does not have.
TEST(Encodings, MptWithoutAlibiIsRefused) {
  not_supported(model_with("mpt", R"("attn_config": {"alibi": false})"),
                {"attn_config.alibi", "false"});
  EXPECT_EQ(layers_of(resolved(model_with("mpt", R"("attn_config": {"alibi": true})"))), "a a a a");
}

// 7B rotates and 13B does not, and no key says which.
TEST(Encodings, BaichuanIsToldByItsSize) {
  const auto config = [](std::string_view hidden_size, std::string_view heads) {
    return R"({"model_type": "baichuan", "num_hidden_layers": 1, "hidden_size": )" +
           std::string(hidden_size) + R"(, "num_attention_heads": )" + std::string(heads) + "}";
  };
  const ModelSpec small = resolved(config("4096", "32"));
  EXPECT_EQ(layers_of(small), "R0");
  EXPECT_EQ(small.rotary.front().spec.head_dim, 128);
  EXPECT_TRUE(warns(small, "no key of a Baichuan config"));
  EXPECT_EQ(layers_of(resolved(config("5120", "40"))), "a");
  not_supported(config("1024", "16"), {"4096", "5120", "got 1024"});
}

}  // namespace
}  // namespace rotary
