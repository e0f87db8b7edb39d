// SPDX-License-Identifier: Apache-2.0
// All checks come first. Then the heads of k of all batch rows are divided among the call's parts.
#include "rotary/linear_attention.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "attention/linear/linear_checks.hpp"
#include "attention/linear/linear_head.hpp"
#include "base/arithmetic_modes.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// Products that are worth another thread. Fewer take under 20 µs, less than waking the thread.
constexpr double least_products = 0x1p19;

constexpr std::uintptr_t line = 64;

// Keeps the bytes of this many heads' sums within int64.
constexpr std::int64_t most_heads_at_once = std::int64_t{1} << 24;

LinearHeads with_used_strides(const LinearHeads& heads) {
  return {.q = with_used_strides(heads.q),
          .k = with_used_strides(heads.k),
          .v = with_used_strides(heads.v)};
}

std::int64_t key_heads(const LinearHeads& heads) {
  return heads.k.extents.batch * heads.k.extents.heads;
}

// Requires that the number of heads fits int64.
std::int64_t part_count(const LinearHeads& heads, const LinearSizes& sizes,
                        const Executor& executor) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const Extents& q = heads.q.extents;
  const Extents& k = heads.k.extents;
  const double rows = number(q.batch) * number(q.tokens) * number(q.heads) +
                      number(k.batch) * number(k.tokens) * number(k.heads);
  const double products = rows * number(sizes.features) * number(sizes.v_features);
  const std::int64_t most = executor.run == nullptr ? 1 : executor.concurrency;
  const double worth = std::clamp(products / least_products, 1.0, 0x1p20);
  return std::max<std::int64_t>(
      std::min({most, static_cast<std::int64_t>(worth), key_heads(heads)}), 1);
}

// Number of heads of k that a part processes together: one if a head's tokens are closer in memory
// than a token's heads, or as close; otherwise all the part's heads in a batch row.
std::int64_t heads_at_once(const LinearHeads& heads, std::int64_t parts) {
  const Extents& n = heads.k.extents;
  const Strides& s = heads.k.strides;
  if (n.tokens <= 1 || std::abs(s.token) <= std::abs(s.head)) return 1;
  return std::min(n.heads, (key_heads(heads) + parts - 1) / parts);
}

// True if neither out nor the state has an element to write.
bool is_empty(const LinearHeads& heads, const LinearSizes& sizes,
              const LinearAttentionOptions& options) {
  const Extents& q = heads.q.extents;
  const Extents& k = heads.k.extents;
  const bool has_sums = options.state && has_elements({k.batch, 1, k.heads, sizes.features});
  return !has_sums && !has_elements({q.batch, q.tokens, q.heads, heads.v.extents.features});
}

// The division of a call into parts, each with bytes_of_part of memory.
struct Cut {
  std::int64_t parts = 0;  // 0: nothing to do
  std::int64_t bytes_of_part = 0;

  [[nodiscard]] std::int64_t bytes() const noexcept { return parts * bytes_of_part; }
};

// Also sets sizes.heads_at_once.
Result<Cut> cut(const LinearHeads& heads, LinearSizes& sizes,
                const LinearAttentionOptions& options) {
  if (is_empty(heads, sizes, options)) return Cut{};
  std::int64_t heads_of_all = 0;
  bool fits = !__builtin_mul_overflow(heads.k.extents.batch, heads.k.extents.heads, &heads_of_all);
  Cut result;
  if (fits) {
    result.parts = part_count(heads, sizes, options.executor);
    sizes.heads_at_once = heads_at_once(heads, result.parts);
    fits = sizes.heads_at_once <= most_heads_at_once;
  }
  if (fits) {
    std::int64_t bytes = 0;
    result.bytes_of_part = bytes_of_part(sizes, heads.q.dtype);
    fits = !__builtin_mul_overflow(result.parts, result.bytes_of_part, &bytes);
  }
  if (fits) return result;
  return invalid_argument(
      "k: batch and heads must be few enough to count the bytes of memory, got ",
      describe(heads.k.extents));
}

Status check_memory(std::span<const std::byte> memory, std::int64_t bytes) {
  if (static_cast<std::int64_t>(memory.size()) < bytes) {
    return invalid_argument("memory must hold ", bytes, " bytes (linear_attend_bytes), got ",
                            memory.size());
  }
  const auto off = reinterpret_cast<std::uintptr_t>(memory.data()) % line;
  if (off == 0) return {};
  return invalid_argument("memory must be aligned to ", line, " bytes, got an address ", off,
                          " bytes off");
}

}  // namespace

Status linear_attend(const HeadsView& given_out, const LinearHeads& given, const FeatureMap& map,
                     const LinearAttentionOptions& options) noexcept {
  return guarded([&]() -> Status {
    const HeadsView out = with_used_strides(given_out);
    const LinearHeads heads = with_used_strides(given);
    auto sizes = check_linear_inputs(heads, map, options);
    if (!sizes) return sizes.error();
    const auto parts = cut(heads, *sizes, options);
    if (!parts) return parts.error();
    const std::int64_t bytes = parts->bytes();
    std::span<std::byte> memory = options.memory;
    std::vector<std::byte> own;
    if (!memory.empty()) {
      if (auto status = check_memory(memory, bytes); !status) return status;
      memory = memory.first(static_cast<std::size_t>(bytes));
    }
    if (auto status = check_linear_outputs(out, heads, map, options, memory); !status) {
      return status;
    }
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();
    if (parts->parts == 0) return {};
    if (memory.empty()) {
      own.resize(static_cast<std::size_t>(bytes) + line);
      const auto off = reinterpret_cast<std::uintptr_t>(own.data()) % line;
      memory = std::span(own).subspan(off == 0 ? 0 : line - off);
    }
    const LinearCall call{out, heads, map, options, **kernels, *sizes};
    auto run_part = [&](std::int64_t index) noexcept {
      const auto [begin, end] = part_at(key_heads(heads), parts->parts, index);
      attend_heads(call, {.begin = begin, .end = end},
                   memory.data() + index * parts->bytes_of_part);
    };
    run_tasks<DefaultModes>(parts->parts, run_part, options.executor);
    return {};
  });
}

Result<std::size_t> linear_attend_bytes(const LinearHeads& given, const FeatureMap& map,
                                        const LinearAttentionOptions& options) noexcept {
  return guarded([&]() -> Result<std::size_t> {
    const LinearHeads heads = with_used_strides(given);
    auto sizes = check_linear_inputs(heads, map, options);
    if (!sizes) return sizes.error();
    const auto parts = cut(heads, *sizes, options);
    if (!parts) return parts.error();
    return static_cast<std::size_t>(parts->bytes());
  });
}

}  // namespace rotary
