// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/data/dataset.hpp"
#include "lab/tests/made_documents.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {
namespace {

TEST(Dataset, MustMatchItsManifest) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "data/two");
  const std::string text = "first second";
  write_text(folder / "data/two/text.bin", text);
  write_text(
      folder / "data/two/manifest.json",
      R"({"schema_version": 1, "name": "two", "origin": "here", "licence": "mine", "sha256": ")" +
          sha256_of(text) + R"(", "documents": [6, 6], "paths": ["a.txt", "b.txt"]})");
  const Dataset loaded = load_dataset(folder / "data", "two");
  EXPECT_EQ(loaded.train + loaded.validation, text);
  EXPECT_EQ(loaded.manifest.licence, "mine");
  EXPECT_EQ(loaded.manifest.origin, "here");
  EXPECT_TRUE(has_dataset(folder / "data", "two"));
  EXPECT_FALSE(has_dataset(folder / "data", "three"));
  const auto loads = [&](const std::string& name) {
    return failure_of([&] { (void)load_dataset(folder / "data", name); });
  };
  EXPECT_TRUE(has(loads("../up"), "got '../up'"));
  write_text(folder / "data/two/text.bin", "first secund");
  EXPECT_TRUE(has(loads("two"), "must have the SHA-256 of its manifest"));
  write_text(folder / "data/two/text.bin", "first");
  EXPECT_TRUE(has(loads("two"), "the bytes of its documents, 12, got 5"));
}

TEST(Batch, DependsOnSeedAndStepOnly) {
  const std::string text = made_text(3, 5'000);
  const BatchShape shape{.task = Task::causal_lm, .rows = 3, .tokens = 16};
  const Batch batch = training_batch(text, shape, 7, 11);
  EXPECT_EQ(batch.inputs, training_batch(text, shape, 7, 11).inputs);
  EXPECT_NE(batch.inputs, training_batch(text, shape, 7, 12).inputs);
  EXPECT_NE(batch.inputs, training_batch(text, shape, 8, 11).inputs);
  ASSERT_EQ(batch.inputs.size(), 48U);
  for (std::size_t n = 0; n < 48; ++n) {
    if (n % 16 == 15) continue;
    EXPECT_EQ(batch.targets[n], batch.inputs[n + 1]);
  }
}

TEST(Batch, PredictsFifteenPercentOfTheBytesAndHidesMostOfThem) {
  const std::string text = made_text(3, 50'000);
  const BatchShape shape{.task = Task::masked_lm, .rows = 64, .tokens = 64};
  const Batch batch = training_batch(text, shape, 1, 0);
  const Batch plain =
      training_batch(text, {.task = Task::causal_lm, .rows = 64, .tokens = 64}, 1, 0);
  ASSERT_EQ(batch.predicted.size(), batch.targets.size());
  // 614 of 4096 bytes are expected, with a standard deviation of 23.
  EXPECT_NEAR(static_cast<double>(batch.predicted.size()), 614, 5 * 23);
  std::size_t hidden = 0;
  for (std::size_t n = 0; n < batch.predicted.size(); ++n) {
    const auto at = static_cast<std::size_t>(batch.predicted[n]);
    EXPECT_EQ(batch.targets[n], plain.inputs[at]);
    hidden += batch.inputs[at] == mask_token ? 1U : 0U;
  }
  EXPECT_NEAR(static_cast<double>(hidden) / static_cast<double>(batch.predicted.size()), 0.8, 0.1);
  // Even the smallest batch must predict something, since a mean over nothing is NaN.
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_FALSE(training_batch(text, {.task = Task::masked_lm, .rows = 1, .tokens = 2}, 1, step)
                     .predicted.empty());
  }
}

TEST(Batch, RefusesTextShorterThanARow) {
  const BatchShape shape{.task = Task::causal_lm, .rows = 1, .tokens = 16};
  EXPECT_TRUE(has(failure_of([&] { (void)training_batch("sixteen bytes...", shape, 1, 0); }),
                  "at least 17 bytes"));
  EXPECT_EQ(training_batch("seventeen bytes..", shape, 1, 0).inputs.size(), 16U);
}

}  // namespace
}  // namespace rotary::lab
