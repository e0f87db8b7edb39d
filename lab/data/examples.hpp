// SPDX-License-Identifier: Apache-2.0
// Questions about passages of documents, each with one right answer. Like batches they are a
// function of the documents, the seed and the step; those of validation are from documents that
// training does not see.
//
// Every passage has the same number of bytes, and all passages of a question are drawn in the same
// way: neither length nor place in the document reveals the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

// Documents that are long enough, in groups: one for each class of `sections`, else one.
using DocumentGroups = std::vector<std::vector<std::string_view>>;

struct ChoiceDocuments {
  std::vector<std::string> classes;  // sections: the folders that pages are from; else none
  DocumentGroups train;
  DocumentGroups validation;
};

// Views into the data, which must outlive them. Classes are the folders with enough documents for
// training and validation, alphabetically. Fails if the data are not split by documents, or have
// too few.
[[nodiscard]] ChoiceDocuments choice_documents(const Dataset& data, Task task, std::int64_t tokens);

// The form of an example.
//   triplets       sequences A|B and A|C, one score each: which is of one document?
//   same_document  a sequence A|B, scores for no and yes
//   sections       a sequence, a score for each class
//   similarity     a sequence A|B, one score: B has the words of A, a share of which a stranger's
//                  replace, and begins at another of them; the answer is how many fifths are A's
struct ChoiceShape {
  std::int64_t sequences = 1;      // of an example
  std::int64_t tokens = 0;         // of a sequence
  std::int64_t first_segment = 0;  // tokens of it; what follows is the second
  std::int64_t scores = 1;         // of a sequence

  [[nodiscard]] std::int64_t choices() const noexcept { return sequences * scores; }
};

[[nodiscard]] ChoiceShape choice_shape(Task task, std::int64_t tokens, std::size_t classes);

struct Examples {
  std::int64_t rows = 0;
  std::vector<std::int64_t> inputs = {};   // [rows][sequences][tokens]
  std::vector<std::int64_t> answers = {};  // [rows], below choices(), or 0 ... most_similar
};

// The answer of similarity where every word is the first passage's. STS-B's scores go to 5, too.
inline constexpr std::int64_t most_similar = 5;

// The questions, and the documents that they are about.
struct Questions {
  Task task = {};
  ChoiceShape shape;
  const DocumentGroups& documents;
};

[[nodiscard]] Examples training_examples(const Questions& questions, std::int64_t rows,
                                         std::uint64_t seed, std::int64_t step);

// Answers, and documents in their groups, alternate. A larger number of rows has the same rows
// first. Longer sequences, up to twice passage_room tokens, begin at the same places and read
// further.
[[nodiscard]] Examples validation_examples(const Questions& questions, std::int64_t rows);

// Rows [first, first + rows) of them.
[[nodiscard]] Examples part_of(const Examples& examples, const ChoiceShape& shape,
                               std::int64_t first, std::int64_t rows);

// Bytes between the beginnings of two passages of a document, where a passage has no more.
inline constexpr std::int64_t passage_room = 512;

}  // namespace rotary::lab
