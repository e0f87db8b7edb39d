// SPDX-License-Identifier: Apache-2.0
// The shape of a transformer, and its training task.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rotary::lab {

enum class Task {
  causal_lm = 1,      // predict the next byte
  masked_lm = 2,      // predict hidden bytes from both sides: BERT's objective
  translation = 3,    // predict a sentence's translation
  triplets = 4,       // which of two passages is from a third one's document
  sections = 5,       // which section of the manual a page belongs to
  same_document = 6,  // whether two passages are from one document
  similarity = 10,    // how much of a passage repeats another, as a number
  copy = 7,           // repeat the question
  reverse = 8,        // repeat the question backwards
  addition = 9,       // add two numbers
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

// The name in experiments.
[[nodiscard]] constexpr std::string_view to_string(Task task) noexcept {
  for (const NamedTask& each : named_tasks) {
    if (each.task == task) return each.name;
  }
  return "";
}

// Whether the model is only a decoder, whose tokens see only earlier ones.
[[nodiscard]] constexpr bool is_causal(Task task) noexcept {
  return task == Task::causal_lm || task == Task::copy || task == Task::reverse ||
         task == Task::addition;
}

// Whether examples are questions about passages, with one answer.
[[nodiscard]] constexpr bool is_choice(Task task) noexcept {
  return task == Task::triplets || task == Task::sections || task == Task::same_document ||
         task == Task::similarity;
}

// How many sequences a row of a batch has.
[[nodiscard]] constexpr std::int64_t sequences_of(Task task) noexcept {
  return task == Task::triplets ? 2 : 1;
}

enum class AttentionKind {
  softmax = 1,
  // Katharopoulos et al. 2020 with elu + 1; rotations only in the numerator (RoFormer, eq. 19).
  linear = 2,
};

[[nodiscard]] constexpr std::string_view to_string(AttentionKind attention) noexcept {
  return attention == AttentionKind::softmax ? "softmax" : "linear";
}

// Each byte is a token. Models of masked_lm have one more token, the mask. So have models of
// choice tasks, because they may start with the weights of masked_lm.
inline constexpr std::int64_t byte_tokens = 256;
inline constexpr std::int64_t mask_token = 256;

struct ModelConfig {
  Task task = {};
  std::int64_t d_model = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;  // of a training sequence
  AttentionKind attention = AttentionKind::softmax;

  [[nodiscard]] std::int64_t head_dim() const noexcept { return d_model / heads; }
  [[nodiscard]] std::int64_t vocabulary() const noexcept {
    return task == Task::masked_lm || is_choice(task) ? byte_tokens + 1 : byte_tokens;
  }
};

}  // namespace rotary::lab
