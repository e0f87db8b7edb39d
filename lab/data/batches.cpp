// SPDX-License-Identifier: Apache-2.0
#include "lab/data/batches.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/failure.hpp"
#include "lab/data/random.hpp"

namespace rotary::lab {
namespace {

// The seed of validation: no seed and step of training have it.
constexpr std::uint64_t validation_seed = 0x76616c6964617465;

std::int64_t byte_at(std::string_view text, std::int64_t index) {
  return static_cast<unsigned char>(text[static_cast<std::size_t>(index)]);
}

// The last possible start of a row; one byte more is needed for the target of its last token.
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
  // A loss over nothing is NaN.
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

}  // namespace rotary::lab
