// SPDX-License-Identifier: Apache-2.0
// The C ABI, which wraps the C++ API.
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/rotary.h"
#include "rotary/rotary_kv_cache.h"

namespace rotary::test {
namespace {

constexpr Size head{.natural = 4, .held = Held::each};
constexpr Size rows_of_batch{.natural = 2, .held = Held::each};

Status status_of(rotary_status status) {
  if (status == ROTARY_OK) return {};
  return Error{static_cast<ErrorCode>(status), rotary_last_error()};
}

rotary_heads_view c_view(const Extents& extents) {
  const HeadsView view = heads(extents);
  const Extents& n = extents;
  const Strides& s = view.strides;
  return {sizeof(rotary_heads_view),
          view.data,
          ROTARY_F32,
          0,
          {n.batch, n.tokens, n.heads, n.features},
          {s.batch, s.token, s.head, s.feature}};
}

const rotary_frequencies* frequencies() {
  static const auto* const made = [] {
    constexpr std::string_view spec = R"({"head_dim": 4, "base": 100, "pairing": "half"})";
    rotary_frequencies* out = nullptr;
    static_cast<void>(rotary_frequencies_of_spec(spec.data(), spec.size(), &out));
    return out;
  }();
  return made;
}

rotary_positions c_positions(std::int64_t batch, std::int64_t count) {
  const TokenArray<std::int64_t> of = positions<std::int64_t>(batch, count);
  return {sizeof(rotary_positions), ROTARY_POSITIONS_INT64, 0, 0, of.data, of.batch, count,
          of.batch_stride,          of.token_stride};
}

// Freed with the rows; null where there are none.
using RotationsHandle = std::unique_ptr<rotary_rotations, void (*)(rotary_rotations*)>;

RotationsHandle owned(rotary_rotations* rotations) { return {rotations, rotary_rotations_free}; }

RotationsHandle shift_rows_for(std::int64_t count) {
  const rotary_positions at = c_positions(1, count);
  const rotary_rotated_at side{sizeof(rotary_rotated_at), frequencies(), &at};
  rotary_rotations* out = nullptr;
  static_cast<void>(rotary_shift_make(&side, &side, nullptr, &out));
  return owned(out);
}

// Batch, tokens, heads, features.
Rows view_rows() {
  const std::vector<Size> sizes = {{}, {}, {}, head};
  return {
      {"rotary_rotate", sizes,
       [](Sizes n) {
         const RotationsHandle by = shift_rows_for(n[1]);
         const rotary_heads_view view = c_view({n[0], n[1], n[2], n[3]});
         return status_of(rotary_rotate(&view, &view, by.get(), nullptr));
       }},
      {"rotary_rotate_qk", sizes,
       [](Sizes n) {
         const RotationsHandle by = shift_rows_for(n[1]);
         const rotary_heads_view q = c_view({n[0], n[1], n[2], n[3]});
         const rotary_heads_view k = c_view({n[0], n[1], n[2], n[3]});
         return status_of(rotary_rotate_qk(&q, &k, by.get(), nullptr));
       }},
      {"rotary_shift", sizes,
       [](Sizes n) {
         const RotationsHandle by = shift_rows_for(n[1]);
         const rotary_heads_view view = c_view({n[0], n[1], n[2], n[3]});
         return status_of(rotary_shift(&view, by.get(), nullptr));
       }},
      {"rotary_shift_int8", sizes,
       [](Sizes n) {
         const RotationsHandle by = shift_rows_for(n[1]);
         const HeadsView of = heads({n[0], n[1], n[2], n[3]});
         const Strides& s = of.strides;
         const rotary_int8_view view{sizeof(rotary_int8_view),
                                     static_cast<std::int8_t*>(of.data),
                                     static_cast<float*>(heads(of.extents).data),
                                     {n[0], n[1], n[2], n[3]},
                                     {s.batch, s.token, s.head, s.feature},
                                     {s.batch, s.token, s.head}};
         return status_of(rotary_shift_int8(&view, by.get(), nullptr));
       }},
      {"rotary_normalize_heads", sizes,
       [](Sizes n) {
         const rotary_heads_view view = c_view({n[0], n[1], n[2], n[3]});
         const rotary_head_norm norm{sizeof(rotary_head_norm),   nullptr, 0, 0, 1e-5,
                                     ROTARY_NORM_OVER_ALL_HEADS, 0};
         return status_of(rotary_normalize_heads(&view, &view, &norm, nullptr));
       }},
  };
}

constexpr std::int64_t padding = -1;

// Batch, tokens, heads, features; heads and features of v; blocks and slots.
struct CacheCall {
  std::array<rotary_heads_view, 4> views;  // k and v of the cache, then those to store
  rotary_kv cache;
  rotary_kv heads;
  rotary_slots slots;

