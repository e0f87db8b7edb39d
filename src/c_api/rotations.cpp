// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"

using rotary::Rotations;
using rotary::Status;
namespace c_api = rotary::c_api;

namespace {

// Sets cos and sin. Requires at least one token.
template <class Real>
void point_at_rows(const Rotations& rotations, rotary_cos_sin& rows) {
  rows.cos = rotations.cos<Real>(0, 0).data();
  rows.sin = rotations.sin<Real>(0, 0).data();
}

rotary_cos_sin rows_of(const Rotations& rotations) {
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  rows.dtype = static_cast<int32_t>(rotations.row_dtype());
  rows.batch = rotations.batch();
  rows.tokens = rotations.tokens();
  rows.token_stride = rotations.row_stride();
  rows.batch_stride = rows.tokens * rows.token_stride;
  rows.attention_factor = rotations.attention_factor();
  if (rows.tokens == 0) return rows;
  if (rotations.row_dtype() == rotary::RowDType::f64) {
    point_at_rows<double>(rotations, rows);
  } else {
    point_at_rows<float>(rotations, rows);
  }
  return rows;
}

constexpr auto make_rotations = [](const auto&... from) { return rotary::make_rotations(from...); };

// Makes rotations from the caller's rows. make: a function of a window, rows and options.
template <class Make>
rotary_status rotations_of(const rotary_window* window, const rotary_cos_sin* rows,
                           const rotary_rotations_options* options, rotary_rotations** out,
                           const Make& make) {
  return c_api::make(out, [&] {
    return c_api::with(make, c_api::window(window), c_api::cos_sin(rows),
                       c_api::rotations_options(options));
  });
}

}  // namespace

rotary_status rotary_row_bytes(const rotary_window* window, int64_t batch, int64_t tokens,
                               int32_t rows, size_t* bytes) {
  return c_api::run([&]() -> Status {
    if (bytes == nullptr) return c_api::null_argument("bytes");
    const auto head_window = c_api::window(window);
    if (!head_window) return head_window.error();
    const auto counted =
        rotary::row_bytes(*head_window, batch, tokens, static_cast<rotary::RowDType>(rows));
    if (!counted) return counted.error();
    *bytes = *counted;
    return {};
  });
}

rotary_status rotary_rotations_make(const rotary_frequencies* frequencies,
                                    const rotary_positions* positions,
                                    const rotary_rotations_options* options,
                                    rotary_rotations** out) {
  return c_api::make(out, [&] {
    return c_api::with(make_rotations, c_api::held_by("frequencies", frequencies),
                       c_api::positions(positions), c_api::rotations_options(options));
  });
}

rotary_status rotary_rotations_remake(rotary_rotations* rotations,
                                      const rotary_frequencies* frequencies,
                                      const rotary_positions* positions) {
  return c_api::run([&] {
    return c_api::with(rotary::remake_rotations, c_api::held_by("rotations", rotations),
                       c_api::held_by("frequencies", frequencies), c_api::positions(positions));
  });
}

rotary_status rotary_rotations_of_cos_sin(const rotary_window* window, const rotary_cos_sin* rows,
                                          const rotary_rotations_options* options,
                                          rotary_rotations** out) {
  return rotations_of(window, rows, options, out, make_rotations);
}

rotary_status rotary_rotations_of_unchecked_cos_sin(const rotary_window* window,
                                                    const rotary_cos_sin* rows,
                                                    const rotary_rotations_options* options,
                                                    rotary_rotations** out) {
  return rotations_of(window, rows, options, out, rotary::make_unchecked_rotations);
}

void rotary_rotations_free(rotary_rotations* rotations) { delete rotations; }

rotary_status rotary_rotations_rows(const rotary_rotations* rotations, rotary_cos_sin* rows) {
  return c_api::run([&]() -> Status {
    if (rotations == nullptr) return c_api::null_argument("rotations");
    return c_api::write_struct("rows", rows, rows_of(rotations->value));
  });
}
