// SPDX-License-Identifier: Apache-2.0
// Dynamic NTK of Transformers keeps the frequencies of the longest context so far, until a context
// fits in the original one. Here the caller keeps the length, and must get equal frequencies.
#include <gtest/gtest.h>

#include <cstdint>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

// dynamic_frequency_update in modeling_rope_utils.py, lines 82 to 119.
std::int64_t next_length(std::int64_t length, std::int64_t tokens, std::int64_t original) {
  if (tokens > length) return tokens;
  return tokens < original ? original : length;
}

TEST(DynamicNtkState, FrequenciesFollowTheCallersLength) {
  const auto file = test::read_golden("dynamic_ntk_state_sequence");
  const auto& config = file.at("config");
  const auto original = config.at("max_position_embeddings").get<std::int64_t>();
  const RotarySpec spec{.head_dim = config.at("head_dim").get<std::int64_t>(),
                        .base = config.at("theta").get<double>(),
                        .pairing = Pairing::half,
                        .scaling = DynamicNtkScaling{.factor = config.at("factor").get<double>(),
                                                     .original_context_tokens = original}};
  std::int64_t length = original;
  for (const auto& call : file.at("calls")) {
    const auto tokens = call.at("max_position_id").get<std::int64_t>() + 1;
    SCOPED_TRACE("a forward pass of " + std::to_string(tokens) + " tokens");
    length = next_length(length, tokens, original);
    EXPECT_EQ(length, call.at("max_seq_len_cached").get<std::int64_t>());
    const Frequencies got = test::value_of(make_frequencies(spec, length));
    test::record_bits(got.inv_freq);
    const auto wanted = call.at("inv_freq_last").get<double>();
    EXPECT_NEAR(got.inv_freq.back(), wanted, wanted * 0x1p-20);  // 8 ulp
    // False if Transformers continues with the frequencies of an earlier, longer context.
    EXPECT_EQ(got.contexts.contains(tokens), length == tokens || length == original);
  }
}

}  // namespace
}  // namespace rotary
