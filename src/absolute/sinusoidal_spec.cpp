// SPDX-License-Identifier: Apache-2.0
#include "absolute/sinusoidal_spec.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "phase/turns.hpp"

namespace rotary {

std::string_view to_string(SinusoidalLayout layout) noexcept { return name_or_unknown(layout); }
std::string_view to_string(SinusoidalSpacing spacing) noexcept { return name_or_unknown(spacing); }

namespace {

// No model has this many features. The bound keeps inv_freq and turns within 8 MiB.
constexpr std::int64_t max_dim = std::int64_t{1} << 20;

Status validate(const SinusoidalSpec& spec) {
  if (!is_enumerator(spec.layout.get())) return no_enumerator("layout", spec.layout.get());
  if (!is_enumerator(spec.spacing.get())) return no_enumerator("spacing", spec.spacing.get());
  if (spec.dim < 1 || spec.dim > max_dim) {
    return invalid_argument("dim must be in [1, ", max_dim, "], got ", spec.dim);
  }
  if (spec.spacing == SinusoidalSpacing::ends && spec.dim < 4) {
    return invalid_argument("dim must be at least 4 for spacing ends, got ", spec.dim);
  }
  if (std::isfinite(spec.base.get()) && spec.base > 1) return {};
  return invalid_argument("base must be finite and > 1, got ", spec.base.get());
}

double exponent_of(const SinusoidalSpec& spec, std::int64_t pair) {
  const auto k = static_cast<double>(pair);
  if (spec.spacing == SinusoidalSpacing::even) return 2 * k / static_cast<double>(spec.dim);
  const std::int64_t steps = spec.dim / 2 - 1;
  return k / static_cast<double>(steps);
}

}  // namespace

std::int64_t pairs_of(const SinusoidalSpec& spec) noexcept {
  return spec.spacing == SinusoidalSpacing::even ? (spec.dim + 1) / 2 : spec.dim / 2;
}

Status validate(const Sinusoidal& sinusoidal) {
  if (auto status = validate(sinusoidal.spec); !status) return status;
  const auto pairs = static_cast<std::size_t>(pairs_of(sinusoidal.spec));
  if (sinusoidal.inv_freq.size() != pairs || sinusoidal.turns.size() != pairs) {
    return invalid_argument("inv_freq and turns must be those of make_sinusoidal, one for each of ",
                            pairs, " pairs; got ", sinusoidal.inv_freq.size(), " and ",
                            sinusoidal.turns.size());
  }
  return {};
}

Status check_inv_freq(const Sinusoidal& sinusoidal) {
  for (const double inv_freq : sinusoidal.inv_freq) {
    if (inv_freq > 0 && inv_freq <= 1) continue;
    return invalid_argument("inv_freq must be that of make_sinusoidal, in (0, 1]; got ", inv_freq);
  }
  return {};
}

Result<Sinusoidal> make_sinusoidal(const SinusoidalSpec& spec) noexcept {
  return guarded([&]() -> Result<Sinusoidal> {
    if (auto status = validate(spec); !status) return std::move(status).error();
    Sinusoidal sinusoidal{.spec = spec, .inv_freq = {}, .turns = {}};
    const std::int64_t pairs = pairs_of(spec);
    sinusoidal.inv_freq.reserve(static_cast<std::size_t>(pairs));
    sinusoidal.turns.reserve(static_cast<std::size_t>(pairs));
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double inv_freq = std::pow(spec.base.get(), -exponent_of(spec, pair));
      sinusoidal.inv_freq.push_back(inv_freq);
      sinusoidal.turns.push_back(turns_per_position(inv_freq));
    }
    return sinusoidal;
  });
}

}  // namespace rotary
