// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/views.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include "cli/failure.hpp"

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

ConstTableView matrix_view(const at::Tensor& tensor) {
  return {.data = tensor.data_ptr(),
          .dtype = dtype_of(tensor),
          .rows = tensor.size(0),
          .features = tensor.size(1),
          .row_stride = tensor.stride(0),
          .feature_stride = tensor.stride(1)};
}

TableView table_view(const at::Tensor& tensor) {
  return {.data = tensor.data_ptr(),
          .dtype = dtype_of(tensor),
          .rows = tensor.size(0),
          .features = tensor.size(1),
          .row_stride = tensor.stride(0),
          .feature_stride = tensor.stride(1)};
}

}  // namespace rotary::lab
