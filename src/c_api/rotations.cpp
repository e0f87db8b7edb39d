// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"

using rotary::Result;
using rotary::Rotations;
using rotary::Status;
using rotary::c_api::null_argument;

namespace {

// Requires at least one token.
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

}  // namespace

rotary_status rotary_row_bytes(const rotary_window* window, int64_t batch, int64_t tokens,
                               int32_t rows, size_t* bytes) {
  return rotary::c_api::run([&]() -> Status {
    if (bytes == nullptr) return null_argument("bytes");
    const auto head_window = rotary::c_api::window(window);
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
  return rotary::c_api::make(out, [&]() -> Result<Rotations> {
    if (frequencies == nullptr) return null_argument("frequencies");
    const auto tokens = rotary::c_api::positions(positions);
    if (!tokens) return tokens.error();
    const auto making = rotary::c_api::rotations_options(options);
    if (!making) return making.error();
    return rotary::make_rotations(frequencies->value, *tokens, *making);
  });
}

rotary_status rotary_rotations_remake(rotary_rotations* rotations,
                                      const rotary_frequencies* frequencies,
                                      const rotary_positions* positions) {
  return rotary::c_api::run([&]() -> Status {
    if (rotations == nullptr) return null_argument("rotations");
    if (frequencies == nullptr) return null_argument("frequencies");
    const auto tokens = rotary::c_api::positions(positions);
    if (!tokens) return tokens.error();
    return rotary::remake_rotations(rotations->value, frequencies->value, *tokens);
  });
}

rotary_status rotary_rotations_of_cos_sin(const rotary_window* window, const rotary_cos_sin* rows,
                                          const rotary_rotations_options* options,
                                          rotary_rotations** out) {
  return rotary::c_api::make(out, [&]() -> Result<Rotations> {
    const auto head_window = rotary::c_api::window(window);
    if (!head_window) return head_window.error();
    const auto view = rotary::c_api::cos_sin(rows);
    if (!view) return view.error();
    const auto making = rotary::c_api::rotations_options(options);
    if (!making) return making.error();
    return rotary::make_rotations(*head_window, *view, *making);
  });
}

void rotary_rotations_free(rotary_rotations* rotations) { delete rotations; }

rotary_status rotary_rotations_rows(const rotary_rotations* rotations, rotary_cos_sin* rows) {
  return rotary::c_api::run([&]() -> Status {
    if (rotations == nullptr) return null_argument("rotations");
    return rotary::c_api::write_struct("rows", rows, rows_of(rotations->value));
  });
}
