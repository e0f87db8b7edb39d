// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::bench {
namespace {

void compare(Verification& result, const Frequencies& frequencies, float got,
             long double cos_or_sin, std::int64_t position) {
  const double factor = frequencies.attention_factor;
  const long double exact = static_cast<long double>(factor) * cos_or_sin;
  const auto error = static_cast<double>(std::abs(static_cast<long double>(got) - exact));
  const double most = row_error_bound(static_cast<double>(exact), factor, position);
  result.add(0x1p24 * error / factor, 0x1p24 * most / factor, position);
}

// Measures errors in units of 2^-24 A. A is the attention factor, hypot(cos, sin) of a pair.
Result<Verification> verify_rows(StepRows& rows) {
  if (auto status = rows.make_next(); !status) return std::move(status).error();
  const Frequencies& frequencies = rows.setup.frequencies;
  Verification result;
  for (const std::int64_t token : sampled_tokens(rows.setup.line.tokens)) {
    const std::int64_t position = first_position + token;
    for (std::size_t pair = 0; pair < frequencies.inv_freq.size(); ++pair) {
      const auto exact =
          reference::cos_sin(static_cast<long double>(position), frequencies.inv_freq[pair]);
      compare(result, frequencies, rows.rotations.cos(0, token)[pair], exact.cos, position);
      compare(result, frequencies, rows.rotations.sin(0, token)[pair], exact.sin, position);
    }
  }
  return result;
}

}  // namespace

// Has no roofline, because rows are made from almost no input.
Result<Job> prepare_rows(const Setup& setup) {
  auto made = make_step_rows(setup);
  if (!made) return made.error();
  const std::shared_ptr<StepRows> rows = *std::move(made);
  return Job{
      .verify = [=] { return verify_rows(*rows); },
      .run = [=](std::int64_t calls) { return repeat(calls, [&] { return rows->make_next(); }); }};
}

}  // namespace rotary::bench
