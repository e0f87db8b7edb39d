// SPDX-License-Identifier: Apache-2.0
// Rotates q and k by a model's config. Compares with Transformers' float32 results, whose float32
// angle limits the agreement: at position 131071 it is off by more than 1e-3.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotary.hpp"
#include "rotary/spec_json.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

struct Golden {
  std::string name;
  std::string model_type;
};

class RotateGolden : public testing::TestWithParam<Golden> {};

// GPT-J's file lists config values without a config.
nlohmann::json config_of(const nlohmann::json& file) {
  if (file.contains("config")) return file.at("config");
  const auto& shape = file.at("q").at("shape");  // [B, T, H, D]
  return {{"n_head", shape.at(2)},
          {"n_embd", shape.at(2).get<int>() * shape.at(3).get<int>()},
          {"rotary_dim", file.at("rotary_dim")}};
}

// 1e-4 up to position 1000; beyond it the error of a float32 angle and frequency.
double tolerance_at(std::int64_t position, double inv_freq, double attention_factor, double hypot) {
  if (position <= 1000) return 1e-4;
  const double angle = static_cast<double>(position) * std::abs(inv_freq);
  return (0x1p-21 + 4 * 0x1p-23 * attention_factor * angle) * hypot;
}

void expect_agreement(const Tensor& got, const Tensor& wanted, const Tensor& src,
                      const Frequencies& frequencies, const std::vector<std::int64_t>& positions) {
  const HeadWindow& window = frequencies.window;
  test::for_each_element(got.extents(), [&](const HeadIndex& index, std::int64_t f) {
    if (!test::turns(window, f)) {
      ASSERT_EQ(got.bits_at(index, f), wanted.bits_at(index, f)) << "feature " << f;
    }
  });
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    const auto [x, y] = test::features_read(window, Direction::forward, pair);
    const auto [first, second] = test::features_written(window, Direction::forward, pair);
    const Extents heads{got.extents().batch, got.extents().tokens, got.extents().heads, 1};
    test::for_each_element(heads, [&, x = x, y = y, first = first, second = second](
                                      const HeadIndex& index, std::int64_t) {
      const std::int64_t position = positions[static_cast<std::size_t>(index.token)];
      const double tolerance = tolerance_at(
          position, frequencies.inv_freq[static_cast<std::size_t>(pair)],
          frequencies.attention_factor, std::hypot(src.at(index, x), src.at(index, y)));
      for (const std::int64_t f : {first, second}) {
        ASSERT_NEAR(got.at(index, f), wanted.at(index, f), tolerance)
            << "position " << position << " head " << index.head << " feature " << f;
      }
    });
  }
}

// Rotates the file's q and k and compares with its q_out and k_out. arranged() reorders the
// features of q_out and k_out as the spec's pairing stores them.
template <class Arranged>
void expect_outputs(const nlohmann::json& file, const RotarySpec& spec, Arranged arranged) {
  const Frequencies frequencies = test::value_of(make_frequencies(spec));
  const auto positions = file.at("positions").get<std::vector<std::int64_t>>();
  const Rotations rotations = test::rotations_of(frequencies, positions_of(std::span(positions)));
  const auto layout = file.at("layout").get<std::string>();

  const Tensor q = test::read_tensor(file.at("q"), layout);
  const Tensor k = test::read_tensor(file.at("k"), layout);
  Tensor q_turned = q;
  Tensor k_turned = k;
  test::require(rotate_qk(q_turned.view(), k_turned.view(), rotations));
  test::record_bits(q_turned.all_bits());
  test::record_bits(k_turned.all_bits());
  expect_agreement(q_turned, arranged(test::read_tensor(file.at("q_out"), layout)), q, frequencies,
                   positions);
  expect_agreement(k_turned, arranged(test::read_tensor(file.at("k_out"), layout)), k, frequencies,
                   positions);
}

const auto as_they_are = [](const Tensor& tensor) { return tensor; };

TEST_P(RotateGolden, AgreesOnQAndK) {
  const auto file = test::read_golden(GetParam().name);
  expect_outputs(file, test::resolved_spec(config_of(file), GetParam().model_type), as_they_are);
}

