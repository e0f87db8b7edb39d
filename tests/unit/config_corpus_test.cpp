// SPDX-License-Identifier: Apache-2.0
// The configs of fuzz/corpus/config. Each is wrong in one way (n_), or only looks wrong (y_).
#include <gtest/gtest.h>

#include "rotary/frequencies.hpp"
#include "support/corpus.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

TEST(ConfigCorpus, EachValidConfigHasFrequencies) {
  for (const test::CorpusFile& file : test::corpus_files("config", "y_")) {
    const auto model = resolve(file.bytes);
    ASSERT_TRUE(model) << file.name << ": " << model.error().message;
    ASSERT_FALSE(model->rotary.empty()) << file.name;
    for (const ModelRotary& rotary : model->rotary) {
      EXPECT_TRUE(make_frequencies(rotary.spec, rotary.trained_context_tokens.value_or(1)))
          << file.name;
    }
  }
}

TEST(ConfigCorpus, EachInvalidConfigIsRefused) {
  for (const test::CorpusFile& file : test::corpus_files("config", "n_")) {
    const auto model = resolve(file.bytes);
    ASSERT_FALSE(model) << file.name;
    EXPECT_FALSE(model.error().message.empty()) << file.name;
  }
}

}  // namespace
}  // namespace rotary
