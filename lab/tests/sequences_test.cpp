// SPDX-License-Identifier: Apache-2.0
// The tasks copy, reverse and addition: their data, and the learner's count of right answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/begin_with.hpp"
#include "lab/torch/decoder.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// One row as text: the question, the expected answer with its end, and the model's inputs.
struct Row {
  std::string question;
  std::string answer;
  std::string inputs;
};

std::vector<Row> rows_of(const Batch& batch) {
  std::vector<Row> rows(static_cast<std::size_t>(batch.shape.rows));
  const auto tokens = static_cast<std::size_t>(batch.shape.tokens);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t n = 0; n < tokens; ++n)
      rows[row].inputs += static_cast<char>(batch.inputs[row * tokens + n]);
  }
  for (std::size_t n = 0; n < batch.predicted.size(); ++n) {
    const auto index = static_cast<std::size_t>(batch.predicted[n]);
    Row& row = rows[index / tokens];
    if (row.answer.empty()) row.question = row.inputs.substr(0, index % tokens + 1);
    row.answer += static_cast<char>(batch.targets[n]);
  }
  return rows;
}

std::int64_t number_from_lowest_digit(std::string digits) {
  std::ranges::reverse(digits);
  return std::stoll(digits);
}

// Computes the answer with other code than the lab's.
std::string expected_answer(Task task, const std::string& question) {
  const std::string text = question.substr(0, question.size() - 1);
  if (task == Task::copy) return text;
  if (task == Task::reverse) return {text.rbegin(), text.rend()};
  const std::size_t plus = text.find('+');
  std::string sum = std::to_string(number_from_lowest_digit(text.substr(0, plus)) +
                                   number_from_lowest_digit(text.substr(plus + 1)));
  std::ranges::reverse(sum);
  sum.resize(plus + 1, '0');
  return sum;
}

class EverySequence : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EverySequence,
                         testing::Values(Task::copy, Task::reverse, Task::addition),
                         [](const auto& task) { return std::string(to_string(task.param)); });

TEST_P(EverySequence, EachQuestionIsFollowedByItsAnswerAndPadding) {
  const SequenceShape shape{.task = GetParam(), .rows = 200, .symbols = 6};
  const Batch batch = sequence_training_batch(shape, 3, 5);
  ASSERT_EQ(batch.shape.tokens, sequence_tokens(shape.task, shape.symbols));
  ASSERT_EQ(batch.inputs.size(), static_cast<std::size_t>(200 * batch.shape.tokens));
  std::set<std::size_t> lengths;
  std::set<std::string> questions;
  for (const Row& row : rows_of(batch)) {
    ASSERT_FALSE(row.question.empty());
    EXPECT_EQ(row.question.find('='), row.question.size() - 1);
    EXPECT_EQ(row.answer, expected_answer(shape.task, row.question) + ";") << row.question;
    std::string whole = row.question + row.answer;
    whole.resize(row.inputs.size(), ';');
    EXPECT_EQ(row.inputs, whole);
    lengths.insert(row.question.size());
    questions.insert(row.question);
  }
  EXPECT_EQ(lengths.size(), 6U);
  EXPECT_GT(questions.size(), 120U);  // few questions have one symbol
}

TEST_P(EverySequence, DependsOnSeedAndStepOnly) {
  const SequenceShape shape{.task = GetParam(), .rows = 4, .symbols = 9};
  const auto inputs = [&](std::uint64_t seed, std::int64_t step) {
    return sequence_training_batch(shape, seed, step).inputs;
  };
  EXPECT_EQ(inputs(1, 2), inputs(1, 2));
  EXPECT_NE(inputs(1, 2), inputs(1, 3));
  EXPECT_NE(inputs(1, 2), inputs(2, 2));
  const Batch asked = sequence_validation_batch(shape);
  EXPECT_EQ(asked.inputs, sequence_validation_batch(shape).inputs);
  for (const Row& row : rows_of(asked))
    EXPECT_EQ(row.inputs.size() + 1, row.question.size() + row.answer.size());
}

TEST_P(EverySequence, TheLongestQuestionThatFitsIsFound) {
  for (std::int64_t symbols = 1; symbols < 40; ++symbols) {
    const std::int64_t tokens = sequence_tokens(GetParam(), symbols);
    EXPECT_EQ(symbols_that_fit(GetParam(), tokens), symbols);
    if (symbols > 1) {
      EXPECT_EQ(symbols_that_fit(GetParam(), tokens - 1), symbols - 1);
    }
  }
  EXPECT_THROW((void)symbols_that_fit(GetParam(), 2), cli::Failure);
}

// The share of answers that the decoder writes without a mistake if it takes the likeliest bytes.
double exactly_answered(const Cell& cell, const std::string& checkpoint, const Batch& batch) {
  Transformer model(cell.model, cell.encoding, cell.seed);
  begin_with(*model, checkpoint);
  std::int64_t right = 0;
  for (const Row& row : rows_of(batch)) {
    Decoder decoder(cell.encoding, cell.model, model, batch.shape.tokens);
    std::vector<std::int64_t> next(row.question.begin(), row.question.end());
    std::string answer;
    while (answer.size() < row.answer.size()) {
      next = {decoder.feed(next)[-1].argmax().item<std::int64_t>()};
      answer += static_cast<char>(next.front());
    }
    if (answer == row.answer) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(batch.shape.rows);
}

class Sequences : public Trained {};

TEST_F(Sequences, MetricsCountTheDecodersExactAnswers) {
  for (Cell cell : tiny_cells("copy", {"rope", "learned"}, 250)) {
    SCOPED_TRACE(cell.name);
    cell.model.tokens = 5;  // 2 symbols
    cell.training.batch = 32;
    cell.training.validation_rows = 40;
    cell.training.learning_rate = 0.005;
    const Outcome outcome = train("copy", cell, {});
    const std::string checkpoint = claim("copy", cell).checkpoint();
    const auto& metrics = outcome.metrics;
    EXPECT_EQ(metrics.at("loss@1x"), outcome.validation_loss);
    EXPECT_LE(metrics.at("exact@1x"), metrics.at("accuracy@1x"));
    EXPECT_EQ(metrics.contains("exact@2x"), cell.name == "rope");
    for (const std::int64_t multiple : {1, 2}) {
      const std::string metric = "exact@" + std::to_string(multiple) + "x";
      if (!metrics.contains(metric)) continue;
      const SequenceShape asked{.task = Task::copy, .rows = 40, .symbols = 2 * multiple};
      EXPECT_EQ(exactly_answered(cell, checkpoint, sequence_validation_batch(asked)),
                metrics.at(metric));
    }
    // Equal counts of 0 would prove nothing.
    EXPECT_GT(metrics.at("exact@1x"), 0);
  }
}

}  // namespace
}  // namespace rotary::lab