  explicit CacheCall(Sizes n)
      : views{c_view({n[6], n[7], n[2], n[3]}), c_view({n[6], n[7], n[4], n[5]}),
              c_view({n[0], n[1], n[2], n[3]}), c_view({n[0], n[1], n[4], n[5]})},
        cache{sizeof(rotary_kv), &views[0], &views[1]},
        heads{sizeof(rotary_kv), &views[2], &views[3]},
        slots{sizeof(rotary_slots), ROTARY_SLOTS_INT64, 0, 0, &padding, n[0], n[1], 0, 0} {}
};

Rows cache_calls() {
  const std::vector<Size> sizes = {{}, {}, {}, head, {}, head, {}, {}};
  return {
      {"rotary_append", sizes,
       [](Sizes n) {
         const RotationsHandle by = shift_rows_for(n[1]);
         const CacheCall of(n);
         return status_of(rotary_append(&of.cache, &of.heads, &of.slots, by.get(), nullptr));
       }},
      {"rotary_append_unrotated", sizes,
       [](Sizes n) {
         const CacheCall of(n);
         return status_of(rotary_append_unrotated(&of.cache, &of.heads, &of.slots, nullptr));
       }},
  };
}

// Batch, tokens.
Rows rotations_calls() {
  return {
      {"rotary_rotations_make",
       {rows_of_batch, {}},
       [](Sizes n) {
         const rotary_positions at = c_positions(n[0], n[1]);
         rotary_rotations* out = nullptr;
         const rotary_status status = rotary_rotations_make(frequencies(), &at, nullptr, &out);
         const RotationsHandle made = owned(out);
         return status_of(status);
       }},
      {"rotary_rotations_remake",
       {rows_of_batch, {}},
       [](Sizes n) {
         const RotationsHandle made = shift_rows_for(1);
         const rotary_positions at = c_positions(n[0], n[1]);
         return status_of(rotary_rotations_remake(made.get(), frequencies(), &at));
       }},
      {"rotary_rotations_of_cos_sin",
       {{}, {}},
       [](Sizes n) {
         const rotary_window window{sizeof(rotary_window), 4, 4, 0, ROTARY_PAIRING_HALF, 0};
         const Extents extents{n[0], n[1], 1, 2};
         const rotary_cos_sin rows{sizeof(rotary_cos_sin),
                                   heads(extents).data,
                                   heads(extents).data,
                                   ROTARY_F32,
                                   0,
                                   n[0],
                                   n[1],
                                   0,
                                   0,
                                   1,
                                   1.0};
         rotary_rotations* out = nullptr;
         const rotary_status status = rotary_rotations_of_cos_sin(&window, &rows, nullptr, &out);
         const RotationsHandle made = owned(out);
         return status_of(status);
       }},
      {"rotary_row_bytes",
       {{}, {}},
       [](Sizes n) {
         const rotary_window window{sizeof(rotary_window), 4, 4, 0, ROTARY_PAIRING_HALF, 0};
         std::size_t bytes = 0;
         return status_of(rotary_row_bytes(&window, n[0], n[1], ROTARY_F32, &bytes));
       }},
  };
}

// Batch of one side, of the other, tokens.
Rows shift_calls() {
  return {
      {"rotary_shift_make",
       {rows_of_batch, rows_of_batch, {}},
       [](Sizes n) {
         const rotary_positions a = c_positions(n[0], n[2]);
         const rotary_positions b = c_positions(n[1], n[2]);
         const rotary_rotated_at from{sizeof(rotary_rotated_at), frequencies(), &a};
         const rotary_rotated_at to{sizeof(rotary_rotated_at), frequencies(), &b};
         rotary_rotations* out = nullptr;
         const rotary_status status = rotary_shift_make(&from, &to, nullptr, &out);
         const RotationsHandle made = owned(out);
         return status_of(status);
       }},
      {"rotary_shift_remake",
       {rows_of_batch, rows_of_batch, {}},
       [](Sizes n) {
         const RotationsHandle made = shift_rows_for(1);
         const rotary_positions a = c_positions(n[0], n[2]);
         const rotary_positions b = c_positions(n[1], n[2]);
         const rotary_rotated_at from{sizeof(rotary_rotated_at), frequencies(), &a};
         const rotary_rotated_at to{sizeof(rotary_rotated_at), frequencies(), &b};
         return status_of(rotary_shift_remake(made.get(), &from, &to));
       }},
  };
}

}  // namespace

Rows c_rows() {
  Rows all;
  for (Rows& rows : std::array{view_rows(), cache_calls(), rotations_calls(), shift_calls()})
    for (Row& row : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace rotary::test
