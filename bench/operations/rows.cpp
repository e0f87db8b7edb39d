// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::bench {
namespace {

class Rows : public StepJob {  // without a roofline: rows are made from almost no input
 public:
  using StepJob::StepJob;

  // In units of 2^-24 A, which is 2^-24 hypot(cos, sin).
  [[nodiscard]] Result<Verification> verify() override {
    if (auto status = run(1); !status) return std::move(status).error();
    const std::vector<double>& inv_freq = setup().frequencies.inv_freq;
    Verification result;
    for (const std::int64_t token : sampled_tokens(setup().line.tokens)) {
      const std::int64_t position = first_position + token;
      for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
        const auto exact = reference::cos_sin(position, inv_freq[pair]);
        compare(result, rows().rotations().cos(0, token)[pair], exact.cos, position);
        compare(result, rows().rotations().sin(0, token)[pair], exact.sin, position);
      }
    }
    return result;
  }

  [[nodiscard]] Status run(std::int64_t calls) override {
    for (std::int64_t call = 0; call < calls; ++call) {
      if (auto status = rows().make_next(); !status) return status;
    }
    return {};
  }

 private:
  void compare(Verification& result, float got, long double cos_or_sin,
               std::int64_t position) const {
    const double factor = setup().frequencies.attention_factor;
    const long double exact = static_cast<long double>(factor) * cos_or_sin;
    const auto error = static_cast<double>(std::abs(static_cast<long double>(got) - exact));
    const double most = row_error_bound(static_cast<double>(exact), factor, position);
    const double units = 0x1p24 * error / factor;
    ++result.elements;
    result.wrong += error <= most ? 0 : 1;
    result.bound = std::max(result.bound, 0x1p24 * most / factor);
    if (units <= result.worst) return;
    result.worst = units;
    result.worst_position = position;
  }
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_rows(const Setup& setup) { return prepare<Rows>(setup); }

}  // namespace rotary::bench
