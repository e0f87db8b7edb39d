// SPDX-License-Identifier: Apache-2.0
// Fuzzes a spec as JSON text, as the C ABI takes it. Any bytes must give a spec or an error. A spec
// must rotate, or make_frequencies must refuse it.
#include <cstddef>
#include <cstdint>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "fuzz/use_frequencies.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/spec_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  const auto spec = parse_rotary_spec({reinterpret_cast<const char*>(data), size});
  if (!spec) {
    fuzz::check_error(spec.error());
    return 0;
  }
  const auto frequencies = make_frequencies(*spec, std::int64_t{131072});
  const Status judged = validate(*spec, std::int64_t{131072});
  if (judged.ok() != frequencies.has_value() ||
      (!judged && judged.error() != frequencies.error())) {
    fuzz::fail("validate must say what make_frequencies says");
  }
  if (!frequencies) {
    fuzz::check_error(frequencies.error());
  } else {
    fuzz::use_frequencies(*frequencies);
  }
  return 0;
}
