// SPDX-License-Identifier: Apache-2.0
#include "lab/data/examples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"

namespace rotary::lab {
namespace {

// The validation seed. Seeds of experiments are small numbers.
constexpr std::uint64_t validation_seed = 0x63686f6963657321;

// The fewest documents of a class; smaller classes are left out.
constexpr std::size_t least_training_documents = 20;
constexpr std::size_t least_validation_documents = 2;

std::int64_t room_of(std::int64_t passage) { return std::max(passage_room, passage); }

[[noreturn]] void fail(const Dataset& data, std::string_view requirement) {
  throw cli::Failure(cli::ExitCode::usage,
                     fmt::format("{}: {}; what has them: ./dev lab data add manuals",
                                 data.manifest.name, requirement));
}

// Consecutive documents of the text. Documents shorter than `least` become empty.
std::vector<std::string_view> documents_of(std::string_view text,
                                           const std::vector<std::int64_t>& bytes,
                                           std::int64_t least) {
  std::vector<std::string_view> documents;
  for (const std::int64_t size : bytes) {
    const std::string_view document = text.substr(0, static_cast<std::size_t>(size));
    documents.push_back(size >= least ? document : std::string_view());
    text.remove_prefix(document.size());
  }
  return documents;
}

std::vector<std::string_view> long_documents(std::string_view text,
                                             const std::vector<std::int64_t>& bytes,
                                             std::int64_t least) {
  auto documents = documents_of(text, bytes, least);
  std::erase(documents, std::string_view());
  return documents;
}

using DocumentsByFolder = std::map<std::string, std::vector<std::string_view>>;

DocumentsByFolder by_folder(const std::vector<std::string_view>& documents,
                            const std::vector<std::string>& paths) {
  DocumentsByFolder folders;
  for (std::size_t n = 0; n < paths.size(); ++n) {
    const std::string folder = std::filesystem::path(paths[n]).parent_path().filename().string();
    if (!documents[n].empty() && !folder.empty()) folders[folder].push_back(documents[n]);
  }
  return folders;
}

ChoiceDocuments documents_by_class(const Dataset& data, std::int64_t tokens) {
  if (data.train_paths.empty()) fail(data, "sections need the paths of documents");
  DocumentsByFolder train =
      by_folder(documents_of(data.train, data.train_documents, tokens), data.train_paths);
  DocumentsByFolder validation = by_folder(
      documents_of(data.validation, data.validation_documents, tokens), data.validation_paths);
  ChoiceDocuments documents;
  for (auto& [folder, of_folder] : train) {
    if (of_folder.size() < least_training_documents) continue;
    if (validation[folder].size() < least_validation_documents) continue;
    documents.classes.push_back(folder);
    documents.train.push_back(std::move(of_folder));
    documents.validation.push_back(std::move(validation[folder]));
  }
  if (documents.classes.size() >= 2) return documents;
  fail(data, fmt::format("sections need two folders with {} documents to train on and {} to "
                         "validate with, of at least {} bytes",
                         least_training_documents, least_validation_documents, tokens));
}

void append_bytes(std::vector<std::int64_t>& inputs, std::string_view passage) {
  for (const char byte : passage) inputs.push_back(static_cast<unsigned char>(byte));
}

// The words, each with its following blanks.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find_first_of(" \n"), text.size());
    const std::size_t end = std::min(text.find_first_not_of(" \n", blank), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

struct Passages {
  std::string_view first, second;
};

class Drawing {
 public:
  Drawing(const Questions& questions, Random& random) : questions_(questions), random_(random) {}

  // preferred: a row number, which selects answer and document in turn; below 0: both are random.
  void append(Examples& examples, std::int64_t preferred) {
    const auto in_turn = [&](std::int64_t count) {
      return preferred < 0 ? random_.below(count) : preferred % count;
    };
    if (questions_.task == Task::sections) {
      const std::int64_t choice = in_turn(questions_.shape.choices());
      const auto& pages = questions_.documents[static_cast<std::size_t>(choice)];
      const std::int64_t turn = preferred < 0 ? -1 : preferred / questions_.shape.choices();
      append_bytes(examples.inputs, page(pages, turn));
      examples.answers.push_back(choice);
      return;
    }
    const bool is_graded = questions_.task == Task::similarity;
    const std::int64_t answers = is_graded ? most_similar + 1 : 2;
    const std::int64_t answer = in_turn(answers);
    const auto& documents = questions_.documents.front();
    const auto count = std::ssize(documents);
    const std::int64_t one = preferred < 0 ? random_.below(count) : preferred / answers % count;
    const std::int64_t other = (one + 1 + random_.below(count - 1)) % count;
    const Passages same = passages(documents[static_cast<std::size_t>(one)]);
    // Drawn like same.second, so that its place in the document reveals nothing.
    const std::string_view stranger = passages(documents[static_cast<std::size_t>(other)]).second;
    examples.answers.push_back(answer);
    if (is_graded) {
      append_pair(examples, same.first, mixed(same.first, stranger, answer));
      return;
    }
    append_pair(examples, same.first, (answer == 0) == is_triplets() ? same.second : stranger);
    if (is_triplets()) append_pair(examples, same.first, answer == 0 ? stranger : same.second);
  }

 private:
  [[nodiscard]] bool is_triplets() const { return questions_.task == Task::triplets; }

  static void append_pair(Examples& examples, std::string_view a, std::string_view b) {
    append_bytes(examples.inputs, a);
    append_bytes(examples.inputs, b);
  }

  // A passage as long as the stranger's: the words of `first`, cyclically from a random word. The
  // stranger's words replace all but grade / most_similar of them.
  std::string mixed(std::string_view first, std::string_view stranger, std::int64_t grade) {
    const std::vector<std::string_view> words = words_of(first);
    const std::vector<std::string_view> others = words_of(stranger);
    const auto count = static_cast<std::size_t>(std::ssize(words));
    const auto begin = static_cast<std::size_t>(random_.below(std::ssize(words)));
    std::string text;
    for (std::size_t n = 0; text.size() < stranger.size(); ++n) {
      const bool keeps = random_.below(most_similar) < grade;
      text += keeps ? words[(begin + n) % count] : others[n % others.size()];
    }
    text.resize(stranger.size());
    return text;
  }

  std::string_view page(const std::vector<std::string_view>& pages, std::int64_t turn) {
    const std::int64_t index =
        turn < 0 ? random_.below(std::ssize(pages)) : turn % std::ssize(pages);
    const std::string_view whole = pages[static_cast<std::size_t>(index)];
    const std::int64_t tokens = questions_.shape.tokens;
    const std::int64_t first = random_.below(std::ssize(whole) - tokens + 1);
    return whole.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(tokens));
  }

  // The second passage starts at least `room` before or after the first.
  Passages passages(std::string_view document) {
    const ChoiceShape& shape = questions_.shape;
    const std::int64_t room = room_of(shape.first_segment);
    const std::int64_t last = std::ssize(document) - room;
    const std::int64_t first = random_.below(last + 1);
    const std::int64_t before = std::max<std::int64_t>(0, first - room + 1);
    const std::int64_t after = std::max<std::int64_t>(0, last - (first + room) + 1);
    const std::int64_t place = random_.below(before + after);
    const std::int64_t second = place < before ? place : first + room + (place - before);
    const auto cut = [&](std::int64_t begin, std::int64_t bytes) {
      return document.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
    };
    return {.first = cut(first, shape.first_segment),
            .second = cut(second, shape.tokens - shape.first_segment)};
  }

  const Questions& questions_;
  Random& random_;
};

}  // namespace

ChoiceDocuments choice_documents(const Dataset& data, Task task, std::int64_t tokens) {
  if (data.train_documents.empty())
    fail(data, fmt::format("{} needs 100 documents or more", to_string(task)));
  if (task == Task::sections) return documents_by_class(data, tokens);
  // Long enough for a second passage before or after any first passage.
  const std::int64_t least = 3 * room_of((tokens + 1) / 2);
  ChoiceDocuments documents{
      .classes = {},
      .train = {long_documents(data.train, data.train_documents, least)},
      .validation = {long_documents(data.validation, data.validation_documents, least)}};
  if (documents.train[0].size() >= 2 && documents.validation[0].size() >= 2) return documents;
  fail(data, fmt::format("{} needs documents of {} bytes, two to train on and two to validate with",
                         to_string(task), least));
}

ChoiceShape choice_shape(Task task, std::int64_t tokens, std::size_t classes) {
  if (task == Task::sections) {
    return {.sequences = 1,
            .tokens = tokens,
            .first_segment = tokens,
            .scores = static_cast<std::int64_t>(classes)};
  }
  return {.sequences = sequences_of(task),
          .tokens = tokens,
          .first_segment = (tokens + 1) / 2,
          .scores = task == Task::same_document ? 2 : 1};
}

Examples training_examples(const Questions& questions, std::int64_t rows, std::uint64_t seed,
                           std::int64_t step) {
  Random random(seed, static_cast<std::uint64_t>(step));
  Drawing drawing(questions, random);
  Examples examples{.rows = rows};
  for (std::int64_t row = 0; row < rows; ++row) drawing.append(examples, -1);
  return examples;
}

Examples validation_examples(const Questions& questions, std::int64_t rows) {
  Examples examples{.rows = rows};
  for (std::int64_t row = 0; row < rows; ++row) {
    Random random(validation_seed, static_cast<std::uint64_t>(row));
    Drawing(questions, random).append(examples, row);
  }
  return examples;
}

Examples part_of(const Examples& examples, const ChoiceShape& shape, std::int64_t first,
                 std::int64_t rows) {
  const std::int64_t bytes = shape.sequences * shape.tokens;
  const auto begin = examples.inputs.begin() + first * bytes;
  const auto answer = examples.answers.begin() + first;
  return {
      .rows = rows, .inputs = {begin, begin + rows * bytes}, .answers = {answer, answer + rows}};
}

}  // namespace rotary::lab
