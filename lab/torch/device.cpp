// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/device.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cstdlib>
#include <string>

#include "cli/failure.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// The device of the process, like torch's number of threads: set once, before the first model.
at::Device& chosen() noexcept {
  static at::Device device(at::kCPU);
  return device;
}

}  // namespace

at::Device device() noexcept { return chosen(); }

void use_device(const std::string& name) {
  if (name == "cpu") {
    chosen() = at::Device(at::kCPU);
    return;
  }
  if (name != "cuda")
    throw cli::Failure(cli::ExitCode::usage,
                       fmt::format("--device must be cpu or cuda, got '{}'", name));
  if (!torch::cuda::is_available()) {
    throw cli::Failure(
        cli::ExitCode::unsupported,
        fmt::format("--device cuda needs a GPU and a libtorch that was built for it; "
                    "torch {} sees none",
                    TORCH_VERSION));
  }
  // Each process of one machine has its own GPU while there are enough.
  const char* const local_rank = std::getenv("LOCAL_RANK");
  const auto index = local_rank == nullptr ? 0UL : std::strtoul(local_rank, nullptr, 10);
  chosen() =
      at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index % torch::cuda::device_count()));
}

}  // namespace rotary::lab
