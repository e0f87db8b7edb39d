// SPDX-License-Identifier: Apache-2.0
// From config to rotated q and k, against what huggingface/transformers computed in float32.
// Its float32 angle is what limits the agreement: at position 131071 it is off by more than 1e-3.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "golden/golden_file.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
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

// GPT-J's file names the numbers that its config would hold.
nlohmann::json config_of(const nlohmann::json& file) {
  if (file.contains("config")) return file.at("config");
  const auto& shape = file.at("q").at("shape");  // [B, T, H, D]
  return {{"n_head", shape.at(2)},
          {"n_embd", shape.at(2).get<int>() * shape.at(3).get<int>()},
          {"rotary_dim", file.at("rotary_dim")}};
}

// Up to position 1000: 1e-4. Beyond: the error of a float32 angle made of a float32 frequency.
double tolerance_at(std::int64_t position, double inv_freq, double attention_factor, double hypot) {
  if (position <= 1000) return 1e-4;
  const double angle = static_cast<double>(position) * inv_freq;
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
    const auto [first, second] = test::features_read(window, Direction::forward, pair);
    const Extents heads{.batch = got.extents().batch,
                        .tokens = got.extents().tokens,
                        .heads = got.extents().heads,
                        .features = 1};
    test::for_each_element(heads, [&, first = first, second = second](const HeadIndex& index,
                                                                      std::int64_t) {
      const std::int64_t position = positions[static_cast<std::size_t>(index.token)];
      const double tolerance = tolerance_at(
          position, frequencies.inv_freq[static_cast<std::size_t>(pair)],
          frequencies.attention_factor, std::hypot(src.at(index, first), src.at(index, second)));
      for (const std::int64_t f : {first, second}) {
        ASSERT_NEAR(got.at(index, f), wanted.at(index, f), tolerance)
            << "position " << position << " head " << index.head << " feature " << f;
      }
    });
  }
}

TEST_P(RotateGolden, AgreesOnQAndK) {
  const auto file = test::read_golden(GetParam().name);
  const RotarySpec spec = test::resolved_spec(config_of(file), GetParam().model_type);
  const Frequencies frequencies = test::value_of(make_frequencies(spec));
  const auto positions = file.at("positions").get<std::vector<std::int64_t>>();
  const Rotations rotations = test::rotations_of(frequencies, positions_of(std::span(positions)));
  const auto layout = file.at("layout").get<std::string>();

  const Tensor q = test::read_tensor(file.at("q"), layout);
  const Tensor k = test::read_tensor(file.at("k"), layout);
  Tensor q_turned = q;
  Tensor k_turned = k;
  test::require(rotate_qk(q_turned.view(), k_turned.view(), rotations));
  expect_agreement(q_turned, test::read_tensor(file.at("q_out"), layout), q, frequencies,
                   positions);
  expect_agreement(k_turned, test::read_tensor(file.at("k_out"), layout), k, frequencies,
                   positions);
}

INSTANTIATE_TEST_SUITE_P(Transformers, RotateGolden,
                         testing::Values(Golden{"llama_half_split", "llama"},
                                         Golden{"llama_linear4", "llama"},
                                         Golden{"llama31_scaled", "llama"},
                                         Golden{"llama_yarn4_mscale", "llama"},
                                         Golden{"gpt_neox_partial25", "gpt_neox"},
                                         Golden{"gptj_interleaved_partial", "gptj"}),
                         [](const auto& golden) { return golden.param.name; });

}  // namespace
}  // namespace rotary