// NanoChat's rotate_half is cat(x2, -x1).
TEST(RotateGoldenSpecs, NanoChatRotatesTheOtherWay) {
  expect_outputs(
      test::read_golden("nanochat_negative_rotation"),
      {.head_dim = 64, .base = 10000.0, .pairing = Pairing::half, .sense = Sense::negative},
      as_they_are);
}

// DeepSeek-V2-Lite rotates 64 features (q_pe, k_pe). Both mscales are equal, so A = 1.
RotarySpec deepseek(Pairing pairing) {
  return {
      .head_dim = 64,
      .base = 10000.0,
      .pairing = pairing,
      .scaling = YarnScaling{
          .factor = 40, .original_context_tokens = 4096, .mscale = 0.707, .mscale_all_dim = 0.707}};
}

TEST(RotateGoldenSpecs, DeepseekV2KeepsTheFeatureOrder) {
  expect_outputs(test::read_golden("deepseek_v2_complex_interleaved"),
                 deepseek(Pairing::interleaved), as_they_are);
}

// DeepSeek-V3 rotates the same pairs by the same angles, then moves the even features to the front.
TEST(RotateGoldenSpecs, DeepseekV3PutsTheEvenFeaturesFirst) {
  expect_outputs(
      test::read_golden("deepseek_v2_complex_interleaved"), deepseek(Pairing::interleaved_to_half),
      [](const Tensor& in_order) {
        Tensor permuted = in_order;
        test::for_each_element(in_order.extents(), [&](const HeadIndex& index, std::int64_t f) {
          permuted.set_bits(index, f % 2 == 0 ? f / 2 : 32 + f / 2, in_order.bits_at(index, f));
        });
        return permuted;
      });
}

INSTANTIATE_TEST_SUITE_P(Transformers, RotateGolden,
                         testing::Values(Golden{"llama_half_split", "llama"},
                                         Golden{"llama_linear4", "llama"},
                                         Golden{"llama31_scaled", "llama"},
                                         Golden{"llama_yarn4_mscale", "llama"},
                                         Golden{"gpt_neox_partial25", "gpt_neox"},
                                         Golden{"gptj_interleaved_partial", "gptj"}),
                         [](const auto& golden) { return golden.param.name; });

// inv_freq under Numerics::transformers has the bits of Transformers' own functions, unless torch's
// pow misses the nearest float32.

std::vector<double> frequencies_of(const nlohmann::json& golden) {
  const RotarySpec spec = test::value_of(parse_rotary_spec(golden.at("spec").dump()));
  std::optional<std::int64_t> context;
  if (!golden.at("context_tokens").is_null()) context = golden.at("context_tokens");
  return test::value_of(make_frequencies(spec, context)).inv_freq;
}

// The difference in float32 units in the last place.
double units_apart(double got, double wanted) {
  const auto number = static_cast<float>(wanted);
  const float next = std::nextafter(number, std::numeric_limits<float>::infinity());
  return std::abs(got - wanted) / static_cast<double>(next - number);
}

struct Agreement {
  int frequencies = 0;
  int equal = 0;
};

TEST(Float32Frequencies, AreWithin2UlpOfTransformers) {
  const auto file = test::read_golden("float32_frequencies");
  std::map<std::string, Agreement> rules;
  for (const auto& golden : file.at("cases")) {
    SCOPED_TRACE(golden.at("spec").dump().substr(0, 300));
    const auto got = frequencies_of(golden);
    const auto wanted = golden.at("inv_freq").get<std::vector<double>>();
    test::record_bits(got);
    ASSERT_EQ(got.size(), wanted.size());
    Agreement& rule = rules[golden.at("rule")];
    for (std::size_t pair = 0; pair < got.size(); ++pair) {
      ++rule.frequencies;
      rule.equal += got[pair] == wanted[pair] ? 1 : 0;
      EXPECT_LE(units_apart(got[pair], wanted[pair]), 2) << "pair " << pair;
    }
  }
  EXPECT_EQ(rules.size(), 7U);
  for (const auto& [name, rule] : rules) {
    RecordProperty(name + "_equal", rule.equal);
    RecordProperty(name, rule.frequencies);
    // Each torch pow misses the nearest float32 about once in 100; dynamic NTK uses two.
    EXPECT_GE(rule.equal, 0.975 * rule.frequencies) << name;
  }
}

}  // namespace
}  // namespace rotary
