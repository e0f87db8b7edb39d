// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/attention_call.hpp"

#include "fuzz/check.hpp"
#include "fuzz/placing.hpp"

namespace rotary::fuzz {

bool is_inside(const Arena& arena, const ConstHeadsView& view) {
  const auto reach = reach_of(view);
  return !reach || view.data == nullptr || arena.holds(view.data, *reach);
}

bool is_inside(const Arena& arena, const ConstMatrixView& table) {
  return is_inside(arena, ConstHeadsView{.data = table.data,
                                         .dtype = table.dtype,
                                         .extents = {1, table.rows, 1, table.columns},
                                         .strides = {.token = table.row_stride,
                                                     .feature = table.column_stride}});
}

void append_numbers(std::vector<std::int64_t*>& to, HeadsView& view) {
  Extents& n = view.extents;
  Strides& s = view.strides;
  to.insert(to.end(),
            {&n.batch, &n.tokens, &n.heads, &n.features, &s.batch, &s.token, &s.head, &s.feature});
}

void append_numbers(std::vector<std::int64_t*>& to, ScoresView& view) {
  ScoresExtents& n = view.extents;
  ScoresStrides& s = view.strides;
  to.insert(to.end(),
            {&n.batch, &n.heads, &n.queries, &n.keys, &s.batch, &s.head, &s.query, &s.key});
}

void change_number(Bytes& input, const std::vector<std::int64_t*>& numbers) {
  std::int64_t& number = *numbers[input.byte() % numbers.size()];
  const std::int64_t step = input.number(-2, 2);
  if (step == 0) {
    number = input.integer();
  } else if (__builtin_add_overflow(number, step, &number)) {
    number = 0;
  }
}

Expected change_view(Bytes& input, HeadsView& view) {
  const Extents& n = view.extents;
  const bool has_elements = n.batch > 0 && n.tokens > 0 && n.heads > 0 && n.features > 0;
  const Expected if_read = has_elements ? Expected::refused : Expected::either;
  switch (input.number(0, 3)) {
    case 0:
      view.dtype = input.once_in(2) ? DType::f64 : static_cast<DType>(input.number(-1, 6));
      return Expected::either;
    case 1:
      view.data = nullptr;
      return if_read;
    case 2:
      if (view.data == nullptr) return Expected::accepted;
      view.data = static_cast<std::byte*>(view.data) + 1;
      return if_read;
    default:
      view.strides.feature = 2;
      return n.features > 1 ? if_read : Expected::accepted;
  }
}

void check_refused(Arena& arena, const Error& error, Expected expected) {
  check_error(error);
  if (expected == Expected::accepted) fail("a legal call must succeed", error.message);
  arena.allow_nothing();
  if (arena.differs()) fail("nothing must be written on an error");
}

std::int64_t decode_concurrency(Bytes& input) {
  return input.once_in(8) ? input.integer() : input.number(0, 20);
}

}  // namespace rotary::fuzz
