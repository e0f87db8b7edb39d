// SPDX-License-Identifier: Apache-2.0

#include "lab/torch/generate.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lab/torch/begin_with.hpp"
#include "lab/torch/decoder.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {

Generated generate(const Cell& cell, const std::string& checkpoint,
                   const GenerateOptions& options) {
  const torch::NoGradGuard no_gradient;
  Transformer model(cell.model, cell.encoding, cell.seed);
  begin_with(*model, checkpoint);
  Decoder decoder(cell.encoding, cell.model, model,
                  std::ssize(options.prompt) + options.tokens - 1);
  Random random(options.seed);
  Generated made{.text = options.prompt};
  std::vector<std::int64_t> fed;
  std::vector<at::Tensor> logits;
  std::vector<std::int64_t> next;
  for (const char c : options.prompt) next.push_back(static_cast<unsigned char>(c));
  for (std::int64_t n = 0; n < options.tokens; ++n) {
    logits.push_back(decoder.feed(next));
    fed.insert(fed.end(), next.begin(), next.end());
    next = {choose(logits.back()[-1], options.sampling, random)};
    made.text += static_cast<char>(next.front());
  }
  if (!options.check) return made;
  const auto whole = model->forward(to_tensor(fed).unsqueeze(0), {});
  made.fed = std::ssize(fed);
  made.difference = (at::cat(logits) - whole).abs().max().item<double>();
  made.largest = whole.abs().max().item<double>();
  return made;
}

}  // namespace rotary::lab
