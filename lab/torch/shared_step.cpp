// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/shared_step.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rotary::lab {

StepTotals add_up(const std::vector<at::Tensor>& parameters, const StepTotals& mine, Ranks& ranks) {
  const auto totals = torch::tensor({mine.loss_sum, mine.targets, mine.cpu_s, mine.stop_asked})
                          .to(parameters.front().options());
  std::vector<at::Tensor> parts;
  for (const at::Tensor& parameter : parameters) {
    // A parameter without a gradient here has none on any rank.
    if (parameter.grad().defined()) parts.push_back(parameter.grad().flatten());
  }
  parts.push_back(totals);
  const auto message = at::cat(parts);
  const bool on_gpu = message.is_cuda() && Ranks::reaches_gpu();
  const auto sent = on_gpu ? message : message.to(at::kCPU);
  ranks.add_up({sent.data_ptr<float>(), static_cast<std::size_t>(sent.numel())},
               on_gpu ? Memory::gpu : Memory::processor);
  const auto summed = sent.to(message.device());
  const auto all = summed.slice(0, -totals.numel()).to(at::kCPU).to(at::kDouble);
  const auto number = [&](std::int64_t index) { return all[index].item<double>(); };
  std::int64_t first = 0;
  for (const at::Tensor& parameter : parameters) {
    const auto& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    const auto sum = summed.narrow(0, first, gradient.numel()).view(gradient.sizes());
    gradient.copy_(sum.div_(number(1)));
    first += gradient.numel();
  }
  return {.loss_sum = number(0), .targets = number(1), .cpu_s = number(2), .stop_asked = number(3)};
}

}  // namespace rotary::lab
