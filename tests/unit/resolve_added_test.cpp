// SPDX-License-Identifier: Apache-2.0
// Models that add biases or sinusoids and do not rotate. The expected numbers are from Transformers
// 5.23.0 with torch 2 in float32: build_mpt_alibi_tensor, build_alibi_tensor of BLOOM and Falcon,
// T5Attention._relative_position_bucket and the sinusoidal classes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/absolute.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::malformed;
using test::resolved;
using test::warns;

std::vector<double> slopes_of(std::string_view config) {
  const ModelSpec model = resolved(config);
  return test::value_of(alibi_slopes(std::get<Alibi>(model.relative_bias.value())));
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], std::abs(wanted[i]) * 0x1p-23) << i;
}

TEST(AddedEncodings, MptsSlopesAgreeWithTransformers) {
  expect_near(slopes_of(R"({"model_type": "mpt", "n_layers": 2, "n_heads": 12})"),
              {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.707106769,
               0.353553385, 0.176776692, 0.0883883461});
  expect_near(
      slopes_of(R"({"model_type": "mpt", "n_layers": 2, "n_heads": 16})"),
      {0.707106769, 0.5, 0.353553385, 0.25, 0.176776692, 0.125, 0.0883883461, 0.0625, 0.0441941731,
       0.03125, 0.0220970865, 0.015625, 0.0110485433, 0.0078125, 0.00552427163, 0.00390625});
}

TEST(AddedEncodings, MptsBiasMaxSetsTheSlopes) {
  constexpr std::string_view config =
      R"({"model_type": "mpt", "n_layers": 2, "n_heads": 12,
          "attn_config": {"alibi_bias_max": 16}})";
  expect_near(slopes_of(config), {0.25, 0.0625, 0.015625, 0.00390625, 0.0009765625, 0.000244140625,
                                  6.10351562e-05, 1.52587891e-05, 0.5, 0.125, 0.03125, 0.0078125});
  EXPECT_TRUE(warns(resolved(config), "alibi_bias_max 16"));
  malformed(
      R"({"model_type": "mpt", "n_layers": 2, "n_heads": 12,
          "attn_config": {"alibi_bias_max": 0}})",
      {"bias_max must be > 0"});
}

TEST(AddedEncodings, SlopesOfBloomFalconAndBaichuanAgreeWithTransformers) {
  constexpr std::string_view bloom = R"({"model_type": "bloom", "n_layer": 2, "n_head": 6})";
  expect_near(slopes_of(bloom), {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  EXPECT_EQ(std::get<Alibi>(*resolved(bloom).relative_bias).form, AlibiForm::key_position);
  // Falcon adds its biases before it divides scores by sqrt(head_dim), 8.
  expect_near(slopes_of(R"({"model_type": "falcon", "num_hidden_layers": 2, "alibi": true,
                            "num_attention_heads": 4, "hidden_size": 256})"),
              {0.03125, 0.0078125, 0.001953125, 0.00048828125});
  constexpr std::string_view baichuan = R"({"model_type": "baichuan", "num_hidden_layers": 2,
      "num_attention_heads": 40, "hidden_size": 5120})";
  EXPECT_EQ(slopes_of(baichuan), test::value_of(alibi_slopes(Alibi{.heads = 40})));
  EXPECT_EQ(std::get<Alibi>(*resolved(baichuan).relative_bias).form, AlibiForm::causal);
}

TEST(AddedEncodings, MissingKeysGiveNoEncoding) {
  EXPECT_FALSE(resolved(R"({"model_type": "bloom", "n_layer": 2})").relative_bias);
  EXPECT_FALSE(resolved(R"({"model_type": "marian", "encoder_layers": 2})").sinusoidal);
  EXPECT_FALSE(resolved(R"({"model_type": "falcon", "n_layer": 2, "n_head": 4, "head_dim": 64,
                            "hidden_size": 256})")
                   .relative_bias);
  malformed(R"({"model_type": "bloom", "n_layer": 2, "n_head": 0})", {"n_head", ">= 1"});
}

constexpr std::array<std::int64_t, 16> distances = {-1000, -128, -127, -64, -20, -8, -7,  -1,
                                                    0,     1,    7,    8,   20,  64, 127, 1000};

std::vector<std::int64_t> buckets_of(const T5Bias& bias) {
  std::vector<std::int64_t> buckets;
  for (const std::int64_t distance : distances)
    buckets.push_back(test::value_of(t5_bucket(distance, bias.buckets)));
  return buckets;
}

TEST(AddedEncodings, T5sBucketsAgreeWithTransformers) {
  for (const std::string_view type : {"t5", "mt5", "umt5", "switch_transformers", "longt5"}) {
    SCOPED_TRACE(type);
    const ModelSpec model = resolved(R"({"model_type": ")" + std::string(type) +
                                     R"(", "num_layers": 2, "num_heads": 12, "d_model": 768})");
    const auto& bias = std::get<T5Bias>(model.relative_bias.value());
    EXPECT_EQ(buckets_of(bias), (std::vector<std::int64_t>{15, 15, 15, 14, 10, 8, 7, 1, 0, 17, 23,
                                                           24, 26, 30, 31, 31}));
    EXPECT_EQ(bias.table.rows, 32);
    EXPECT_EQ(bias.table.features, 12);
    EXPECT_EQ(bias.table.data, nullptr);
  }
  const ModelSpec decoder =
      resolved(R"({"model_type": "pix2struct_text_model", "num_layers": 2, "num_heads": 12})");
  EXPECT_EQ(buckets_of(std::get<T5Bias>(decoder.relative_bias.value())),
            (std::vector<std::int64_t>{31, 31, 31, 26, 17, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  malformed(R"({"model_type": "t5", "num_layers": 2, "num_heads": 12,
                            "relative_attention_num_buckets": 31})",
            {"t5", "buckets must be even"});
}

