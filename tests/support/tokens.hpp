// SPDX-License-Identifier: Apache-2.0
// Embeddings and tables as tensors with one head, with the guards and layouts of Tensor.
#pragma once

#include "rotary/tensor_view.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

[[nodiscard]] inline Shape tokens_shape(DType dtype, const TokenExtents& n,
                                        Layout layout = Layout::bthd) {
  return {.dtype = dtype,
          .extents = {.batch = n.batch, .tokens = n.tokens, .heads = 1, .features = n.features},
          .layout = layout};
}

[[nodiscard]] inline TokensView tokens_of(Tensor& tensor) {
  const HeadsView view = tensor.view();
  const auto& n = view.extents;
  const auto& s = view.strides;
  return {.data = view.data,
          .dtype = view.dtype,
          .extents = {.batch = n.batch, .tokens = n.tokens, .features = n.features},
          .strides = {.batch = s.batch, .token = s.token, .feature = s.feature}};
}

// The first batch row as a table.
[[nodiscard]] inline TableView table_of(Tensor& tensor) {
  const HeadsView view = tensor.view();
  return {.data = view.data,
          .dtype = view.dtype,
          .rows = view.extents.tokens,
          .features = view.extents.features,
          .row_stride = view.strides.token,
          .feature_stride = view.strides.feature};
}

}  // namespace rotary::test
