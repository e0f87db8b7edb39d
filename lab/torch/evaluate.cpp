// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/evaluate.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
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

// Bins of positions up to the trained length.
constexpr std::int64_t position_bins = 8;

// The position of loss n of a validation batch.
struct Places {
  const std::vector<std::int64_t>& predicted;  // of the batch
  std::int64_t window_tokens;
  std::int64_t tokens;  // of a sequence

  [[nodiscard]] std::int64_t index(std::int64_t n) const {
    return predicted.empty() ? n : predicted[static_cast<std::size_t>(n)];
  }
  [[nodiscard]] std::int64_t window(std::int64_t n) const { return index(n) / window_tokens; }
  [[nodiscard]] std::int64_t position(std::int64_t n) const { return index(n) % tokens; }
};

// The mean loss of each bin; NaN for an empty one.
std::vector<double> means(const at::Tensor& losses, std::int64_t bins, const auto& bin_of) {
  const auto numbers = losses.contiguous();
  const double* const loss = numbers.data_ptr<double>();
  std::vector<double> sums(static_cast<std::size_t>(bins));
  std::vector<double> counts(sums.size());
  for (std::int64_t n = 0; n < numbers.numel(); ++n) {
    const auto bin = static_cast<std::size_t>(bin_of(n));
    sums[bin] += loss[n];
    counts[bin] += 1;
  }
  for (std::size_t bin = 0; bin < sums.size(); ++bin) sums[bin] /= counts[bin];
  return sums;
}

}  // namespace

LossSum loss_of(Transformer& model, const Batch& batch) {
  if (batch.targets.empty()) {
    // A share without hidden bytes has zero gradients, not absent ones.
    auto zero = at::zeros({}, at::TensorOptions().device(device()));
    for (const at::Tensor& parameter : model->parameters()) zero = zero + 0 * parameter.sum();
    return {.sum = zero, .count = 0};
  }
  return {.sum = losses_of(model, batch, at::Reduction::Sum), .count = std::ssize(batch.targets)};
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
  const torch::NoGradGuard no_gradient;
  const std::int64_t longest = std::ranges::max(cell.training.evaluate_lengths);
  const std::int64_t windows = std::max<std::int64_t>(1, cell.training.validation_rows / longest);
  const std::int64_t window_tokens = longest * unit;
  Batch all =
      validation_batch(text, {.task = cell.model.task, .rows = windows, .tokens = window_tokens});
  // The same bytes at every multiple, split into longer or shorter sequences.
  all.shape.rows = windows * longest / multiple;
  all.shape.tokens = tokens;
  const std::int64_t rows_at_once =
      std::max<std::int64_t>(1, cell.training.batch * cell.model.tokens / tokens);
  std::vector<at::Tensor> losses;
  for (std::int64_t first = 0; first < all.shape.rows; first += rows_at_once) {
    const Batch part = part_of(all, first, std::min(rows_at_once, all.shape.rows - first));
    if (!part.targets.empty())
      losses.push_back(losses_of(model, part, at::Reduction::None).to(at::kCPU).to(at::kDouble));
  }
  const auto of_bytes = at::cat(losses);
  result.loss = of_bytes.mean().item<double>();
  const Places places{.predicted = all.predicted, .window_tokens = window_tokens, .tokens = tokens};
  result.windows = means(of_bytes, windows, [&](std::int64_t n) { return places.window(n); });
  const std::int64_t bin_tokens = std::max<std::int64_t>(1, unit / position_bins);
  result.by_position = means(of_bytes, (tokens + bin_tokens - 1) / bin_tokens,
                             [&](std::int64_t n) { return places.position(n) / bin_tokens; });
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
