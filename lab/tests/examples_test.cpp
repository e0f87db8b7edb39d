// SPDX-License-Identifier: Apache-2.0
#include "lab/data/examples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "lab/tests/made_documents.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {
namespace {

// Documents of 1760 bytes: long enough for two passages.
const Dataset& tagged() {
  static const Dataset data = tagged_documents(200, 160);
  return data;
}

struct Asked {
  ChoiceDocuments documents;
  ChoiceShape shape;
  Task task = {};

  [[nodiscard]] Questions training() const { return {task, shape, documents.train}; }
  [[nodiscard]] Questions validation() const { return {task, shape, documents.validation}; }
};

Asked ask(Task task, std::int64_t tokens = 64) {
  ChoiceDocuments documents = choice_documents(tagged(), task, tokens);
  const ChoiceShape shape = choice_shape(task, tokens, documents.classes.size());
  return {.documents = std::move(documents), .shape = shape, .task = task};
}

// One sequence of the batch as text, from byte `first` on.
std::string text_of(const Examples& examples, const ChoiceShape& shape, std::int64_t sequence,
                    std::int64_t first) {
  std::string text;
  for (std::int64_t n = first; n < shape.tokens; ++n)
    text +=
        static_cast<char>(examples.inputs[static_cast<std::size_t>(sequence * shape.tokens + n)]);
  return text;
}

struct Pair {
  Place first, second;
};

Pair pair_of(const Examples& examples, const ChoiceShape& shape, std::int64_t sequence) {
  return {.first = place_of(text_of(examples, shape, sequence, 0)),
          .second = place_of(text_of(examples, shape, sequence, shape.first_segment))};
}

bool validates(const Place& place) { return place.document % 20 == 19; }

class EveryChoice : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EveryChoice,
                         testing::Values(Task::triplets, Task::sections, Task::same_document),
                         [](const auto& task) { return std::string(to_string(task.param)); });

TEST_P(EveryChoice, DependsOnSeedAndStepOnly) {
  const Asked asked = ask(GetParam());
  const auto inputs = [&](std::uint64_t seed, std::int64_t step) {
    return training_examples(asked.training(), 4, seed, step).inputs;
  };
  EXPECT_EQ(inputs(7, 11), inputs(7, 11));
  EXPECT_NE(inputs(7, 11), inputs(7, 12));
  EXPECT_NE(inputs(7, 11), inputs(8, 11));
  EXPECT_EQ(std::ssize(inputs(7, 11)), 4 * asked.shape.sequences * asked.shape.tokens);
  const Examples few = validation_examples(asked.validation(), 5);
  const Examples more = validation_examples(asked.validation(), 9);
  const Examples part = part_of(more, asked.shape, 0, 5);
  EXPECT_EQ(few.inputs, part.inputs);
  EXPECT_EQ(few.answers, part.answers);
  EXPECT_EQ(part_of(more, asked.shape, 8, 1).answers[0], more.answers[8]);
}

TEST_P(EveryChoice, KeepsValidationDocumentsApart) {
  const Asked asked = ask(GetParam());
  for (std::int64_t step = 0; step < 20; ++step) {
    const Examples train = training_examples(asked.training(), 10, 1, step);
    for (std::int64_t n = 0; n < 10 * asked.shape.sequences; ++n)
      EXPECT_FALSE(validates(place_of(text_of(train, asked.shape, n, 0))));
  }
  const Examples held = validation_examples(asked.validation(), 50);
  for (std::int64_t n = 0; n < 50 * asked.shape.sequences; ++n)
    EXPECT_TRUE(validates(place_of(text_of(held, asked.shape, n, 0))));
}

TEST_P(EveryChoice, AnswersAreEquallyFrequent) {
  const Asked asked = ask(GetParam());
  const std::int64_t choices = asked.shape.choices();
  std::vector<double> counts(static_cast<std::size_t>(choices));
  for (std::int64_t step = 0; step < 60; ++step) {
    for (const std::int64_t answer : training_examples(asked.training(), 10, 1, step).answers)
      counts[static_cast<std::size_t>(answer)] += 1;
  }
  // The standard deviation of 600 fair draws is below 12.3.
  for (const double count : counts) EXPECT_NEAR(count, 600.0 / static_cast<double>(choices), 50);
  const auto held = validation_examples(asked.validation(), 6 * choices).answers;
  for (std::int64_t answer = 0; answer < choices; ++answer)
    EXPECT_EQ(std::ranges::count(held, answer), 6);
}

TEST(Triplets, AskWhichPassageIsFromTheFirstPassagesDocument) {
  const Asked asked = ask(Task::triplets);
  const auto expect_triplets = [&](const Examples& examples) {
    for (std::int64_t row = 0; row < examples.rows; ++row) {
      const std::int64_t answer = examples.answers[static_cast<std::size_t>(row)];
      const Pair same = pair_of(examples, asked.shape, 2 * row + answer);
      const Pair other = pair_of(examples, asked.shape, 2 * row + 1 - answer);
      EXPECT_EQ(same.first.document, same.second.document);
      EXPECT_GE(std::abs(same.first.offset - same.second.offset), passage_room);
      EXPECT_NE(other.first.document, other.second.document);
      EXPECT_EQ(same.first.document, other.first.document);
      EXPECT_EQ(same.first.offset, other.first.offset);
    }
  };
  for (std::int64_t step = 0; step < 20; ++step)
    expect_triplets(training_examples(asked.training(), 10, 1, step));
  expect_triplets(validation_examples(asked.validation(), 100));
}

