// SPDX-License-Identifier: Apache-2.0

#include "lab/data/batches.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "apps/failure.hpp"

namespace rotary::lab {

namespace {

// The validation seed. A training step gets the same random numbers with a chance of 2^-64.
constexpr std::uint64_t validation_seed = 0x76616c6964617465;

std::int64_t byte_at(std::string_view text, std::int64_t index) {
  return static_cast<unsigned char>(text[static_cast<std::size_t>(index)]);
}

// The last start at which a row, and the byte after it, fit in the text.
std::int64_t last_start(std::string_view text, const BatchShape& shape) {
  const std::int64_t last = std::ssize(text) - shape.tokens - 1;
  if (last >= 0) return last;
  throw cli::Failure(cli::ExitCode::usage,
                     fmt::format("the data must have at least {} bytes to train on and as many to "
                                 "validate with, got {}",
                                 shape.tokens + 1, text.size()));
}

void append_row(Batch& batch, std::string_view text, std::int64_t first) {
  const bool causal = batch.shape.task == Task::causal_lm;
  for (std::int64_t t = 0; t < batch.shape.tokens; ++t) {
    batch.inputs.push_back(byte_at(text, first + t));
    if (causal) batch.targets.push_back(byte_at(text, first + t + 1));
  }
}

void hide(Batch& batch, Random& random) {
  for (std::size_t n = 0; n < batch.inputs.size(); ++n) {
    if (random.below(100) >= 15) continue;
    batch.predicted.push_back(static_cast<std::int64_t>(n));
    batch.targets.push_back(batch.inputs[n]);
    const std::int64_t how = random.below(10);
    if (how < 8) batch.inputs[n] = mask_token;
    if (how == 8) batch.inputs[n] = random.below(byte_tokens);
  }
  if (!batch.predicted.empty()) return;
  // At least one byte is predicted, since a mean over nothing is NaN.
  batch.predicted.push_back(0);
  batch.targets.push_back(batch.inputs[0]);
  batch.inputs[0] = mask_token;
}

}  // namespace

Batch training_batch(std::string_view text, const BatchShape& shape, std::uint64_t seed,
                     std::int64_t step) {
  Random random(seed, static_cast<std::uint64_t>(step));
  const std::int64_t last = last_start(text, shape);
  Batch batch{.shape = shape};
  for (std::int64_t row = 0; row < shape.rows; ++row)
    append_row(batch, text, random.below(last + 1));
  if (shape.task == Task::masked_lm) hide(batch, random);
  return batch;
}

Batch validation_batch(std::string_view text, const BatchShape& shape) {
  const std::int64_t last = last_start(text, shape);
  Batch batch{.shape = shape};
  for (std::int64_t row = 0; row < shape.rows; ++row)
    append_row(batch, text, shape.rows == 1 ? 0 : last * row / (shape.rows - 1));
  Random random(validation_seed);
  if (shape.task == Task::masked_lm) hide(batch, random);
  return batch;
}

Batch part_of(const Batch& batch, std::int64_t first, std::int64_t rows) {
  Batch part{.shape = batch.shape};
  part.shape.rows = rows;
  const std::int64_t begin = first * batch.shape.tokens;
  const std::int64_t end = begin + rows * batch.shape.tokens;
  part.inputs.assign(batch.inputs.begin() + begin, batch.inputs.begin() + end);
  if (batch.predicted.empty()) {
    part.targets.assign(batch.targets.begin() + begin, batch.targets.begin() + end);
    return part;
  }
  for (std::size_t n = 0; n < batch.predicted.size(); ++n) {
    if (batch.predicted[n] < begin || batch.predicted[n] >= end) continue;
    part.predicted.push_back(batch.predicted[n] - begin);
    part.targets.push_back(batch.targets[n]);
  }
  return part;
}

namespace {

// Differs from validation_seed. Seeds of experiments are small numbers.
constexpr std::uint64_t sequence_validation_seed = 0x73657175656e6365;
constexpr char answer_mark = '=';
constexpr char end_mark = ';';

std::string symbols_from(char first, std::int64_t count, Random& random) {
  std::string text;
  for (std::int64_t n = 0; n < count; ++n) text += static_cast<char>(first + random.below(10));
  return text;
}

// The sum of two numbers, whose digits are written lowest first.
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
  std::string question, answer;  // the question includes its mark, the answer its end
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
