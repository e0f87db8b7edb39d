// SPDX-License-Identifier: Apache-2.0
// The shape of a transformer, and its training task.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rotary::lab {

enum class Task {
  causal_lm = 1,      // the next byte, from those before it
  masked_lm = 2,      // hidden bytes, from those on both sides: BERT's objective
  translation = 3,    // a sentence in another language
  triplets = 4,       // which of two passages is from the document of a third
  sections = 5,       // which section of the manual a page is from
  same_document = 6,  // whether two passages are from one document
  similarity = 10,    // how much of a second passage says what the first one says, a number
  copy = 7,           // an answer that the question determines: the same again,
  reverse = 8,        // backwards,
  addition = 9,       // or a sum
};

struct NamedTask {
  Task task;
  std::string_view name;
};

inline constexpr std::array<NamedTask, 10> named_tasks = {{{Task::causal_lm, "causal_lm"},
                                                           {Task::masked_lm, "masked_lm"},
                                                           {Task::translation, "translation"},
                                                           {Task::triplets, "triplets"},
                                                           {Task::sections, "sections"},
                                                           {Task::same_document, "same_document"},
                                                           {Task::similarity, "similarity"},
                                                           {Task::copy, "copy"},
                                                           {Task::reverse, "reverse"},
                                                           {Task::addition, "addition"}}};

// As experiments write it.
[[nodiscard]] constexpr std::string_view to_string(Task task) noexcept {
  for (const NamedTask& each : named_tasks) {
    if (each.task == task) return each.name;
  }
  return "";
}

// Whether a token sees only those before it; in an encoder it sees all.
[[nodiscard]] constexpr bool is_causal(Task task) noexcept {
  return task == Task::causal_lm || task == Task::copy || task == Task::reverse ||
         task == Task::addition;
}

// Whether an example is a question about whole passages, with one answer.
[[nodiscard]] constexpr bool is_choice(Task task) noexcept {
  return task == Task::triplets || task == Task::sections || task == Task::same_document ||
         task == Task::similarity;
}

// The number of sequences in a row of a batch.
[[nodiscard]] constexpr std::int64_t sequences_of(Task task) noexcept {
  return task == Task::triplets ? 2 : 1;
}

enum class AttentionKind {
  softmax = 1,
  // Katharopoulos et al. 2020 with elu + 1; rotations in the numerator alone (RoFormer, eq. 19).
  linear = 2,
};

// "softmax", "linear".
[[nodiscard]] constexpr std::string_view to_string(AttentionKind attention) noexcept {
  return attention == AttentionKind::softmax ? "softmax" : "linear";
}

// A byte is a token. The mask of masked_lm is one more token, also in models that begin with the
// weights of such a model.
inline constexpr std::int64_t byte_tokens = 256;
inline constexpr std::int64_t mask_token = 256;

struct ModelConfig {
  Task task = {};
  std::int64_t d_model = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;  // of a sequence in training
  AttentionKind attention = AttentionKind::softmax;

  [[nodiscard]] std::int64_t head_dim() const noexcept { return d_model / heads; }
  [[nodiscard]] std::int64_t vocabulary() const noexcept {
    return task == Task::masked_lm || is_choice(task) ? byte_tokens + 1 : byte_tokens;
  }
};

}  // namespace rotary::lab
