// SPDX-License-Identifier: Apache-2.0
#include "check/views.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

namespace rotary::check {

ConstHeadsView as_heads(const ConstTableView& table) {
  return {.data = table.data,
          .dtype = table.dtype,
          .extents = {1, table.rows, 1, table.features},
          .strides = {.token = table.row_stride, .feature = table.feature_stride}};
}

ConstHeadsView as_heads(const ConstScoresView& scores) {
  const ScoresExtents& n = scores.extents;
  const ScoresStrides& s = scores.strides;
  return {.data = scores.data,
          .dtype = scores.dtype,
          .extents = {n.batch, n.queries, n.heads, n.keys},
          .strides = {.batch = s.batch, .token = s.query, .head = s.head, .feature = s.key}};
}

std::vector<double> head_at(const ConstHeadsView& view, const HeadIndex& at) {
  std::vector<double> features;
  features.reserve(static_cast<std::size_t>(view.extents.features));
  for (std::int64_t f = 0; f < view.extents.features; ++f)
    features.push_back(reference::element(view, at, f));
  return features;
}

std::vector<reference::CosSin> row_at(const Rotations& rotations, std::int64_t batch,
                                      std::int64_t token) {
  const std::int64_t row = rotations.batch() == 1 ? 0 : batch;
  const bool wide = rotations.row_dtype() == RowDType::f64;
  std::vector<reference::CosSin> pairs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rotations.window().pairs()); ++i) {
    if (wide) {
      pairs.push_back({rotations.cos<double>(row, token)[i], rotations.sin<double>(row, token)[i]});
    } else {
      pairs.push_back({rotations.cos(row, token)[i], rotations.sin(row, token)[i]});
    }
  }
  return pairs;
}

std::string fault_text(const std::string& what, double computed, double exact, double bound) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), ": %.9g where %.9g is right within %.9g", computed, exact,
                bound);
  return what + text.data();
}

}  // namespace rotary::check
