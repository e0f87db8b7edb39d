// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tokens_case.hpp"

#include <array>

namespace rotary::fuzz {
namespace {

// Strides of these counts, and a place for such a view.
bool decode_strided(Bytes& input, Places& places, Strided& view, std::byte*& data) {
  view.strides = decode_strides(input, view.counts, Features::anywhere);
  const auto place = places.place(input, view);
  if (place) data = *place;
  return place.has_value();
}

template <class View>
bool decode_tokens(Bytes& input, Places& places, View& view) {
  Strided all = strided(view);
  std::byte* data = nullptr;
  if (!decode_strided(input, places, all, data)) return false;
  view.data = data;
  view.strides = {.batch = all.strides[0], .token = all.strides[1], .feature = all.strides[3]};
  return true;
}

template <class View>
bool decode_table(Bytes& input, Places& places, View& table) {
  Strided all = strided(table);
  std::byte* data = nullptr;
  if (!decode_strided(input, places, all, data)) return false;
  table.data = data;
  table.row_stride = all.strides[1];
  table.feature_stride = all.strides[3];
  return true;
}

template <class View>
bool decode_scores(Bytes& input, Places& places, View& scores) {
  Strided all = strided(scores);
  std::byte* data = nullptr;
  if (!decode_strided(input, places, all, data)) return false;
  scores.data = data;
  scores.strides = {.batch = all.strides[0],
                    .head = all.strides[2],
                    .query = all.strides[1],
                    .key = all.strides[3]};
  return true;
}

template <class View>
bool decode_heads(Bytes& input, Places& places, View& heads) {
  Strided all = strided(heads);
  std::byte* data = nullptr;
  if (!decode_strided(input, places, all, data)) return false;
  heads.data = data;
  heads.strides = {.batch = all.strides[0],
                   .token = all.strides[1],
                   .head = all.strides[2],
                   .feature = all.strides[3]};
  return true;
}

}  // namespace

bool decode_view(Bytes& input, Places& places, TokensView& view) {
  return decode_tokens(input, places, view);
}
bool decode_view(Bytes& input, Places& places, ConstTokensView& view) {
  return decode_tokens(input, places, view);
}
bool decode_view(Bytes& input, Places& places, TableView& table) {
  return decode_table(input, places, table);
}
bool decode_view(Bytes& input, Places& places, ConstTableView& table) {
  return decode_table(input, places, table);
}
bool decode_view(Bytes& input, Places& places, ScoresView& scores) {
  return decode_scores(input, places, scores);
}
bool decode_view(Bytes& input, Places& places, ConstScoresView& scores) {
  return decode_scores(input, places, scores);
}
bool decode_view(Bytes& input, Places& places, HeadsView& heads) {
  return decode_heads(input, places, heads);
}
bool decode_view(Bytes& input, Places& places, ConstHeadsView& heads) {
  return decode_heads(input, places, heads);
}

bool decode_view(Bytes& input, Places& places, ConstMatrixView& matrix) {
  Strided all = strided(matrix);
  std::byte* data = nullptr;
  if (!decode_strided(input, places, all, data)) return false;
  matrix.data = data;
  matrix.row_stride = all.strides[1];
  matrix.column_stride = all.strides[3];
  return true;
}

bool decode_source(Bytes& input, Places& places, const TokensView& dst, ConstTokensView& src) {
  src = dst;
  const std::int64_t kind = input.number(0, 7);
  if (kind <= 2) return true;
  if (input.once_in(32)) src.dtype = decode_dtype(input);
  if (input.once_in(32)) src.extents.tokens = input.number(0, 3);
  if (kind > 3) return decode_view(input, places, src);
  const auto data = places.place(input, strided(src));
  if (data) src.data = *data;
  return data.has_value();
}

bool are_in_place(const ConstTokensView& dst, const ConstTokensView& src) {
  return dst.dtype == src.dtype && are_same(strided(dst), strided(src));
}

bool are_of_tokens(const NumbersCase& numbers, const TokenExtents& n) {
  if (numbers.counts.tokens != n.tokens) return false;
  if (numbers.counts.batch != 1 && numbers.counts.batch != n.batch) return false;
  return numbers.counts.batch == 0 || are_positions(numbers);
}

}  // namespace rotary::fuzz
