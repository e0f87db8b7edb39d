// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/composed.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace rotary::lab::composed {
namespace {

// Rows of cos and sin, each [tokens, pairs], with the device and type of `like`.
template <class Real>
std::pair<at::Tensor, at::Tensor> rows(const Rotations& rotations, const at::Tensor& like) {
  std::vector<at::Tensor> cos;
  std::vector<at::Tensor> sin;
  for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
    const auto c = rotations.cos<Real>(0, t);
    const auto s = rotations.sin<Real>(0, t);
    cos.push_back(at::tensor(at::ArrayRef<Real>(c.data(), c.size()), like.options()));
    sin.push_back(at::tensor(at::ArrayRef<Real>(s.data(), s.size()), like.options()));
  }
  return {at::stack(cos), at::stack(sin)};
}

// The table row for each query and key, [tokens, tokens].
at::Tensor window_rows(std::int64_t tokens, const ShawWindow& window, const at::Tensor& like) {
  const auto places = at::arange(tokens, like.options().dtype(at::kLong));
  const auto relative = places.unsqueeze(0) - places.unsqueeze(1);
  return relative.clamp(-window.left, window.right) + window.left;
}

// [tokens, tokens, features]
at::Tensor vectors(const at::Tensor& table, std::int64_t tokens, const ShawWindow& window) {
  const auto rows = window_rows(tokens, window, table);
  return table.index_select(0, rows.flatten()).view({tokens, tokens, table.size(1)});
}

}  // namespace

at::Tensor rotate_heads(const at::Tensor& heads, const Rotations& rotations) {
  const HeadWindow& window = rotations.window();
  const auto x = heads.transpose(1, 2).contiguous();
  const auto [cos, sin] = rotations.row_dtype() == RowDType::f64 ? rows<double>(rotations, x)
                                                                 : rows<float>(rotations, x);
  const std::int64_t end = window.first_feature + window.rotary_dim;
  const auto turning = x.slice(3, window.first_feature, end);
  const bool reads = reads_halves(window.pairing);
  const std::int64_t pairs = window.pairs();
  const auto first = reads ? turning.slice(3, 0, pairs) : turning.slice(3, 0, end, 2);
  const auto second = reads ? turning.slice(3, pairs) : turning.slice(3, 1, end, 2);
  const auto turned_first = first * cos - second * sin;
  const auto turned_second = second * cos + first * sin;
  const auto turned = writes_halves(window.pairing)
                          ? at::cat({turned_first, turned_second}, 3)
                          : at::stack({turned_first, turned_second}, 4).flatten(3);
  return at::cat({x.slice(3, 0, window.first_feature), turned, x.slice(3, end)}, 3);
}

at::Tensor add_shaw_scores(const at::Tensor& scores, const at::Tensor& q, const at::Tensor& table,
                           const ShawWindow& window) {
  return scores + at::einsum("bhrf,rcf->bhrc", {q, vectors(table, q.size(2), window)});
}

at::Tensor add_shaw_values(const at::Tensor& out, const at::Tensor& weights,
                           const at::Tensor& table, const ShawWindow& window) {
  return out + at::einsum("bhrc,rcf->bhrf", {weights, vectors(table, out.size(2), window)});
}

at::Tensor add_learned_rows(const at::Tensor& x, const at::Tensor& table) {
  return x + table.slice(0, 0, x.size(1));
}

}  // namespace rotary::lab::composed
