// SPDX-License-Identifier: Apache-2.0
// Tasks with a choice of answers, their statistics, and cells that start from a finished cell.
#include "lab/torch/choice.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/data/dataset.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/begin_with.hpp"
#include "lab/torch/learner.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// Each document has its own letters and each folder its own punctuation mark. So the mean over a
// passage's bytes identifies the document and the folder.
const Dataset& lettered() {
  static const Dataset data = [] {
    Manifest manifest{.name = "lettered"};
    std::string text;
    for (std::int64_t n = 0; n < 200; ++n) {
      Random random(static_cast<std::uint64_t>(n));
      std::string letters;
      for (int letter = 0; letter < 3; ++letter)
        letters += static_cast<char>('a' + random.below(26));
      for (int byte = 0; byte < 1600; ++byte) {
        const bool mark = random.below(4) == 0;
        text += mark ? ".,!"[n % 3] : letters[static_cast<std::size_t>(random.below(3))];
      }
      manifest.documents.push_back(1600);
      manifest.paths.push_back(fmt::format("man{}/{}", n % 3, n));
    }
    return split(std::move(manifest), text);
  }();
  return data;
}

Cell tiny_choice(std::string_view task, const std::string& encoding, int steps) {
  Cell cell = tiny_cells(task, {encoding}, steps)[0];
  cell.training.validation_rows = 60;
  return cell;
}

class EveryChoiceTask : public Trained, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EveryChoiceTask,
                         testing::Values("triplets", "sections", "same_document", "similarity"),
                         [](const auto& task) { return std::string(task.param); });

TEST_P(EveryChoiceTask, IsLearned) {
  if (GetParam() == std::string("similarity")) GTEST_SKIP() << "needs words: see SimilarityCell";
  const Cell cell = tiny_choice(GetParam(), "rope", 120);
  const auto metrics = train("learns", cell, lettered()).metrics;
  const double accuracy = metrics.at("accuracy");
  // Guessing gets at most 30 of 60 right on average, with a standard deviation below 4.
  EXPECT_GT(accuracy, (30 + 4 * 4.0) / 60);
  EXPECT_LT(metrics.at("accuracy_low"), accuracy);
  EXPECT_GE(metrics.at("accuracy_high"), accuracy);
  EXPECT_EQ(metrics.at("examples"), 60);
  EXPECT_EQ(metrics.at("documents"), 10);
  EXPECT_EQ(metrics.contains("f1"), GetParam() == std::string("same_document"));
  if (GetParam() == std::string("same_document")) {
    EXPECT_GT(metrics.at("f1"), 0.6);
  }
}

class SimilarityCell : public Trained {};

TEST_F(SimilarityCell, IsLearned) {
  // Spaces turn the letters into words.
  Dataset data = lettered();
  for (std::string* text : {&data.train, &data.validation}) {
    for (std::size_t n = 0; n < text->size(); ++n) {
      if (n % 4 == 3) (*text)[n] = ' ';
    }
  }
  Cell cell = tiny_choice("similarity", "rope", 400);
  cell.training.batch = 16;
  const auto metrics = train("learns", cell, data).metrics;
  // By chance the standard deviation is 0.13 for 60 questions.
  EXPECT_GT(metrics.at("spearman"), 4 * 0.13);
  EXPECT_LT(metrics.at("spearman_low"), metrics.at("spearman"));
  EXPECT_FALSE(metrics.contains("accuracy"));
}

TEST_P(EveryChoiceTask, SharesOfABatchAddUpToTheBatch) {
  const auto learner = make_learner(tiny_choice(GetParam(), "rope", 1), lettered());
  const LossSum whole = learner->training_loss(3, {});
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t part = 0; part < 3; ++part) {
    const LossSum loss = learner->training_loss(3, {.part = part, .parts = 3});
    sum += loss.sum.item<double>();
    count += loss.count;
  }
  EXPECT_EQ(count, whole.count);
  EXPECT_NEAR(sum, whole.sum.item<double>(), 1e-5);
}

class Starts : public Trained {
 protected:
  Cell pre_train(const std::string& encoding) {
    Cell cell = tiny_cells("masked_lm", {encoding}, 5)[0];
    loss_ = train("", cell, lettered()).validation_loss;
    return cell;
  }

  // A cell that starts from the cell of pre_train().
  Cell fine_tune(std::string_view task, const std::string& encoding) {
    Cell cell = tiny_cells(task, {encoding}, 3)[0];
    cell.experiment = "fine";
    cell.start = {.experiment = "tiny", .encoding = encoding};
    return cell;
  }

  std::string checkpoint(const Cell& cell) { return start_checkpoint(cell, folder_.path()); }

