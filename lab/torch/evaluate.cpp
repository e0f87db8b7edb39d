// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/evaluate.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/torch/views.hpp"

namespace rotary::lab {
namespace {

// [predicted]
at::Tensor losses_of(Transformer& model, const Batch& batch, at::Reduction::Reduction reduction) {
  const auto inputs = to_tensor(batch.inputs).view({batch.shape.rows, batch.shape.tokens});
  const auto predicted = batch.predicted.empty() ? at::Tensor() : to_tensor(batch.predicted);
  return at::cross_entropy_loss(model->forward(inputs, predicted), to_tensor(batch.targets), {},
                                reduction);
}

// Bins of positions in each unit_of() tokens.
constexpr std::int64_t position_bins = 8;

// The mean loss of each bin; NaN for an empty bin. bin_of_loss: [losses].
std::vector<double> means(const at::Tensor& losses, const at::Tensor& bin_of_loss,
                          std::int64_t bins) {
  const auto sums = at::bincount(bin_of_loss, losses, bins);
  const auto all = (sums / at::bincount(bin_of_loss, {}, bins)).contiguous();
  return {all.data_ptr<double>(), all.data_ptr<double>() + bins};
}

}  // namespace

LossSum loss_of(Transformer& model, const Batch& batch) {
  if (batch.targets.empty()) {
    // A share without hidden bytes needs zero gradients, so that ranks can add them.
    auto zero = at::zeros({}, at::TensorOptions().device(device()));
    for (const at::Tensor& parameter : model->parameters()) zero = zero + 0 * parameter.sum();
    return {.sum = zero, .count = 0};
  }
  return {.sum = losses_of(model, batch, at::Reduction::Sum), .count = std::ssize(batch.targets)};
}

at::Tensor losses_by_parts(Transformer& model, const Batch& batch, std::int64_t rows_at_once) {
  const torch::NoGradGuard no_gradient;
  std::vector<at::Tensor> losses;
  for (std::int64_t first = 0; first < batch.shape.rows; first += rows_at_once) {
    const Batch part = part_of(batch, first, std::min(rows_at_once, batch.shape.rows - first));
    if (!part.targets.empty())
      losses.push_back(losses_of(model, part, at::Reduction::None).to(at::kCPU).to(at::kDouble));
  }
  return at::cat(losses);
}

std::int64_t unit_of(const Cell& cell) {
  return cell.training.evaluate_unit > 0 ? cell.training.evaluate_unit : cell.model.tokens;
}

LengthLoss validate(Transformer& model, const Cell& cell, std::string_view text,
                    std::int64_t multiple) {
  const std::int64_t unit = unit_of(cell);
  const std::int64_t tokens = unit * multiple;
  LengthLoss result{.multiple = multiple};
  if (!model->positions()->reaches(tokens)) return result;
  const std::int64_t longest = std::ranges::max(cell.training.evaluate_lengths);
  const std::int64_t windows = std::max<std::int64_t>(1, cell.training.validation_rows / longest);
  const std::int64_t window_tokens = longest * unit;
  Batch all =
      validation_batch(text, {.task = cell.model.task, .rows = windows, .tokens = window_tokens});
  // Cuts the windows into sequences of this multiple.
  all.shape.rows = windows * longest / multiple;
  all.shape.tokens = tokens;
  const std::int64_t rows_at_once =
      std::max<std::int64_t>(1, cell.training.batch * cell.model.tokens / tokens);
  const auto of_bytes = losses_by_parts(model, all, rows_at_once);
  result.loss = of_bytes.mean().item<double>();
  const auto places = all.predicted.empty() ? at::arange(of_bytes.numel())
                                            : torch::tensor(all.predicted, at::kLong);
  result.windows = means(of_bytes, places.div(window_tokens, "floor"), windows);
  const std::int64_t bin_tokens = std::max<std::int64_t>(1, unit / position_bins);
  result.by_position = means(of_bytes, places.remainder(tokens).div(bin_tokens, "floor"),
                             (tokens + bin_tokens - 1) / bin_tokens);
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
      const Stretch stretch{.factor = multiple, .tokens = unit_of(cell)};
      if (!model->positions()->rescale(rule, stretch)) break;
      lengths.push_back(validate(model, cell, text, multiple));
      lengths.back().rule = rule;
      model->positions()->rescale("", stretch);
    }
  }
  return lengths;
}

}  // namespace rotary::lab
