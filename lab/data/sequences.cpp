// SPDX-License-Identifier: Apache-2.0
#include "lab/data/sequences.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/failure.hpp"
#include "lab/data/random.hpp"

namespace rotary::lab {
namespace {

// The seed of validation: batches.cpp has another, and no step of training has this one.
constexpr std::uint64_t sequence_validation_seed = 0x73657175656e6365;
constexpr char answer_mark = '=';
constexpr char end_mark = ';';

std::string symbols_from(char first, std::int64_t count, Random& random) {
  std::string text;
  for (std::int64_t n = 0; n < count; ++n) text += static_cast<char>(first + random.below(10));
  return text;
}

// Lowest digits first.
std::string sum_of(const std::string& one, const std::string& other) {
  std::string sum;
  int carry = 0;
  for (std::size_t n = 0; n < one.size(); ++n) {
    const int digits = one[n] - '0' + other[n] - '0' + carry;
    sum += static_cast<char>('0' + digits % 10);
    carry = digits / 10;
  }
  return sum + static_cast<char>('0' + carry);
}

struct Sequence {
  std::string question, answer;  // the question ends with its mark, the answer with the end
};

Sequence make_sequence(Task task, std::int64_t symbols, Random& random) {
  if (task == Task::addition) {
    const std::string one = symbols_from('0', symbols, random);
    const std::string other = symbols_from('0', symbols, random);
    return {one + '+' + other + answer_mark, sum_of(one, other) + end_mark};
  }
  const std::string text = symbols_from('a', symbols, random);
  const std::string answer = task == Task::reverse ? std::string(text.rbegin(), text.rend()) : text;
  return {text + answer_mark, answer + end_mark};
}

void append_sequence(Batch& batch, const Sequence& sequence) {
  std::string text = sequence.question + sequence.answer;
  const auto first = static_cast<std::int64_t>(batch.inputs.size());
  for (std::size_t n = 0; n < sequence.answer.size(); ++n) {
    const auto before = static_cast<std::int64_t>(sequence.question.size() + n) - 1;
    batch.predicted.push_back(first + before);
    batch.targets.push_back(static_cast<unsigned char>(sequence.answer[n]));
  }
  text.resize(static_cast<std::size_t>(batch.shape.tokens), end_mark);
  for (const char c : text) batch.inputs.push_back(static_cast<unsigned char>(c));
}

Batch empty_batch(const SequenceShape& shape) {
  return {.shape = {.task = shape.task,
                    .rows = shape.rows,
                    .tokens = sequence_tokens(shape.task, shape.symbols)}};
}

}  // namespace

std::int64_t sequence_tokens(Task task, std::int64_t symbols) {
  return task == Task::addition ? 3 * symbols + 3 : 2 * symbols + 1;
}

std::int64_t symbols_that_fit(Task task, std::int64_t tokens) {
  const std::int64_t symbols = task == Task::addition ? (tokens - 3) / 3 : (tokens - 1) / 2;
  if (symbols >= 1) return symbols;
  throw cli::Failure(cli::ExitCode::malformed_input,
                     fmt::format("{} needs at least {} tokens, got {}", to_string(task),
                                 sequence_tokens(task, 1), tokens));
}

Batch sequence_training_batch(const SequenceShape& shape, std::uint64_t seed, std::int64_t step) {
  Random random(seed, static_cast<std::uint64_t>(step));
  Batch batch = empty_batch(shape);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::int64_t symbols = 1 + random.below(shape.symbols);
    append_sequence(batch, make_sequence(shape.task, symbols, random));
  }
  return batch;
}

Batch sequence_validation_batch(const SequenceShape& shape) {
  Random random(sequence_validation_seed, static_cast<std::uint64_t>(shape.symbols));
  Batch batch = empty_batch(shape);
  for (std::int64_t row = 0; row < shape.rows; ++row)
    append_sequence(batch, make_sequence(shape.task, shape.symbols, random));
  return batch;
}

}  // namespace rotary::lab