TEST(Triplets, RightAndWrongPassagesAreEquallyFarFromTheMiddle) {
  const Asked asked = ask(Task::triplets);
  double difference = 0;
  constexpr std::int64_t rows = 2000;
  const Examples examples = training_examples(asked.training(), rows, 3, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t answer = examples.answers[static_cast<std::size_t>(row)];
    const auto distance_to_middle = [&](std::int64_t sequence) {
      const Place place = pair_of(examples, asked.shape, sequence).second;
      return std::abs(static_cast<double>(place.offset) - (1760.0 - passage_room) / 2);
    };
    difference += distance_to_middle(2 * row + answer) - distance_to_middle(2 * row + 1 - answer);
  }
  // Distances are 0 to 624, so their differences have a standard deviation below 442. For the mean
  // of 2000 differences it is below 10. Uniform offsets in the other documents would shift the mean
  // by 100.
  EXPECT_NEAR(difference / rows, 0, 40);
}

TEST(Triplets, LongerSequencesStartAtTheSameBytes) {
  const Asked shorter = ask(Task::triplets, 64);
  const Asked longer = ask(Task::triplets, 1024);
  const Examples few = validation_examples(shorter.validation(), 20);
  const Examples many = validation_examples(longer.validation(), 20);
  EXPECT_EQ(few.answers, many.answers);
  for (std::int64_t sequence = 0; sequence < 40; ++sequence) {
    const Pair one = pair_of(few, shorter.shape, sequence);
    const Pair other = pair_of(many, longer.shape, sequence);
    EXPECT_EQ(one.first.offset, other.first.offset);
    EXPECT_EQ(one.second.offset, other.second.offset);
    EXPECT_EQ(one.second.document, other.second.document);
  }
}

TEST(SameDocument, AnswersYesForPassagesOfOneDocument) {
  const Asked asked = ask(Task::same_document);
  const Examples examples = training_examples(asked.training(), 200, 1, 0);
  for (std::int64_t row = 0; row < 200; ++row) {
    const Pair pair = pair_of(examples, asked.shape, row);
    EXPECT_EQ(pair.first.document == pair.second.document ? 1 : 0,
              examples.answers[static_cast<std::size_t>(row)]);
  }
}

std::vector<std::string> whole_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream all(text);
  for (std::string word; all >> word;) words.push_back(word);
  // Drops the first and the last word, which may be cut.
  return words.size() < 3 ? std::vector<std::string>()
                          : std::vector<std::string>(words.begin() + 1, words.end() - 1);
}

TEST(Similarity, TheAnswerCountsFifthsOfWordsFromTheFirstPassage) {
  const Dataset data = worded_documents(200, 300);
  const ChoiceDocuments documents = choice_documents(data, Task::similarity, 1024);
  const ChoiceShape shape = choice_shape(Task::similarity, 1024, 0);
  EXPECT_EQ(shape.choices(), 1);
  constexpr std::int64_t rows = 60;
  const Examples examples =
      validation_examples({Task::similarity, shape, documents.validation}, rows);
  std::array<double, most_similar + 1> kept = {};
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::string whole = text_of(examples, shape, row, 0);
    const std::string first = whole.substr(0, static_cast<std::size_t>(shape.first_segment));
    const auto words = whole_words(whole.substr(first.size()));
    const auto is_kept = [&](const std::string& word) {
      return first.find(word + " ") != std::string::npos;
    };
    const auto grade = static_cast<std::size_t>(examples.answers[static_cast<std::size_t>(row)]);
    kept.at(grade) += static_cast<double>(std::ranges::count_if(words, is_kept)) /
                      static_cast<double>(words.size()) / (rows / (most_similar + 1));
  }
  // The share is over about 55 words in each of 10 passages. Its standard deviation is below 0.022.
  // Two of 55 words may be cut at the edges.
  for (std::size_t grade = 0; grade < kept.size(); ++grade)
    EXPECT_NEAR(kept.at(grade), static_cast<double>(grade) / most_similar, 0.09 + 0.04) << grade;
  EXPECT_EQ(kept[0], 0);
}

TEST(Sections, AreTheFoldersWithEnoughDocuments) {
  const Asked asked = ask(Task::sections);
  EXPECT_EQ(asked.documents.classes, (std::vector<std::string>{"man1", "man2", "man3"}));
  EXPECT_EQ(asked.shape.first_segment, asked.shape.tokens);
  const Examples examples = training_examples(asked.training(), 200, 1, 0);
  for (std::int64_t row = 0; row < 200; ++row) {
    const Place place = place_of(text_of(examples, asked.shape, row, 0));
    EXPECT_EQ(place.document % 3, examples.answers[static_cast<std::size_t>(row)]);
  }
}

TEST(Choices, RefuseUnsuitableData) {
  const auto message = [](const Dataset& data, Task task, std::int64_t tokens) {
    return failure_of([&] { return choice_documents(data, task, tokens); });
  };
  const Dataset few = tagged_documents(99, 160);
  EXPECT_TRUE(has(message(few, Task::triplets, 64), "triplets needs 100 documents"));
  EXPECT_TRUE(has(message(tagged(), Task::triplets, 2048), "documents of 3072 bytes"));
  EXPECT_TRUE(has(message(tagged(), Task::sections, 2048), "of at least 2048 bytes"));
  Dataset unnamed = tagged();
  unnamed.train_paths.clear();
  EXPECT_TRUE(has(message(unnamed, Task::sections, 64), "need the paths"));
}

}  // namespace
}  // namespace rotary::lab
