// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "rotary/spec_json.hpp"

using rotary::Result;
using rotary::Status;
using rotary::c_api::is_given;
using rotary::c_api::null_argument;

rotary_status rotary_frequencies_of_spec(const char* spec_json, size_t spec_bytes,
                                         rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary::Frequencies> {
    if (spec_json == nullptr) return null_argument("spec_json");
    const auto spec = rotary::parse_rotary_spec({spec_json, spec_bytes});
    if (!spec) return spec.error();
    return rotary::make_frequencies(*spec);
  });
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
