// SPDX-License-Identifier: Apache-2.0
#include "rotary/instruction_set.hpp"

#include <atomic>
#include <cstdlib>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "runtime/active_kernels.hpp"

namespace rotary {
namespace {

constexpr const char* variable = "ROTARY_INSTRUCTION_SET";

// Null until first used. A race is harmless: every thread stores the same constant table.
std::atomic<const kernels::KernelTable*> active{nullptr};

const kernels::KernelTable* find_table(std::string_view name) {
  for (const auto* table : kernels::supported_tables()) {
    if (table->instruction_set() == name) return table;
  }
  return nullptr;
}

Error unknown_instruction_set(std::string_view what, std::string_view name) {
  std::string supported;
  for (const std::string_view each : supported_instruction_sets()) {
    supported.append(supported.empty() ? "" : ", ").append(each);
  }
  return unsupported(what, " must be one of ", supported, " on this machine, got '", name, "'");
}

}  // namespace

const kernels::KernelTable* chosen_kernels() noexcept {
  return active.load(std::memory_order_acquire);
}

Result<const kernels::KernelTable*> active_kernels() {
  if (const auto* table = chosen_kernels()) return table;
  const char* const wanted = std::getenv(variable);
  const bool is_wanted = wanted != nullptr && *wanted != '\0';
  const auto* const table = is_wanted ? find_table(wanted) : kernels::supported_tables().front();
  if (table == nullptr) return unknown_instruction_set(variable, wanted);
  const kernels::KernelTable* chosen = nullptr;
  return active.compare_exchange_strong(chosen, table) ? table : chosen;
}

std::span<const std::string_view> supported_instruction_sets() noexcept {
  return kernels::supported_names();
}

Result<std::string_view> instruction_set() noexcept {
  return guarded([]() -> Result<std::string_view> {
    const auto table = active_kernels();
    if (!table) return table.error();
    return std::string_view((*table)->instruction_set());
  });
}

Status force_instruction_set(std::string_view name) noexcept {
  return guarded([&]() -> Status {
    const auto* const table = find_table(name);
    if (table == nullptr) return unknown_instruction_set("the instruction set", name);
    active.store(table, std::memory_order_release);
    return {};
  });
}

}  // namespace rotary