  double loss_ = 0;
};

TEST_F(Starts, BeginWithTheLossOfTheFinishedCell) {
  for (const char* encoding : {"rope", "learned", "t5", "shaw"}) {
    SCOPED_TRACE(encoding);
    (void)pre_train(encoding);
    Cell cell = fine_tune("masked_lm", encoding);
    const auto learner = make_learner(cell, lettered());
    EXPECT_NE(learner->validation_loss(), loss_);
    begin_with(learner->model(), checkpoint(cell));
    EXPECT_EQ(learner->validation_loss(), loss_);
    // With a learning rate of 0 the new cell also ends with the finished cell's loss.
    cell = with_start(std::move(cell), folder_.path());
    cell.training.learning_rate = 0;
    EXPECT_EQ(train("", cell, lettered()).validation_loss, loss_);
  }
}

TEST_F(Starts, LeaveANewHeadAndAddedTableRowsUnchanged) {
  (void)pre_train("learned");
  Cell cell = fine_tune("triplets", "learned");
  cell.model.tokens = 48;
  const auto fresh = make_learner(cell, lettered());
  const auto started = make_learner(cell, lettered());
  begin_with(started->model(), checkpoint(cell));
  const auto before = fresh->model().named_parameters();
  const auto after = started->model().named_parameters();
  EXPECT_TRUE(at::equal(before["scores.weight"], after["scores.weight"]));
  EXPECT_TRUE(at::equal(before["segments"], at::zeros({2, 32})));
  EXPECT_FALSE(at::equal(before["layer_1.qkv.weight"], after["layer_1.qkv.weight"]));
  const auto rows = [](const auto& parameters, std::int64_t first, std::int64_t end) {
    return parameters["positions.learned"].slice(0, first, end);
  };
  EXPECT_FALSE(at::equal(rows(before, 0, 32), rows(after, 0, 32)));
  EXPECT_TRUE(at::equal(rows(before, 32, 48), rows(after, 32, 48)));
}

TEST_F(Starts, RefuseAnotherShape) {
  const Cell other = pre_train("rope");
  Cell cell = with_start(fine_tune("masked_lm", "rope"), folder_.path());
  EXPECT_EQ(cell.start_sha256, sha256_of(config_of(other)));
  EXPECT_TRUE(has(config_of(cell), cell.start_sha256));
  const auto refusal = [&](const std::string& path) {
    const auto learner = make_learner(cell, lettered());
    return failure_of([&] { begin_with(learner->model(), path); });
  };
  cell.model.d_model = 64;
  EXPECT_TRUE(has(refusal(checkpoint(cell)), "in the cell that starts from it, got"));
  cell.model.d_model = 32;
  cell.model.layers = 1;
  EXPECT_TRUE(has(refusal(checkpoint(cell)), "must have the weight layer_1."));
  write_text(folder_ / "broken", "no checkpoint");
  EXPECT_TRUE(has(refusal(folder_ / "broken"), "must be a checkpoint"));
}

TEST(Spearman, EqualsPublishedExamples) {
  // Wikipedia's example, hours of television and IQ: -29/165.
  const auto iq = torch::tensor({106, 100, 86, 101, 99, 103, 97, 113, 112, 110});
  const auto hours = torch::tensor({7, 27, 2, 50, 28, 29, 20, 12, 6, 17});
  // About ten roundings of numbers up to 1, in sums and roots.
  constexpr double near = 1e-15;
  EXPECT_NEAR(*spearman(iq, hours), -29.0 / 165, near);
  // From scipy.stats.spearmanr's documentation, with a tie.
  EXPECT_NEAR(*spearman(torch::tensor({1, 2, 3, 4, 5}), torch::tensor({5, 6, 7, 8, 7})),
              0.8207826816681233, near);
  EXPECT_FALSE(spearman(torch::tensor({1, 1}), torch::tensor({1, 2})));
  const Interval interval = spearman_interval(0.8, 600);
  EXPECT_NEAR(interval.low, 0.768, 0.002);
  EXPECT_NEAR(interval.high, 0.828, 0.002);
}

TEST(Wilson, EqualsPublishedExamples) {
  // Newcombe 1998, table I, method 3: 81 of 263 and 0 of 20, to four digits.
  EXPECT_NEAR(wilson_interval(81, 263).low, 0.2553, 5e-5);
  EXPECT_NEAR(wilson_interval(81, 263).high, 0.3662, 5e-5);
  EXPECT_NEAR(wilson_interval(0, 20).low, 0, 5e-5);
  EXPECT_NEAR(wilson_interval(0, 20).high, 0.1611, 5e-5);
}

}  // namespace
}  // namespace rotary::lab
