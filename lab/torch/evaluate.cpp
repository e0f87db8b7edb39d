// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/evaluate.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/encodings/rescaling.hpp"

namespace rotary::lab {
namespace {

at::Tensor to_tensor(const std::vector<std::int64_t>& numbers) {
  return torch::tensor(numbers, at::TensorOptions().dtype(at::kLong));
}

// [predicted]
at::Tensor losses_of(Transformer& model, const Batch& batch, at::Reduction::Reduction reduction) {
  const auto inputs = to_tensor(batch.inputs).view({batch.shape.rows, batch.shape.tokens});
  const auto predicted = batch.predicted.empty() ? at::Tensor() : to_tensor(batch.predicted);
  return at::cross_entropy_loss(model->forward(inputs, predicted), to_tensor(batch.targets), {},
                                reduction);
}

// Rows [first, first + rows) of a batch.
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

}  // namespace

at::Tensor loss_of(Transformer& model, const Batch& batch) {
  return losses_of(model, batch, at::Reduction::Mean);
}

LengthLoss validate(Transformer& model, const Cell& cell, std::string_view text,
                    std::int64_t multiple) {
  const std::int64_t tokens = cell.model.tokens * multiple;
  LengthLoss result{.multiple = multiple};
  if (!model->positions()->reaches(tokens)) return result;
  const torch::NoGradGuard no_gradient;
  const std::int64_t longest = std::ranges::max(cell.training.evaluate_lengths);
  const std::int64_t windows = std::max<std::int64_t>(1, cell.training.validation_rows / longest);
  const std::int64_t window_tokens = longest * cell.model.tokens;
  Batch all =
      validation_batch(text, {.task = cell.model.task, .rows = windows, .tokens = window_tokens});
  // The same bytes at every multiple, cut into longer or shorter sequences.
  all.shape.rows = windows * longest / multiple;
  all.shape.tokens = tokens;
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, cell.training.batch / multiple);
  std::vector<at::Tensor> losses;
  for (std::int64_t first = 0; first < all.shape.rows; first += rows_at_once) {
    const Batch part = part_of(all, first, std::min(rows_at_once, all.shape.rows - first));
    if (!part.targets.empty())
      losses.push_back(losses_of(model, part, at::Reduction::None).to(at::kDouble));
  }
  const auto of_bytes = at::cat(losses);
  result.loss = of_bytes.mean().item<double>();
  if (!all.predicted.empty()) return result;
  const auto late =
      of_bytes.view({windows, window_tokens}).slice(1, window_tokens - window_tokens / 4);
  result.last_quarter = late.mean().item<double>();
  return result;
}

std::vector<LengthLoss> validate_lengths(Transformer& model, const Cell& cell,
                                         std::string_view text) {
  std::vector<LengthLoss> lengths;
  for (const std::int64_t multiple : cell.training.evaluate_lengths) {
    lengths.push_back(validate(model, cell, text, multiple));
    if (multiple == 1) continue;
    for (const std::string& rule : cell.training.rescale) {
      const Stretch stretch{.factor = multiple, .tokens = cell.model.tokens};
      if (!model->positions()->set_scaling(*rescaled(rule, stretch))) break;
      lengths.push_back(validate(model, cell, text, multiple));
      lengths.back().rule = rule;
      model->positions()->set_scaling(NoScaling{});
    }
  }
  return lengths;
}

}  // namespace rotary::lab