std::vector<double> row_of(std::string_view config, std::int64_t position) {
  const Sinusoidal table = test::value_of(make_sinusoidal(resolved(config).sinusoidal.value()));
  std::vector<double> row(static_cast<std::size_t>(table.spec.dim), -2);
  const TokenExtents extents = {.batch = 1, .tokens = 1, .features = table.spec.dim};
  const TokensView view = {row.data(), DType::f64, extents, strides_btd(extents)};
  EXPECT_TRUE(
      fill_sinusoidal(view, table, ConsecutivePositions{.first = position, .tokens = 1}).ok());
  return row;
}

struct SinusoidalCase {
  std::string_view config;
  std::int64_t position;
  std::vector<double> row;  // the class's eight features
};

// Rows 3 and 5 of the classes' tables. marian: sines, then cosines. ends: like marian, but with
// 1/10000 as last frequency. transformer: sines and cosines in turn.
const std::vector<double> marian_3 = {0.14112000, 0.29552022, 0.02999550, 0.00300000,
                                      -0.9899925, 0.95533651, 0.99955004, 0.99999553};
const std::vector<double> ends_3 = {0.14112000, 0.13879810, 0.00646326, 0.00030000,
                                    -0.9899925, 0.99032068, 0.99997914, 1};
const std::vector<double> ends_5 = {-0.9589243, 0.23000173, 0.01077197, 0.00050000,
                                    0.28366220, 0.97319024, 0.99994198, 0.99999988};
const std::vector<double> transformer_3 = {0.14112000, -0.9899925, 0.29552022, 0.95533651,
                                           0.02999550, 0.99955004, 0.00300000, 0.99999553};

TEST(AddedEncodings, SinusoidsOfEachFamilyAgreeWithItsClass) {
  const std::vector<double> zeros(8);
  for (const SinusoidalCase& each : std::vector<SinusoidalCase>{
           {R"({"model_type": "marian", "encoder_layers": 2, "d_model": 8})", 3, marian_3},
           {R"({"model_type": "pegasus", "encoder_layers": 2, "d_model": 8})", 3, marian_3},
           {R"({"model_type": "ctrl", "n_layer": 2, "n_embd": 8})", 3, marian_3},
           {R"({"model_type": "pegasus_x", "encoder_layers": 2, "d_model": 8})", 3, ends_3},
           {R"({"model_type": "m2m_100", "encoder_layers": 2, "d_model": 8})", 1, ends_3},
           {R"({"model_type": "m2m_100", "encoder_layers": 2, "d_model": 8})", -1, zeros},
           {R"({"model_type": "nllb-moe", "encoder_layers": 2, "d_model": 8})", 1, ends_3},
           {R"({"model_type": "fsmt", "encoder_layers": 2, "d_model": 8, "pad_token_id": 1})", 1,
            ends_3},
           {R"({"model_type": "speech_to_text", "encoder_layers": 2, "d_model": 8,
                "pad_token_id": 3})",
            1, ends_5},
           {R"({"model_type": "kosmos_2_text_model", "layers": 2, "embed_dim": 8})", 1, ends_3},
           {R"({"model_type": "trocr", "decoder_layers": 2, "d_model": 8,
                "use_learned_position_embeddings": false})",
            1, ends_3},
           {R"({"model_type": "xglm", "num_layers": 2, "d_model": 8, "pad_token_id": 0})", 1,
            ends_3},
           {R"({"model_type": "xlm", "n_layers": 2, "emb_dim": 8, "sinusoidal_embeddings": true})",
            3, transformer_3},
           {R"({"model_type": "distilbert", "n_layers": 2, "dim": 8,
                "sinusoidal_pos_embds": true})",
            3, transformer_3},
           {R"({"model_type": "videomae", "num_hidden_layers": 2, "hidden_size": 8})", 3,
            transformer_3},
           {R"({"model_type": "musicgen", "decoder": {"num_hidden_layers": 2, "hidden_size": 8}})",
            3,
            {-0.9899925, 0.99032068, 0.99997914, 1, 0.14112000, 0.13879810, 0.00646326,
             0.00030000}}}) {
    SCOPED_TRACE(each.config);
    const std::vector<double> row = row_of(each.config, each.position);
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(row[i], each.row[i], 1e-7) << i;
  }
  malformed(R"({"model_type": "m2m_100", "encoder_layers": 2, "d_model": 8,
                            "pad_token_id": -1})",
            {"pad_token_id must be in 0.."});
  malformed(R"({"model_type": "pegasus_x", "encoder_layers": 2, "d_model": 2})",
            {"d_model", "dim must be"});
}

TEST(AddedEncodings, LearnedVectorsGiveNoTable) {
  for (const std::string_view config :
       {R"({"model_type": "xlm", "n_layers": 2, "emb_dim": 8})",
        R"({"model_type": "trocr", "decoder_layers": 2, "d_model": 8})",
        R"({"model_type": "distilbert", "n_layers": 2, "dim": 8})"}) {
    SCOPED_TRACE(config);
    const ModelSpec model = resolved(config);
    EXPECT_EQ(test::layers_of(model), "l l");
    EXPECT_FALSE(model.sinusoidal);
  }
}

// These families use convolutions, or relative encodings that ModelSpec cannot describe.
TEST(AddedEncodings, FamiliesThatModelSpecCannotDescribeAreRefused) {
  for (const std::string_view type : {"deberta-v2", "mpnet", "beit", "wav2vec2", "udop", "xlnet"}) {
    test::not_supported(test::model_with(type), {"model_type must be one of", type});
  }
}

}  // namespace
}  // namespace rotary
