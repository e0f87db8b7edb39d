// SPDX-License-Identifier: Apache-2.0
// Tensors as views of the core library: the same memory, the strides as they are.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "rotary/tensor_view.hpp"

namespace rotary::lab {

// f32 or f64, on the processor; fails for any other tensor.
[[nodiscard]] DType dtype_of(const at::Tensor& tensor);

// [batch, tokens, heads, features]
[[nodiscard]] HeadsView heads_view(const at::Tensor& tensor);

// [batch, heads, queries, keys]
[[nodiscard]] ScoresView scores_view(const at::Tensor& tensor);

// [batch, tokens, features]
[[nodiscard]] TokensView tokens_view(const at::Tensor& tensor);

// [rows, columns]
[[nodiscard]] TableView table_view(const at::Tensor& tensor);

// The device of this process's tensors: the processor, or a GPU that torch was built for.
// The processor, until use_device() (train_cell.hpp) says otherwise.
[[nodiscard]] at::Device device() noexcept;
// On it.
[[nodiscard]] at::Tensor to_tensor(const std::vector<std::int64_t>& numbers);

}  // namespace rotary::lab
