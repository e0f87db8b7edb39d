// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "fuzz/c_abi/memory.hpp"
#include "fuzz/c_abi/session.hpp"
#include "fuzz/check.hpp"
#include "rotary/shift.hpp"

namespace rotary::fuzz {
namespace {

// A call must fill a struct up to its struct_size, and leave the other bytes unchanged.
template <class T>
void check_filled(const Passed<T>& before, const Passed<T>& after, const T& wanted,
                  bool is_filled) {
  std::vector<std::byte> expected = before.bytes();
  if (is_filled) {
    T value = wanted;
    std::memcpy(&value, expected.data(), sizeof value.struct_size);
    std::memcpy(expected.data(), &value, std::min(expected.size(), sizeof value));
  }
  if (expected != after.bytes())
    fail("a struct must be filled up to its struct_size, and only on success");
}

}  // namespace

void Session::ask_frequencies() {
  const FrequenciesTwin& one = any_of(frequencies_);
  const FrequenciesTwin& other = any_of(frequencies_);
  const bool is_missing = !one.twin;
  std::int32_t alike = -1;
  if (one.twin && other.twin) alike = rotate_alike(*one.twin, *other.twin) ? 1 : 0;
  check_value(rotary_frequencies_alike(one.handle(), other.handle()) == alike,
              "whether two frequencies are alike", alike == -1);
  const double factor = rotary_frequencies_attention_factor(one.handle());
  check_value(is_missing ? std::isnan(factor) : factor == one.twin->attention_factor,
              "an attention factor", is_missing);
  const double* const inv_freq = rotary_frequencies_inv_freq(one.handle());
  check_value(is_missing ? inv_freq == nullptr
                         : inv_freq != nullptr &&
                               std::ranges::equal(one.twin->inv_freq,
                                                  std::span(inv_freq, one.twin->inv_freq.size())),
              "frequencies", is_missing);
  std::int64_t first = -7;
  std::int64_t last = -7;
  const bool has_first = !input_.once_in(32);
  const bool has_last = !input_.once_in(32);
  const rotary_status of_contexts = rotary_frequencies_contexts(
      one.handle(), has_first ? &first : nullptr, has_last ? &last : nullptr);
  const bool is_answered = !is_missing && has_first && has_last;
  check(of_contexts, is_answered ? Wanted(Status()) : Wanted());
  const ContextRange contexts = is_answered ? one.twin->contexts : ContextRange{-7, -7};
  if (first != contexts.first || last != contexts.last) fail("contexts must be those of C++");
  Passed<rotary_window> window(input_, decode_c_window());
  const Passed<rotary_window> before = window;
  const rotary_status status = rotary_frequencies_window(one.handle(), window.pointer());
  const bool is_filled = !is_missing && window.has_size();
  check(status, is_filled ? Wanted(Status()) : Wanted());
  rotary_window wanted = ROTARY_WINDOW_INIT;
  if (is_filled) {
    const HeadWindow& of = one.twin->window;
    wanted.head_dim = of.head_dim;
    wanted.rotary_dim = of.rotary_dim;
    wanted.first_feature = of.first_feature;
    wanted.pairing = static_cast<int32_t>(of.pairing.get());
  }
  check_filled(before, window, wanted, is_filled);
}

void Session::count_row_bytes() {
  const Passed<rotary_window> window(input_, decode_c_window());
  const std::int64_t batch = input_.once_in(8) ? input_.integer() : input_.number(0, 3);
  const std::int64_t tokens = input_.once_in(8) ? input_.integer() : input_.number(-1, 100);
  const auto rows = static_cast<int32_t>(input_.number(0, 5));
  const bool has_bytes = !input_.once_in(64);
  std::size_t bytes = 77;
  const rotary_status status =
      rotary_row_bytes(window.pointer(), batch, tokens, rows, has_bytes ? &bytes : nullptr);
  const auto of = value_of(window);
  if (!of || !has_bytes) {
    check(status, {});
  } else {
    const auto counted = row_bytes(*of, batch, tokens, static_cast<RowDType>(rows));
    check(status, counted ? Status() : Status(counted.error()));
    if (counted && bytes != *counted) fail("C must count the bytes that C++ counts");
  }
  if (status != ROTARY_OK && bytes != 77) fail("nothing must be written on an error");
}

void Session::make_rotations_of_positions() {
  const FrequenciesTwin& frequencies = any_of(frequencies_);
  const auto decoded = decode_positions();
  if (!decoded) return;
  const Passed<rotary_positions> positions(input_, *decoded);
  const Passed<rotary_rotations_options> options(input_, decode_rotations_options(), optional);
  const auto at = value_of(positions);
  const auto how = value_of(options);
  auto made = make<RotationsTwin>(
      frequencies.twin && at && how,
      [&](rotary_rotations** out) {
        return rotary_rotations_make(frequencies.handle(), positions.pointer(), options.pointer(),
                                     out);
      },
      [&] { return make_rotations(*frequencies.twin, *at, *how); });
  if (made) any_of(rotations_) = *std::move(made);
}

void Session::remake_rotations_of_positions() {
  RotationsTwin& rotations = any_of(rotations_);
  const FrequenciesTwin& frequencies = any_of(frequencies_);
  const auto decoded = decode_positions();
  if (!decoded) return;
  const Passed<rotary_positions> positions(input_, *decoded);
  const rotary_status status =
      rotary_rotations_remake(rotations.handle(), frequencies.handle(), positions.pointer());
  const auto at = value_of(positions);
  if (!rotations.twin || !frequencies.twin || !at) {
    check(status, {});
    return;
  }
  check(status, remake_rotations(*rotations.twin, *frequencies.twin, *at));
}

// Makes rotations from the rows of existing rotations, or from any elements of the buffer.
void Session::make_rotations_of_rows() {
  rotary_window window = decode_c_window();
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  const RotationsTwin& from = any_of(rotations_);
  if (from.twin && !input_.once_in(8)) {
    if (rotary_rotations_rows(from.handle(), &rows) != ROTARY_OK) fail("rotations must have rows");
    const HeadWindow& of = from.twin->window();
    window = {sizeof window,
              of.head_dim,
              of.rotary_dim,
              of.first_feature,
              static_cast<int32_t>(of.pairing.get()),
              0,
              of.blocks};
  } else {
    rows.dtype = static_cast<int32_t>(input_.number(0, 5));
    // Strides may lead back by at most 8 elements of 8 bytes.
    rows.cos = CMemory::buffer().data() + 64 + input_.byte() * std::size_t{4};
    rows.sin = input_.once_in(32) ? nullptr : rows.cos;
    rows.tokens = input_.number(-1, 3);
    rows.token_stride = input_.number(-4, 4);
  }
  if (input_.once_in(16))
    rows.attention_factor = std::ldexp(1.0, static_cast<int>(input_.number(-30, 30)));
  if (input_.once_in(64)) rows.reserved = 1;
  const Passed<rotary_window> passed_window(input_, window);
  const Passed<rotary_cos_sin> passed_rows(input_, rows);
  const Passed<rotary_rotations_options> options(input_, decode_rotations_options(), optional);
  const auto of_window = value_of(passed_window);
  const auto given = passed_rows.value(ROTARY_COS_SIN_INIT);
  const auto how = value_of(options);
  bool unchecked = false;
  auto made = make<RotationsTwin>(
      of_window && given && how,
      [&](rotary_rotations** out) {
        unchecked = input_.once_in(4);
        return (unchecked ? rotary_rotations_of_unchecked_cos_sin : rotary_rotations_of_cos_sin)(
            passed_window.pointer(), passed_rows.pointer(), options.pointer(), out);
      },
      [&] {
        // Rows in a handle's own memory have no shadow, so C and C++ read the same memory.
        const CosSinView view{.cos = in_shadow(given->cos),
                              .sin = in_shadow(given->sin),
                              .dtype = static_cast<DType>(given->dtype),
                              .batch = given->batch,
                              .tokens = given->tokens,
                              .batch_stride = given->batch_stride,
                              .token_stride = given->token_stride,
                              .pair_stride = given->pair_stride,
                              .attention_factor = given->attention_factor};
        return unchecked ? make_unchecked_rotations(*of_window, view, *how)
                         : make_rotations(*of_window, view, *how);
      });
  if (made) any_of(rotations_) = *std::move(made);
}

void Session::ask_rows() {
  const RotationsTwin& rotations = any_of(rotations_);
  Passed<rotary_cos_sin> rows(input_, ROTARY_COS_SIN_INIT);
  const Passed<rotary_cos_sin> before = rows;
  const rotary_status status = rotary_rotations_rows(rotations.handle(), rows.pointer());
  const bool is_filled = rotations.twin && rows.has_size();
  check(status, is_filled ? Wanted(Status()) : Wanted());
  if (!is_filled) {
    check_filled(before, rows, {}, false);
    return;
  }
  const Rotations& twin = *rotations.twin;
  rotary_cos_sin got = ROTARY_COS_SIN_INIT;
  std::memcpy(&got, rows.bytes().data(), sizeof got);
  if (got.dtype != static_cast<int32_t>(twin.row_dtype()) || got.batch != twin.batch() ||
      got.tokens != twin.tokens() || got.attention_factor != twin.attention_factor()) {
    fail("rows must be those of C++");
  }
  if ((got.cos == nullptr) != (twin.tokens() == 0))
    fail("there must be rows exactly if there are tokens");
  if (twin.tokens() == 0) return;
  const std::int64_t batch = twin.batch() - 1;
  const std::int64_t token = twin.tokens() - 1;
  const std::int64_t last = batch * got.batch_stride + token * got.token_stride;
  const auto has_last_row = [&]<class Real>(Real /*like*/) {
    const auto is = [&](const void* rows_of_c, std::span<const Real> row) {
      const Real* const at = static_cast<const Real*>(rows_of_c) + last;
      return std::memcmp(at, row.data(), row.size_bytes()) == 0;
    };
    return is(got.cos, twin.cos<Real>(batch, token)) && is(got.sin, twin.sin<Real>(batch, token));
  };
  const bool is_wide = twin.row_dtype() == RowDType::f64;
  if (!(is_wide ? has_last_row(double{}) : has_last_row(float{}))) {
    fail("rows must be those of C++");
  }
}

}  // namespace rotary::fuzz
