// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/shared_step.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rotary::lab {
namespace {

// Skips parameters without a gradient: no rank's rows use them.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace

SharedStep::SharedStep(std::vector<at::Tensor> parameters, Ranks& ranks)
    : parameters_(std::move(parameters)), ranks_(ranks) {}

StepTotals SharedStep::add_up(const StepTotals& mine) {
  const std::vector<at::Tensor> gradients = gradients_of(parameters_);
  const auto totals = torch::tensor({mine.loss_sum, mine.targets, mine.cpu_s, mine.stop_asked})
                          .to(parameters_.front().options());
  std::vector<at::Tensor> parts;
  for (const at::Tensor& gradient : gradients) parts.push_back(gradient.flatten());
  parts.push_back(totals);
  const auto message = add_up(at::cat(parts));
  const auto summed = message.slice(0, -totals.numel()).to(at::kCPU).to(at::kDouble);
  const auto number = [&](std::int64_t index) { return summed[index].item<double>(); };
  std::int64_t first = 0;
  for (const at::Tensor& gradient : gradients) {
    const auto sum = message.narrow(0, first, gradient.numel()).view(gradient.sizes());
    gradient.copy_(sum.div_(number(1)));
    first += gradient.numel();
  }
  return {.loss_sum = number(0), .targets = number(1), .cpu_s = number(2), .stop_asked = number(3)};
}

at::Tensor SharedStep::add_up(const at::Tensor& message) {
  const bool on_gpu = message.is_cuda() && Ranks::reaches_gpu();
  const auto sent = on_gpu ? message : message.to(at::kCPU);
  ranks_.add_up({sent.data_ptr<float>(), static_cast<std::size_t>(sent.numel())},
                on_gpu ? Memory::gpu : Memory::processor);
  return sent.to(message.device());
}

}  // namespace rotary::lab
