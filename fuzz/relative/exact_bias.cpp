// SPDX-License-Identifier: Apache-2.0
#include "fuzz/relative/exact_bias.hpp"

#include <cmath>
#include <variant>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "reference/relative.hpp"

namespace rotary::fuzz {
namespace {

// The table's element, of a bucket that float32 decides where the real logarithm is on its edge.
void check_t5(const T5Bias& bias, const BiasIndex& at, double got, const Memory& memory) {
  const auto exact = reference::t5_bucket(at.key - at.query, bias.buckets);
  const auto bucket = t5_bucket(at.key - at.query, bias.buckets);
  if (!bucket) fail("a bucket must be found", bucket.error().message);
  if (std::abs(*bucket - exact.bucket) > (exact.on_edge ? 1 : 0)) {
    fail("a distance must fall into its bucket");
  }
  const std::size_t place =
      place_of(strided(bias.table), memory.after.data(), {0, *bucket, 0, at.head});
  const double element = value_at(bias.table.dtype, memory.before.data() + place);
  if (got != element && !(std::isnan(got) && std::isnan(element))) {
    fail("a bias of T5 must be the number of its bucket");
  }
}

// The reference makes the slopes of all heads of a model.
bool is_quick(const RelativeBias& bias) {
  const auto* const alibi = std::get_if<Alibi>(&bias);
  return alibi == nullptr || alibi->model_heads.value_or(alibi->heads) <= 64;
}

// x of FIRE is 0 or large enough for the bound to speak of it: it is not below c times the distance
// by more than its normaliser, which is below 2^10.
bool is_in_contract(const RelativeBias& bias, const BiasIndex& at) {
  const auto* const fire = std::get_if<Fire>(&bias);
  if (fire == nullptr || at.query == at.key || fire->c == 0) return true;
  return std::abs(fire->c) >= 0x1p-880;
}

}  // namespace

void check_exact(const RelativeBias& bias, const BiasIndex& at, double got, const Memory& memory) {
  if (const auto* const t5 = std::get_if<T5Bias>(&bias)) {
    check_t5(*t5, at, got, memory);
    return;
  }
  if (!is_quick(bias) || !is_in_contract(bias, at)) return;
  const auto exact = reference::relative_bias(bias, at);
  if (exact.magnitude < 0x1p-900L) return;
  if (!(std::abs(got - exact.value) <= bias_error_bound * exact.magnitude)) {
    fail("a bias must be within the bound");
  }
}

}  // namespace rotary::fuzz
