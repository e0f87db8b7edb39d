// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "rotation/frequencies/xpos_factor.hpp"
#include "rotation/rows/position_rows.hpp"
#include "rotation/rows/rotations_access.hpp"
#include "runtime/active_kernels.hpp"
#include "tensor/position_access.hpp"
#include "tensor/position_checks.hpp"

namespace rotary {

std::string_view to_string(Role role) noexcept { return name_or_unknown(role); }

namespace {

Status check_xpos(const Frequencies& frequencies, const Positions& positions,
                  std::optional<Role> role) {
  if (!frequencies.xpos) {
    if (!role) return {};
    return invalid_argument(
        "role must be left out for frequencies without xpos, whose rows serve queries and keys "
        "alike; got ",
        to_string(*role));
  }
  if (frequencies.axes.count != 1) {
    return unsupported("xpos needs positions of one axis, got ", frequencies.axes.count, " axes");
  }
  if (!role) {
    return invalid_argument(
        "role must be query or key for frequencies with xpos, whose rows differ; got none");
  }
  if (auto status = validate(*frequencies.xpos); !status) return status;
  return check_xpos_range(*frequencies.xpos, positions);
}

Status remake(Rotations& rotations, const Frequencies& frequencies, const Positions& positions) {
  if (auto status = validate(frequencies, positions); !status) return status;
  if (auto status = validate(positions, frequencies.axes.count); !status) return status;
  if (auto status = check_within(positions, frequencies.contexts); !status) return status;
  if (auto status = check_recipe(frequencies, positions, rotations); !status) return status;
  if (auto status = check_xpos(frequencies, positions, rotations.role()); !status) return status;
  if (auto status = check_apart(positions, RotationsAccess::memory(rotations)); !status) {
    return status;
  }
  const auto* kernels = chosen_kernels();
  if (kernels == nullptr) {
    const auto found = active_kernels();
    if (!found) return found.error();
    kernels = *found;
  }
  const std::int64_t tokens = tokens_of(positions);
  auto status =
      RotationsAccess::reshape(rotations, {.window = frequencies.window,
                                           .attention_factor = frequencies.attention_factor,
                                           .batch = batch_of(positions),
                                           .tokens = tokens,
                                           .numerics = frequencies.numerics,
                                           .rounding = frequencies.rounding,
                                           .contexts = frequencies.contexts});
  if (!status || tokens == 0) return status;
  const RowsMemory memory{.rows = RotationsAccess::rows(rotations),
                          .dtype = rotations.row_dtype(),
                          .tensors = rotations.tensors(),
                          .role = rotations.role()};
  write_rows(memory, frequencies, positions, *kernels);
  return {};
}

}  // namespace

// With exact numerics and no xPos, the smallest nonzero number is A times the sine of 2^-64 turn,
// above 2^-82. So subnormals do not occur, and their flushing does not matter. Setting only the
// rounding direction saves time in a step of one token.
Status remake_rotations(Rotations& rotations, const Frequencies& frequencies,
                        const Positions& positions) noexcept {
  const auto body = [&]() -> Status { return remake(rotations, frequencies, positions); };
  const bool is_exact = frequencies.numerics == Numerics::exact && !frequencies.xpos;
  return is_exact ? guarded<NearestRounding>(body) : guarded(body);
}

Result<Rotations> make_rotations(const Frequencies& frequencies, const Positions& positions,
                                 const RotationsOptions& options) noexcept {
  return guarded([&]() -> Result<Rotations> {
    auto rotations = RotationsAccess::empty(frequencies.window, options);
    if (!rotations) return rotations;
    if (auto status = remake_rotations(*rotations, frequencies, positions); !status) {
      return std::move(status).error();
    }
    return rotations;
  });
}

}  // namespace rotary
