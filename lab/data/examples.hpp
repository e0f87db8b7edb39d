// SPDX-License-Identifier: Apache-2.0
// Questions about passages of documents, each with one right answer. Like batches they depend only
// on documents, seed and step. Validation uses documents that training does not see.
//
// All passages of a question have one length and are drawn in one way. So neither length nor place
// reveals the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

// Sufficiently long documents in groups: one per class of `sections`, otherwise a single one.
using DocumentGroups = std::vector<std::vector<std::string_view>>;

struct ChoiceDocuments {
  std::vector<std::string> classes;  // for sections: the pages' folders; otherwise none
  DocumentGroups train;
  DocumentGroups validation;
};

// Views of the data, which must outlive them. Classes are folders with enough documents for
// training and validation, in alphabetical order. Fails if data have no or too few documents.
[[nodiscard]] ChoiceDocuments choice_documents(const Dataset& data, Task task, std::int64_t tokens);

// The form of an example.
//   triplets       sequences A|B and A|C, one score each: which pair is from one document?
//   same_document  a sequence A|B, scores for no and yes
//   sections       a sequence, a score for each class
//   similarity     a sequence A|B, one score. B has A's words, from another word on. Words of
//                  another document replace some. The answer is how many fifths are A's.
struct ChoiceShape {
  std::int64_t sequences = 1;      // per example
  std::int64_t tokens = 0;         // per sequence
  std::int64_t first_segment = 0;  // its tokens; the rest is the second segment
  std::int64_t scores = 1;         // per sequence

  [[nodiscard]] std::int64_t choices() const noexcept { return sequences * scores; }
};

[[nodiscard]] ChoiceShape choice_shape(Task task, std::int64_t tokens, std::size_t classes);

struct Examples {
  std::int64_t rows = 0;
  std::vector<std::int64_t> inputs = {};   // [rows][sequences][tokens]
  std::vector<std::int64_t> answers = {};  // [rows], below choices(), or up to most_similar
};

// The answer of similarity if every word is the first passage's; STS-B's scale also ends at 5.
inline constexpr std::int64_t most_similar = 5;

struct Questions {
  Task task = {};
  ChoiceShape shape;
  const DocumentGroups& documents;
};

[[nodiscard]] Examples training_examples(const Questions& questions, std::int64_t rows,
                                         std::uint64_t seed, std::int64_t step);

// Answers take turns, and so do documents. A call for more rows begins with the rows of a smaller
// call. Longer sequences, up to twice passage_room tokens, start at the same places.
[[nodiscard]] Examples validation_examples(const Questions& questions, std::int64_t rows);

// Rows [first, first + rows) of the examples.
[[nodiscard]] Examples part_of(const Examples& examples, const ChoiceShape& shape,
                               std::int64_t first, std::int64_t rows);

// The starts of a document's two passages are at least this far apart, and at least a passage's
// length.
inline constexpr std::int64_t passage_room = 512;

}  // namespace rotary::lab
