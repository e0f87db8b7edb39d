// SPDX-License-Identifier: Apache-2.0
// Pairs of texts and their tokens: the grammar, pieces, batches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.hpp"
#include "lab/data/grammar.hpp"
#include "lab/data/pair_batches.hpp"
#include "lab/data/pieces.hpp"
#include "lab/process/program.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {
namespace {

using Texts = std::vector<std::string>;

std::string refusal(auto call) {
  try {
    call();
  } catch (const cli::Failure& failure) {
    return failure.what();
  }
  return "nothing failed";
}

TEST(Pairs, AreLinesWithOneTab) {
  EXPECT_EQ(pairs_of("a\tb\nc d\te").back().target, "e");
  EXPECT_NE(refusal([] { (void)pairs_of("a\tb\nno tab\n"); }).find("line 2"), std::string::npos);
  EXPECT_NE(refusal([] { (void)pairs_of("a\tb\tc\n"); }).find("line 1"), std::string::npos);
}

TEST(PairGrammar, IsTheSameForTheSameSeedAndTranslatesConsistently) {
  const PairText made = generate_pairs(1, 3000);
  EXPECT_EQ(made.text, generate_pairs(1, 3000).text);
  EXPECT_NE(made.text, generate_pairs(2, 3000).text);
  EXPECT_EQ(made.documents.size(), 300U);
  std::map<std::string, std::set<std::string>> translations;
  std::size_t longer = 0;
  for (const Pair& pair : pairs_of(made.text)) {
    translations[std::string(pair.source)].insert(std::string(pair.target));
    longer += pair.source.find(',') != std::string_view::npos ? 1U : 0U;
  }
  for (const auto& [source, targets] : translations) EXPECT_EQ(targets.size(), 1U) << source;
  // A third has a subordinate clause: 1000 with a standard deviation of 26.
  EXPECT_NEAR(static_cast<double>(longer), 1000, 5 * 26);
}

const Pieces& small_pieces() {
  static const Pieces pieces(train_pieces(generate_pairs(3, 1000).text, 400));
  return pieces;
}

TEST(Pieces, GiveBackEveryTextWhoseWordsAreOneSpaceApart) {
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

TEST(Pieces, AreTheSameForTheSameText) {
  const std::string text = generate_pairs(4, 500).text;
  EXPECT_TRUE(train_pieces(text, 350) == train_pieces(text, 350));
  EXPECT_LE(Pieces(train_pieces(text, 350)).count(), 350);
  EXPECT_NE(refusal([] { (void)Pieces("no model"); }).find("SentencePiece"), std::string::npos);
  EXPECT_NE(refusal([] { (void)train_pieces("", 350); }).find("a model of 350 pieces"),
            std::string::npos);
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

TEST(PairBatch, LeavesOutWhatIsLongerThanAModelSees) {
  const std::string text = generate_pairs(5, 200).text;
  const auto all = tokenize_pairs(text, small_pieces(), 1000);
  EXPECT_EQ(all.size(), 200U);
  const auto fits = [](const TokenPair& pair) {
    return pair.source.size() + 1 <= 20 && pair.target.size() + 1 <= 20;
  };
  EXPECT_EQ(std::ssize(tokenize_pairs(text, small_pieces(), 20)), std::ranges::count_if(all, fits));
}

TEST(PairOrder, SeesEachPairOnceInAnEpochAndIsAFunctionOfSeedAndStep) {
  const std::string text = generate_pairs(6, 500).text;
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
  // One that begins in the middle, another seed, and the step of another epoch.
  PairOrder resumed(pairs, 8, 1);
  EXPECT_EQ(at(resumed, batches + 5), at(order, batches + 5));
  PairOrder other(pairs, 8, 2);
  EXPECT_NE(at(other, 5), at(order, 5));
  EXPECT_NE(at(order, batches + 5), at(order, 5));
  EXPECT_NE(refusal([&] { PairOrder(pairs, 501, 1); }).find("got 500"), std::string::npos);
}

TEST(PairOrder, PutsTextsOfAboutOneLengthTogether) {
  const std::string text = generate_pairs(6, 2000).text;
  const auto pairs = tokenize_pairs(text, small_pieces(), 1000);
  PairOrder order(pairs, 16, 1);
  double padded = 0;
  double told = 0;
  for (std::int64_t step = 0; step < 100; ++step) {
    const PairBatch batch = batch_of(pairs, order.at(step));
    padded += static_cast<double>(batch.rows * batch.target_tokens);
    told += static_cast<double>(batch.target_count);
  }
  // At random some 40 % would be padding.
  EXPECT_LT(padded / told, 1.1);
}

// sacreBLEU's answers, as version 2.6 gives them.
class Bleu : public testing::Test {
 protected:
  void answer(std::string_view text) {
    write_text(folder_ / "scorer",
               fmt::format("#!/bin/sh\necho \"$@\" > '{}'\ncat <<'END'\n{}\nEND\n",
                           folder_ / "asked", text));
    std::filesystem::permissions(folder_ / "scorer", std::filesystem::perms::owner_all);
    setenv("ROTARY_LAB_SACREBLEU", (folder_ / "scorer").c_str(), 1);
  }
  ~Bleu() override { unsetenv("ROTARY_LAB_SACREBLEU"); }
  TemporaryFolder folder_;
};

TEST_F(Bleu, IsWhatTheProgramSays) {
  answer(R"({"name": "BLEU", "score": 27.300001, "confidence_mean": 27.2, "confidence_var": 0.9})");
  const auto score = score_bleu("r.txt", "h.txt");
  ASSERT_TRUE(score.has_value());
  EXPECT_EQ(score->bleu, 27.300001);
  EXPECT_EQ(score->half_width, 0.9);
  EXPECT_TRUE(read_text(folder_ / "asked").starts_with("r.txt -i h.txt --metrics bleu"));
}

TEST_F(Bleu, OfTwoIsComparedInPairs) {
  answer(R"([{"system": "Baseline: a", "BLEU": {"score": 27.3, "p_value": null, "mean": 27.2,
            "ci": 0.9}}, {"system": "b", "BLEU": {"score": 27.5, "p_value": 0.04, "mean": 27.4,
            "ci": 0.8}}])");
  const auto compared = compare_bleu("r.txt", std::vector<std::string>{"a.txt", "b.txt"});
  ASSERT_TRUE(compared.has_value());
  EXPECT_FALSE(compared->at(0).p_value.has_value());
  EXPECT_EQ(compared->at(1).score.bleu, 27.5);
  EXPECT_EQ(compared->at(1).p_value, 0.04);
  // Another number of systems than was asked about.
  EXPECT_FALSE(compare_bleu("r.txt", std::vector<std::string>{"a.txt"}).has_value());
}

TEST_F(Bleu, IsAbsentWhereTheProgramIsOrSaysNothing) {
  for (const char* text : {"", "no json", "[1, 2]", R"({"score": "high"})"}) {
    answer(text);
    EXPECT_FALSE(score_bleu("r.txt", "h.txt").has_value()) << text;
    EXPECT_FALSE(compare_bleu("r.txt", std::vector<std::string>{"a", "b"}).has_value()) << text;
  }
  setenv("ROTARY_LAB_SACREBLEU", (folder_ / "nothing").c_str(), 1);
  EXPECT_FALSE(score_bleu("r.txt", "h.txt").has_value());
  setenv("ROTARY_LAB_SACREBLEU", "/bin/false", 1);
  EXPECT_FALSE(score_bleu("r.txt", "h.txt").has_value());
}

}  // namespace
}  // namespace rotary::lab
