// SPDX-License-Identifier: Apache-2.0
// Decodes views of tokens, tables, scores and matrices from an input.
#pragma once

#include "fuzz/bytes.hpp"
#include "fuzz/numbers_case.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

template <class View>
requires requires(View view) { view.strides.token; }
void set_strides(View& view, const Axes& axes) {
  view.strides.batch = axes[0];
  view.strides.token = axes[1];
  if constexpr (requires { view.strides.head; }) view.strides.head = axes[2];
  view.strides.feature = axes[3];
}

template <class View>
requires requires(View view) { view.strides.query; }
void set_strides(View& scores, const Axes& axes) {
  scores.strides = {.batch = axes[0], .head = axes[2], .query = axes[1], .key = axes[3]};
}

template <class View>
requires requires(View view) { view.row_stride; }
void set_strides(View& table, const Axes& axes) {
  table.row_stride = axes[1];
  table.feature_stride = axes[3];
}

// Gives a view strides and a place; its dtype and extents are set. Returns false if none fits.
template <class View>
[[nodiscard]] bool decode_view(Bytes& input, Places& places, View& view) {
  Strided all = strided(view);
  all.strides = decode_strides(input, all.counts, Features::anywhere);
  const auto place = places.place(input, all);
  if (!place) return false;
  view.data = *place;
  set_strides(view, all.strides);
  return true;
}

// src is dst, dst at another address, or a separate view, usually of the same extents and dtype.
[[nodiscard]] bool decode_source(Bytes& input, Places& places, const TokensView& dst,
                                 ConstTokensView& src);

// The requirements of check_transfer: one dtype, the same extents, in place or apart.
[[nodiscard]] bool are_in_place(const ConstTokensView& dst, const ConstTokensView& src);

// True if these numbers may belong to the tokens of a view with these extents.
[[nodiscard]] bool are_of_tokens(const NumbersCase& numbers, const TokenExtents& n);

}  // namespace rotary::fuzz
