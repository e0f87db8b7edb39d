// SPDX-License-Identifier: Apache-2.0
// attend on real threads: the same bits, and no data race between blocks.
#include <gtest/gtest.h>

#include "rotary/threads.hpp"
#include "support/attention/attended.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

TEST(AttendOnThreads, GivesTheSameBits) {
  const Threads threads = test::value_of(Threads::start(3));
  const test::AttentionShape shape{.queries = 30, .keys = 40, .features = 6, .value_features = 5};
  for (const test::EncodingSample& encoding : test::attention_encodings(shape)) {
    if (encoding.name != "rotary half" && encoding.name != "alibi" && encoding.name != "fire")
      continue;
    for (const std::int64_t queries : {1, 30}) {
      test::AttentionShape of = shape;
      of.queries = queries;
      test::Attended call({.shape = of, .encoding = encoding.encoding, .seed = 92});
      test::require(call.run());
      const std::vector<std::uint64_t> alone = call.bits();
      call.options().executor = threads.executor();
      for (int again = 0; again < 5; ++again) {
        test::require(call.run());
        EXPECT_EQ(call.bits(), alone) << encoding.name;
      }
    }
  }
}

}  // namespace
}  // namespace rotary
