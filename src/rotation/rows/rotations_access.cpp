// SPDX-License-Identifier: Apache-2.0
#include "rotation/rows/rotations_access.hpp"

#include <optional>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

std::int64_t element_bytes(RowDType rows) { return rows == RowDType::f64 ? 8 : 4; }

Status check(RowDType rows) {
  if (rows == RowDType::f32 || rows == RowDType::f64) return {};
  return invalid_argument("rows must be f32 or f64, got value ", static_cast<std::int32_t>(rows));
}

Status check_tensors(const RotationsOptions& options) {
  if (!options.tensors) return {};
  if (size_in_bytes(*options.tensors) == 0) {
    return invalid_argument("tensors must be f32, bf16, f16 or f64, got value ",
                            static_cast<std::int32_t>(*options.tensors));
  }
  const bool want_f64 = *options.tensors == DType::f64;
  if (want_f64 == (options.rows == RowDType::f64)) return {};
  return invalid_argument("rows must be ", want_f64 ? "f64" : "f32", " for tensors of ",
                          to_string(*options.tensors), ", got ", want_f64 ? "f32" : "f64");
}

// Says why count_bytes() returned nothing.
Error uncountable(std::int64_t batch, std::int64_t tokens) {
  if (batch < 1) return invalid_argument("batch must be at least 1, got ", batch);
  if (tokens < 0) return invalid_argument("tokens must be at least 0, got ", tokens);
  return invalid_argument("the rows must fit in memory, got batch ", batch, " of ", tokens,
                          " tokens");
}

// Nothing if a count is out of range or the rows cannot fit in memory. Requires a valid window.
std::optional<std::size_t> count_bytes(const HeadWindow& window, std::int64_t batch,
                                       std::int64_t tokens, RowDType rows) {
  std::int64_t bytes = 2 * lane_stride_for(window.pairs()) * element_bytes(rows);  // per row
  if (batch < 1 || tokens < 0 || __builtin_mul_overflow(bytes, tokens, &bytes) ||
      __builtin_mul_overflow(bytes, batch, &bytes)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Result<std::size_t> row_bytes(const HeadWindow& window, std::int64_t batch, std::int64_t tokens,
                              RowDType rows) noexcept {
  return guarded([&]() -> Result<std::size_t> {
    if (auto status = validate(window); !status) return std::move(status).error();
    if (auto status = check(rows); !status) return std::move(status).error();
    const auto bytes = count_bytes(window, batch, tokens, rows);
    if (!bytes) return uncountable(batch, tokens);
    return *bytes;
  });
}

Result<Rotations> RotationsAccess::empty(const HeadWindow& window,
                                         const RotationsOptions& options) {
  if (auto status = check(options.rows); !status) return std::move(status).error();
  if (auto status = check_tensors(options); !status) return std::move(status).error();
  if (options.role && !is_enumerator(*options.role)) return no_enumerator("role", *options.role);
  if (auto status = check_aligned(options.memory.data(), element_bytes(options.rows),
                                  "memory must be aligned to the element of the rows");
      !options.memory.empty() && !status) {
    return std::move(status).error();
  }
  Rotations rotations(window);
  rotations.row_dtype_ = options.rows;
  rotations.tensors_ = options.tensors;
  rotations.role_ = options.role;
  rotations.memory_ = options.memory;
  return rotations;
}

Status RotationsAccess::reshape(Rotations& rotations, const RowsShape& shape) {
  if (shape.batch < 1 || shape.tokens < 0) return uncountable(shape.batch, shape.tokens);
  const bool is_shared = shape.sharing == RowSharing::one_for_all;
  const auto bytes = count_bytes(shape.window, is_shared ? 1 : shape.batch,
                                 is_shared ? 1 : shape.tokens, rotations.row_dtype_);
  if (!bytes) return uncountable(shape.batch, shape.tokens);
  if (rotations.memory_.empty()) {
    if (rotations.owned_.size() != *bytes) {
      rotations.owned_.resize(*bytes);  // nothing after this can fail
    }
  } else if (rotations.memory_.size() < *bytes) {
    return invalid_argument("memory must hold ", *bytes, " bytes, which ",
                            is_shared ? "the one row" : "the rows", " of batch ", shape.batch,
                            " of ", shape.tokens, " tokens take; got ", rotations.memory_.size());
  }
  rotations.window_ = shape.window;
  rotations.attention_factor_ = shape.attention_factor;
  rotations.batch_ = shape.batch;
  rotations.tokens_.count = shape.tokens;
  rotations.lane_stride_ = lane_stride_for(shape.window.pairs());
  rotations.row_stride_ = is_shared ? 0 : 2 * rotations.lane_stride_;
  rotations.numerics_ = shape.numerics;
  rotations.rounding_ = shape.rounding;
  rotations.contexts_ = shape.contexts;
  rotations.unchecked_ = shape.unchecked;
  return {};
}

}  // namespace rotary
