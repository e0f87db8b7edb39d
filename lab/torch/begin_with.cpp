// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/begin_with.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {
namespace {

using torch::serialize::InputArchive;

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Finds every tensor below the archive by its dotted name.
void collect(InputArchive& archive, const std::string& prefix, NamedTensors& found) {
  for (const std::string& key : archive.keys()) {
    InputArchive below;
    at::Tensor tensor;  // undefined: reading into a tensor of another size aborts
    if (archive.try_read(key, below)) {
      collect(below, prefix + key + ".", found);
    } else if (archive.try_read(key, tensor)) {
      found.emplace_back(prefix + key, tensor);
    }
  }
}

NamedTensors read_weights(const std::string& path) {
  try {
    InputArchive archive;
    InputArchive model;
    archive.load_from(path, device());
    archive.read("model", model);
    NamedTensors weights;
    collect(model, "", weights);
    return weights;
  } catch (const c10::Error& error) {
    throw cli::Failure(
        cli::ExitCode::malformed_input,
        fmt::format("{} must be a checkpoint: {}", path, error.what_without_backtrace()));
  }
}

std::string text_of(at::IntArrayRef sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw cli::Failure(cli::ExitCode::usage, fmt::format("{}: {}", path, what));
}

// Whether the weight fills the first rows of a longer learned table.
bool is_longer(std::string_view name, const at::Tensor& own, const at::Tensor& weight) {
  return name == "positions.learned" && own.size(1) == weight.size(1) &&
         own.size(0) > weight.size(0);
}

}  // namespace

void begin_with(torch::nn::Module& model, const std::string& checkpoint) {
  const auto own = model.named_parameters();
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // (to, from)
  for (const auto& [name, weight] : read_weights(checkpoint)) {
    const bool of_positions = name.starts_with("positions.");
    const at::Tensor* const found = own.find(name);
    if (found == nullptr) {
      if (of_positions || name.starts_with("logits.")) continue;
      fail(checkpoint, fmt::format("the cell that starts from it must have the weight {}", name));
    }
    if (found->sizes() == weight.sizes()) {
      copies.emplace_back(*found, weight);
    } else if (is_longer(name, *found, weight)) {
      copies.emplace_back(found->slice(0, 0, weight.size(0)), weight);
    } else if (!of_positions) {
      fail(checkpoint, fmt::format("{} must be {} in the cell that starts from it, got {}", name,
                                   text_of(weight.sizes()), text_of(found->sizes())));
    }
  }
  const torch::NoGradGuard no_gradient;
  for (auto& [to, from] : copies) to.copy_(from);
}

}  // namespace rotary::lab
