// SPDX-License-Identifier: Apache-2.0
#include "rotary/frequencies.hpp"

#include <limits>
#include <utility>

#include "base/message.hpp"
#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"

using rotary::Result;
using rotary::Status;
using rotary::c_api::is_given;
using rotary::c_api::null_argument;

rotary_status rotary_frequencies_of_inv_freq(const rotary_window* window, const double* inv_freq,
                                             size_t count, double attention_factor,
                                             rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary::Frequencies> {
    const auto head_window = rotary::c_api::window(window);
    if (!head_window) return head_window.error();
    if (inv_freq == nullptr) return null_argument("inv_freq");
    // Must be checked before `count` entries are read.
    if (std::cmp_not_equal(count, head_window->pairs())) {
      return rotary::invalid_argument("count must be rotary_dim / 2, ", head_window->pairs(),
                                      "; got ", count);
    }
    return rotary::make_frequencies(*head_window, {inv_freq, inv_freq + count}, attention_factor);
  });
}

rotary_status rotary_frequencies_of_axes(const rotary_window* window,
                                         const rotary_axis_frequencies* from,
                                         rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary::Frequencies> {
    const auto head_window = rotary::c_api::window(window);
    if (!head_window) return head_window.error();
    const auto given = rotary::c_api::read_struct("from", from);
    if (!given) return given.error();
    if (given->inv_freq == nullptr) return null_argument("from.inv_freq");
    if (given->axes < 1 || given->axes > rotary::max_axes) {
      return rotary::invalid_argument("from.axes must be in 1..", rotary::max_axes, ", got ",
                                      given->axes);
    }
    const bool dense = given->axes > 1 && given->pair_axes == nullptr;
    const std::size_t tables = dense ? static_cast<std::size_t>(given->axes) : 1;
    if (given->count % tables != 0 ||
        std::cmp_not_equal(given->count / tables, head_window->pairs())) {
      return rotary::invalid_argument("from.count must be rotary_dim / 2, ", head_window->pairs(),
                                      dense ? ", for each axis; got " : "; got ", given->count);
    }
    rotary::PairAxes axes{.count = given->axes};
    if (given->pair_axes != nullptr)
      axes.of_pair.assign(given->pair_axes, given->pair_axes + given->count);
    return rotary::make_frequencies(*head_window, {given->inv_freq, given->inv_freq + given->count},
                                    given->attention_factor, std::move(axes));
  });
}

rotary_status rotary_frequencies_contexts(const rotary_frequencies* frequencies, int64_t* first,
                                          int64_t* last) {
  return rotary::c_api::run([&]() -> Status {
    if (frequencies == nullptr) return null_argument("frequencies");
    if (first == nullptr) return null_argument("first");
    if (last == nullptr) return null_argument("last");
    *first = frequencies->value.contexts.first;
    *last = frequencies->value.contexts.last;
    return {};
  });
}

int32_t rotary_frequencies_alike(const rotary_frequencies* one, const rotary_frequencies* other) {
  if (!is_given("one", one) || !is_given("other", other)) return -1;
  return rotary::rotate_alike(one->value, other->value) ? 1 : 0;
}

void rotary_frequencies_free(rotary_frequencies* frequencies) { delete frequencies; }

rotary_status rotary_frequencies_window(const rotary_frequencies* frequencies,
                                        rotary_window* window) {
  return rotary::c_api::run([&]() -> Status {
    if (frequencies == nullptr) return null_argument("frequencies");
    const rotary::HeadWindow& from = frequencies->value.window;
    rotary_window filled = ROTARY_WINDOW_INIT;
    filled.head_dim = from.head_dim;
    filled.rotary_dim = from.rotary_dim;
    filled.first_feature = from.first_feature;
    filled.pairing = static_cast<int32_t>(from.pairing.get());
    filled.blocks = from.blocks;
    return rotary::c_api::write_struct("window", window, filled);
  });
}

double rotary_frequencies_attention_factor(const rotary_frequencies* frequencies) {
  if (!is_given("frequencies", frequencies)) return std::numeric_limits<double>::quiet_NaN();
  return frequencies->value.attention_factor;
}

const double* rotary_frequencies_inv_freq(const rotary_frequencies* frequencies) {
  return is_given("frequencies", frequencies) ? frequencies->value.inv_freq.data() : nullptr;
}

int64_t rotary_frequencies_axes(const rotary_frequencies* frequencies) {
  return is_given("frequencies", frequencies) ? frequencies->value.axes.count : 0;
}

const int32_t* rotary_frequencies_pair_axes(const rotary_frequencies* frequencies) {
  if (!is_given("frequencies", frequencies) || frequencies->value.axes.of_pair.empty())
    return nullptr;
  return frequencies->value.axes.of_pair.data();
}
