// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/checked_call.hpp"

#include "attention/attend/attend_checks.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/key_fetching.hpp"

namespace rotary {

Result<CheckedCall> check_attend(const AttendCall& call, Outputs outputs) {
  auto status = check_read(call);
  if (status && outputs == Outputs::given) status = check_written(call);
  if (!status) return std::move(status).error();
  const auto kernels = active_kernels();
  if (!kernels) return kernels.error();
  const auto fetching = chosen_fetching();
  if (!fetching) return fetching.error();
  CheckedCall checked{.args = call, .kernels = *(*kernels)->attend, .fetching = *fetching};
  if (const RelativeBias* const bias = call.options.encoding.bias) checked.bias.emplace(*bias);
  checked.shaw = reached_vectors(call);
  checked.plan = plan_of(call, checked.score_bias(), checked.shaw);
  if (outputs == Outputs::given && call.writes_anything())
    status = check_memory(call, checked.plan.bytes());
  if (!status) return std::move(status).error();
  return checked;
}

}  // namespace rotary
