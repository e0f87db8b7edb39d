// SPDX-License-Identifier: Apache-2.0
#include "absolute/token_positions.hpp"

#include <variant>

#include "base/message.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/position_checks.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {

Status check_positions(std::string_view prefix, const Positions& positions, const TokenExtents& n) {
  const std::int64_t tokens = tokens_of(positions);
  if (tokens != n.tokens) {
    return invalid_argument(prefix, "positions must be as many as the tokens, ", n.tokens, "; got ",
                            tokens);
  }
  const std::int64_t batch = batch_of(positions);
  if (batch != 1 && batch != n.batch) {
    return invalid_argument(prefix, "positions must have the batch of the tokens, ", n.batch,
                            ", or 1; got ", batch);
  }
  auto status = validate(positions);
  if (status || prefix.empty()) return status;
  return invalid_argument(prefix, status.error().message);
}

Status check_apart(const NamedView& written, std::string_view prefix, const Positions& positions) {
  return check_apart(written, {{"positions", prefix}, heads_view(positions)});
}

SplitPosition position_at(const Positions& positions, std::int64_t b, std::int64_t t) noexcept {
  return std::visit([&](const auto& each) { return split_position(number_at(each, b, t)); },
                    positions);
}

std::int64_t integer_at(const Positions& positions, std::int64_t b, std::int64_t t) noexcept {
  return std::visit(
      [&](const auto& each) { return static_cast<std::int64_t>(number_at(each, b, t)); },
      positions);
}

}  // namespace rotary
