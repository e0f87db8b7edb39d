// SPDX-License-Identifier: Apache-2.0

#include "lab/torch/views.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cstdlib>
#include <string>

#include "apps/failure.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {

DType dtype_of(const at::Tensor& tensor) {
  if (tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat) return DType::f32;
  if (tensor.device().is_cpu() && tensor.scalar_type() == at::kDouble) return DType::f64;
  throw cli::Failure(cli::ExitCode::unsupported,
                     fmt::format("encodings take tensors of f32 or f64 on the processor, got {} "
                                 "on {}",
                                 c10::toString(tensor.scalar_type()), tensor.device().str()));
}

HeadsView heads_view(const at::Tensor& tensor) {
  return {.data = tensor.data_ptr(),
          .dtype = dtype_of(tensor),
          .extents = {.batch = tensor.size(0),
                      .tokens = tensor.size(1),
                      .heads = tensor.size(2),
                      .features = tensor.size(3)},
          .strides = {.batch = tensor.stride(0),
                      .token = tensor.stride(1),
                      .head = tensor.stride(2),
                      .feature = tensor.stride(3)}};
}

ScoresView scores_view(const at::Tensor& tensor) {
  return {.data = tensor.data_ptr(),
          .dtype = dtype_of(tensor),
          .extents = {.batch = tensor.size(0),
                      .heads = tensor.size(1),
                      .queries = tensor.size(2),
                      .keys = tensor.size(3)},
          .strides = {.batch = tensor.stride(0),
                      .head = tensor.stride(1),
                      .query = tensor.stride(2),
                      .key = tensor.stride(3)}};
}

TokensView tokens_view(const at::Tensor& tensor) {
  return {
      .data = tensor.data_ptr(),
      .dtype = dtype_of(tensor),
      .extents = {.batch = tensor.size(0), .tokens = tensor.size(1), .features = tensor.size(2)},
      .strides = {
          .batch = tensor.stride(0), .token = tensor.stride(1), .feature = tensor.stride(2)}};
}

TableView table_view(const at::Tensor& tensor) {
  return {.data = tensor.data_ptr(),
          .dtype = dtype_of(tensor),
          .rows = tensor.size(0),
          .features = tensor.size(1),
          .row_stride = tensor.stride(0),
          .feature_stride = tensor.stride(1)};
}

namespace {

// The process's device. It is set once before the first model.
at::Device& chosen() noexcept {
  static at::Device device(at::kCPU);
  return device;
}

}  // namespace

at::Device device() noexcept { return chosen(); }

at::Tensor to_tensor(const std::vector<std::int64_t>& numbers) {
  return torch::tensor(numbers, at::TensorOptions().dtype(at::kLong)).to(device());
}

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
  // On one machine, each process gets its own GPU if there are enough.
  const char* const local_rank = std::getenv("LOCAL_RANK");
  const auto index = local_rank == nullptr ? 0UL : std::strtoul(local_rank, nullptr, 10);
  chosen() =
      at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index % torch::cuda::device_count()));
}

}  // namespace rotary::lab
