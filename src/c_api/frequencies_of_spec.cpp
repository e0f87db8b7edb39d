// SPDX-License-Identifier: Apache-2.0
// Frequencies of a spec as JSON; those of a model are made in model.cpp.
#include <cstdint>
#include <optional>
#include <string_view>

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "rotary/spec_json.hpp"

using rotary::Result;
using rotary::c_api::null_argument;

namespace {

Result<rotary::Frequencies> frequencies_of(std::string_view spec_json,
                                           std::optional<std::int64_t> context_tokens) {
  if (spec_json.data() == nullptr) return null_argument("spec_json");
  const auto spec = rotary::parse_rotary_spec(spec_json);
  if (!spec) return spec.error();
  return rotary::make_frequencies(*spec, context_tokens);
}

}  // namespace

rotary_status rotary_frequencies_of_spec(const char* spec_json, size_t spec_bytes,
                                         rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() { return frequencies_of({spec_json, spec_bytes}, {}); });
}

rotary_status rotary_frequencies_of_spec_in_context(const char* spec_json, size_t spec_bytes,
                                                    int64_t context_tokens,
                                                    rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() {
    return frequencies_of({spec_json, spec_bytes}, context_tokens);
  });
}
