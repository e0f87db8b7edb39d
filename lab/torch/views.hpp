// SPDX-License-Identifier: Apache-2.0
// Tensors as views of the core library: same memory, same strides.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "rotary/tensor_view.hpp"

namespace rotary::lab {

// f32 or f64 on the processor; fails for other tensors.
[[nodiscard]] DType dtype_of(const at::Tensor& tensor);

// [batch, tokens, heads, features]
[[nodiscard]] HeadsView heads_view(const at::Tensor& tensor);

// [batch, heads, queries, keys]
[[nodiscard]] ScoresView scores_view(const at::Tensor& tensor);

// [batch, tokens, features]
[[nodiscard]] TokensView tokens_view(const at::Tensor& tensor);

// [rows, columns]
[[nodiscard]] TableView table_view(const at::Tensor& tensor);

// The device of this process's tensors. use_device() (train_cell.hpp) sets it.
[[nodiscard]] at::Device device() noexcept;
// Puts the numbers on device().
[[nodiscard]] at::Tensor to_tensor(const std::vector<std::int64_t>& numbers);

}  // namespace rotary::lab
