// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/translation.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/finite_differences.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// Compared sums have at most a few hundred products of numbers up to 10, in another order or with
// added zeros. Each operation rounds within 2^-53.
constexpr double bound = 1e-12;

constexpr ModelConfig small = {
    .task = Task::translation, .d_model = 16, .layers = 2, .heads = 2, .tokens = 12};
constexpr std::int64_t small_pieces = 40;

// Source and target lengths are 3 and 9, then 8 and 4.
std::vector<TokenPair> two_pairs() {
  return {{.text = {}, .source = {5, 6, 7}, .target = {8, 9, 10, 11, 12, 13, 14, 15, 16}},
          {.text = {}, .source = {17, 18, 19, 20, 21, 22, 23, 24}, .target = {25, 26, 27, 39}}};
}

PairBatch batch_of_rows(std::vector<std::size_t> rows) { return batch_of(two_pairs(), rows); }

EncoderDecoder make_model(const NamedEncoding& named) {
  return EncoderDecoder(small, parse_encoding(settings_for_differences(named), small.head_dim()),
                        small_pieces, 1);
}

// A model in f64, with scores large enough to matter.
EncoderDecoder awake_model(const NamedEncoding& named) {
  EncoderDecoder model = make_model(named);
  enlarge_scores(*model);
  return model;
}

TEST(EncoderDecoder, PaddingChangesNoLoss) {
  const torch::NoGradGuard no_gradient;
  for (const NamedEncoding& named : named_encodings()) {
    SCOPED_TRACE(named.name);
    EncoderDecoder model = awake_model(named);
    const auto together = translation_losses(model, batch_of_rows({0, 1}));
    for (const std::int64_t row : {0, 1}) {
      const auto alone = translation_losses(model, batch_of_rows({static_cast<std::size_t>(row)}));
      const std::int64_t tokens = alone.size(1);
      const auto padded = together.select(0, row);
      EXPECT_LT((padded.slice(0, 0, tokens) - alone[0]).abs().max().item<double>(), bound);
      EXPECT_EQ(padded.slice(0, tokens).abs().sum().item<double>(), 0);
    }
    const LossSum smoothed = smoothed_loss(model, batch_of_rows({0, 1}));
    const double apart = smoothed_loss(model, batch_of_rows({0})).sum.item<double>() +
                         smoothed_loss(model, batch_of_rows({1})).sum.item<double>();
    EXPECT_NEAR(smoothed.sum.item<double>(), apart, 100 * bound);
    EXPECT_EQ(smoothed.count, 15);
  }
}

TEST(EncoderDecoder, SeesTheFullSourceAndEarlierTargets) {
  const torch::NoGradGuard no_gradient;
  for (const NamedEncoding& named : named_encodings()) {
    SCOPED_TRACE(named.name);
    EncoderDecoder model = awake_model(named);
    const auto losses = [&](PairBatch batch, std::size_t source, std::size_t input) {
      batch.sources[source] = 30;
      batch.inputs[input] = 31;
      return translation_losses(model, batch)[0];
    };
    const PairBatch batch = batch_of_rows({1});
    PairBatch same = batch;
    same.sources[0] = 30;
    same.inputs[0] = 31;
    const auto as_it_was = losses(same, 0, 0);
    // The source's last token affects even the first target.
    EXPECT_NE(losses(same, 7, 0)[0].item<double>(), as_it_was[0].item<double>());
    // Input 3 affects targets from 3 on, and none before.
    const auto changed = losses(same, 0, 3);
    EXPECT_LT((changed - as_it_was).slice(0, 0, 3).abs().max().item<double>(), bound);
    EXPECT_GT((changed - as_it_was)[3].abs().item<double>(), 1e-9);
  }
}

TEST(Translate, RowsAreTranslatedIndependently) {
  EncoderDecoder model = make_model(named_encodings()[0]);
  const auto both = translate(model, batch_of_rows({0, 1}), 7);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(translate(model, batch_of_rows({0}), 7)[0], both[0]);
  EXPECT_EQ(translate(model, batch_of_rows({1}), 7)[0], both[1]);
  EXPECT_LE(both[0].size(), 7U);
}

Cell tiny_translation(const char* name) { return tiny_cells("translation", {name}, 40)[0]; }

class Translating : public Trained {};

TEST_F(Translating, LearnsAndWritesTexts) {
  for (const char* name : {"rope", "sinusoidal"}) {
    SCOPED_TRACE(name);
    const Cell cell = tiny_translation(name);
    const Outcome outcome = train("learns", cell, small_pairs());
    // Uniform over 400 pieces would be ln 400 nats, 6.0.
    EXPECT_LT(outcome.validation_loss, 5);
    EXPECT_GT(outcome.validation_loss, 0.5);
    EXPECT_DOUBLE_EQ(outcome.metrics.at("perplexity"), std::exp(outcome.validation_loss));
    ASSERT_EQ(outcome.lengths.size(), 1U);
    EXPECT_EQ(outcome.lengths[0].windows.size(), 8U);
    const std::string folder = folder_ / ("learns/" + folder_of(cell) + "/");
    const std::string references = read_text(folder + "references.txt");
    const std::string hypotheses = read_text(folder + "hypotheses.txt");
    EXPECT_EQ(std::ranges::count(references, '\n'), 8);
    EXPECT_EQ(std::ranges::count(hypotheses, '\n'), 8);
    EXPECT_TRUE(has(small_pairs().validation, references.substr(0, references.find('\n'))));
  }
}

TEST_F(Translating, RefusesPairsThatDoNotFit) {
  const auto says = [](const Cell& cell, const Dataset& data) {
    return failure_of([&] { return make_learner(cell, data); });
  };
  const Cell cell = tiny_translation("rope");
  EXPECT_TRUE(has(says(cell, split({.name = "prose"}, "some text")), "needs pairs"));
  Cell narrow = cell;
  narrow.model.tokens = 3;
  EXPECT_TRUE(has(says(narrow, small_pairs()), "model.tokens"));
  Cell large = cell;
  large.training.batch = 5000;
  EXPECT_TRUE(has(says(large, small_pairs()), "a batch of 5000 pairs"));
}

}  // namespace
}  // namespace rotary::lab
