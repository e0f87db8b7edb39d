// SPDX-License-Identifier: Apache-2.0
// Translation pairs, their tokens (SentencePiece's pieces) and their batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/pair_batches.hpp"
#include "lab/data/pieces.hpp"
#include "lab/tests/made_documents.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {
namespace {

using Texts = std::vector<std::string>;

TEST(Pairs, AreLinesWithOneTab) {
  EXPECT_EQ(pairs_of("a\tb\nc d\te").back().target, "e");
  EXPECT_TRUE(has(failure_of([] { (void)pairs_of("a\tb\nno tab\n"); }), "line 2"));
  EXPECT_TRUE(has(failure_of([] { (void)pairs_of("a\tb\tc\n"); }), "line 1"));
}

std::string all_text(const Dataset& data) { return data.train + data.validation; }

const Pieces& small_pieces() {
  static const Pieces pieces(made_pairs(3, 1000).pieces);
  return pieces;
}

TEST(Pieces, RestoreTextsWithSingleSpaces) {
  const Pieces& pieces = small_pieces();
  const std::vector<std::string_view> texts = {"these dons ruls the don.",
                                               "Ünïcödé, ½ – „☃“ 🦆",
                                               "a",
                                               "",
                                               "<s> </s> <pad> <unk>",
                                               "none\xc2\xa0here",
                                               "x\x01y\ttab"};
  const auto tokens = pieces.encode(texts);
  EXPECT_EQ(pieces.decode(tokens), Texts(texts.begin(), texts.end()));
  for (const auto& of_text : tokens) {
    for (const std::int64_t token : of_text) {
      EXPECT_GT(token, end_piece);
      EXPECT_LT(token, pieces.count());
    }
  }
  const std::vector<std::string_view> spaces = {"  two   spaces "};
  EXPECT_EQ(pieces.decode(pieces.encode(spaces)), Texts{"two spaces"});
  std::vector<std::vector<std::int64_t>> marked = {tokens[0]};
  marked[0].insert(marked[0].begin(), begin_piece);
  marked[0].insert(marked[0].end(), {end_piece, padding_piece, padding_piece, 1 << 20});
  EXPECT_EQ(pieces.decode(marked), Texts{std::string(texts[0])});
  EXPECT_TRUE(pieces.encode({}).empty());
  EXPECT_TRUE(pieces.decode({}).empty());
}

TEST(Pieces, RefuseBytesThatAreNoModel) {
  EXPECT_TRUE(has(failure_of([] { return Pieces("no model").count(); }), "SentencePiece"));
}

TEST(PairBatch, HasMarkersAndPadding) {
  const std::vector<TokenPair> pairs = {{.text = {}, .source = {10, 11, 12}, .target = {20}},
                                        {.text = {}, .source = {13}, .target = {21, 22}}};
  const PairBatch batch = batch_of(pairs, std::vector<std::size_t>{1, 0});
  EXPECT_EQ(batch.sources, (std::vector<std::int64_t>{13, 3, 0, 0, 10, 11, 12, 3}));
  EXPECT_EQ(batch.inputs, (std::vector<std::int64_t>{2, 21, 22, 2, 20, 0}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{21, 22, 3, 20, 3, 0}));
  EXPECT_EQ(batch.target_count, 5);
}

TEST(PairBatch, LeavesOutTextsLongerThanAModelTakes) {
  const std::string text = all_text(made_pairs(5, 200));
  const auto all = tokenize_pairs(text, small_pieces(), 1000);
  EXPECT_EQ(all.size(), 200U);
  const auto fits = [](const TokenPair& pair) {
    return pair.source.size() + 1 <= 20 && pair.target.size() + 1 <= 20;
  };
  EXPECT_EQ(std::ssize(tokenize_pairs(text, small_pieces(), 20)), std::ranges::count_if(all, fits));
}

TEST(PairOrder, SeesNoPairTwiceInAnEpochAndDependsOnSeedAndStepOnly) {
  const std::string text = all_text(made_pairs(6, 500));
  const auto pairs = tokenize_pairs(text, small_pieces(), 1000);
  PairOrder order(pairs, 8, 1);
  const auto at = [&](PairOrder& of, std::int64_t step) {
    const auto rows = of.at(step);
    return std::vector(rows.begin(), rows.end());
  };
  const std::int64_t batches = 500 / 8;
  for (const std::int64_t epoch : {0, 1}) {
    std::set<std::size_t> seen;
    for (std::int64_t step = epoch * batches; step < (epoch + 1) * batches; ++step) {
      for (const std::size_t index : at(order, step)) seen.insert(index);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(8 * batches));
  }
  // A new PairOrder can start in the middle. The order depends on the seed and the epoch.
  PairOrder resumed(pairs, 8, 1);
  EXPECT_EQ(at(resumed, batches + 5), at(order, batches + 5));
  PairOrder other(pairs, 8, 2);
  EXPECT_NE(at(other, 5), at(order, 5));
  EXPECT_NE(at(order, batches + 5), at(order, 5));
  EXPECT_TRUE(has(failure_of([&] { PairOrder(pairs, 501, 1); }), "got 500"));
}

TEST(PairOrder, GroupsTextsOfSimilarLength) {
  const std::string text = all_text(made_pairs(6, 2000));
  const auto pairs = tokenize_pairs(text, small_pieces(), 1000);
  PairOrder order(pairs, 16, 1);
  double padded = 0;
  double told = 0;
  for (std::int64_t step = 0; step < 100; ++step) {
    const PairBatch batch = batch_of(pairs, order.at(step));
    padded += static_cast<double>(batch.rows * batch.target_tokens);
    told += static_cast<double>(batch.target_count);
  }
  // In random order about 40 % would be padding.
  EXPECT_LT(padded / told, 1.1);
}

}  // namespace
}  // namespace rotary::lab
