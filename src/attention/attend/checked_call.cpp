// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/checked_call.hpp"

#include "attention/attend/attend_checks.hpp"
#include "runtime/active_kernels.hpp"

namespace rotary {
namespace {

// Requires check_read().
Result<CheckedCall> planned(const AttendCall& call) {
  const auto kernels = active_kernels();
  if (!kernels) return kernels.error();
  CheckedCall checked{.args = call, .kernels = *(*kernels)->attend};
  if (const RelativeBias* const bias = call.options.encoding.bias) checked.bias.emplace(*bias);
  checked.shaw = reached_vectors(call);
  checked.plan = plan_of(call, checked.bias ? &*checked.bias : nullptr, checked.shaw);
  return checked;
}

}  // namespace

Result<CheckedCall> check_attend(const AttendCall& call) {
  if (auto status = check_read(call); !status) return std::move(status).error();
  if (auto status = check_written(call); !status) return std::move(status).error();
  auto checked = planned(call);
  if (!checked || !call.writes_anything()) return checked;
  if (auto status = check_memory(call, checked->plan.bytes()); !status)
    return std::move(status).error();
  return checked;
}

Result<CheckedCall> check_attend_bytes(const AttendCall& call) {
  if (auto status = check_read(call); !status) return std::move(status).error();
  return planned(call);
}

}  // namespace rotary
