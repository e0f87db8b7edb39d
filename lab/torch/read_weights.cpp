// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/read_weights.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/torch/begin_with.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {
namespace {

Transformer read_model(const Cell& cell, const std::string& checkpoint) {
  Transformer model(cell.model, cell.encoding, cell.seed);
  begin_with(*model, checkpoint);
  return model;
}

std::vector<float> to_numbers(const at::Tensor& tensor) {
  const auto flat = tensor.detach().to(at::kFloat).contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

}  // namespace

Weights weights_of(const Transformer& model) {
  Weights weights;
  for (const auto& parameter : model->named_parameters())
    weights.emplace(parameter.key(), to_numbers(parameter.value()));
  return weights;
}

Weights read_weights(const Cell& cell, const std::string& checkpoint) {
  return weights_of(read_model(cell, checkpoint));
}

std::vector<float> whole_logits(const Cell& cell, const std::string& checkpoint,
                                std::span<const std::int64_t> tokens) {
  const torch::NoGradGuard no_gradient;
  Transformer model = read_model(cell, checkpoint);
  const auto inputs = at::empty({1, std::ssize(tokens)}, at::TensorOptions().dtype(at::kLong));
  std::ranges::copy(tokens, inputs.data_ptr<std::int64_t>());
  return to_numbers(model->forward(inputs, {}));
}

}  // namespace rotary::lab
