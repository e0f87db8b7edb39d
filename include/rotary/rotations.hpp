// SPDX-License-Identifier: Apache-2.0
// The rows of cos and sin of one step's positions: made once, exactly, and shared by q, k and every
// layer of a spec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The element of the rows. f64 tensors need f64 rows, all others f32 rows.
enum class RowDType : std::int32_t { f32 = 1, f64 = 4 };

// Whose rows they are, where queries and keys are treated differently (xPos).
enum class Role : std::int32_t { query = 1, key = 2 };

// "query", "key".
[[nodiscard]] ROTARY_API std::string_view to_string(Role role) noexcept;

// What the rows are for, their element, and where they lie.
struct RotationsOptions {
  RowDType rows = RowDType::f32;
  std::optional<Role> role = {};  // must be given for frequencies with xpos, and for no other
  // Of q and k. Given: rotate() refuses any other. Must be given for numerics that round cos and
  // sin to it: transformers, but for Rounding::result.
  std::optional<DType> tensors = {};
  // Where the rows are put, at least row_bytes(...) of them, aligned to their element. Not owned:
  // it must outlive the Rotations and every copy of them, which share it; nothing that the call
  // reads, positions included, may lie in it. Empty: memory of their own.
  std::span<std::byte> memory = {};
};

// cos and sin that somebody else made: the cache of another engine, a model's own recipe. Element
// (b, t, i) of cos is at cos + b*batch_stride + t*token_stride + i*pair_stride elements, likewise
// of sin. Pair i, not feature i: where a table repeats cos for both features of a pair, point at
// the first half (half) or use a pair_stride of 2 (interleaved).
struct CosSinView {
  const void* cos = nullptr;
  const void* sin = nullptr;
  DType dtype = {};  // no default: none of the enumerators, which make_rotations refuses
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t pair_stride = 1;
  double attention_factor = 1;  // A, which cos and sin contain: cos² + sin² = A²
};

// Rows of cos and sin: [batch, tokens, pairs], made by make_rotations.
class Rotations {
 public:
  Rotations(const Rotations&) = default;
  Rotations& operator=(const Rotations&) = default;
  // What was moved from has no tokens.
  Rotations(Rotations&& other) noexcept
      : window_(other.window_),
        attention_factor_(other.attention_factor_),
        batch_(other.batch_),
        tokens_(std::exchange(other.tokens_, 0)),
        lane_stride_(other.lane_stride_),
        row_stride_(other.row_stride_),
        row_dtype_(other.row_dtype_),
        tensors_(other.tensors_),
        numerics_(other.numerics_),
        rounding_(other.rounding_),
        role_(other.role_),
        contexts_(other.contexts_),
        memory_(other.memory_),
        owned_(std::move(other.owned_)) {}
  Rotations& operator=(Rotations&& other) noexcept {
    if (this == &other) return *this;
    window_ = other.window_;
    attention_factor_ = other.attention_factor_;
    batch_ = other.batch_;
    tokens_ = std::exchange(other.tokens_, 0);
    lane_stride_ = other.lane_stride_;
    row_stride_ = other.row_stride_;
    row_dtype_ = other.row_dtype_;
    tensors_ = other.tensors_;
    numerics_ = other.numerics_;
    rounding_ = other.rounding_;
    role_ = other.role_;
    contexts_ = other.contexts_;
    memory_ = other.memory_;
    owned_ = std::move(other.owned_);
    return *this;
  }
  ~Rotations() = default;

  [[nodiscard]] const HeadWindow& window() const noexcept { return window_; }
  [[nodiscard]] double attention_factor() const noexcept { return attention_factor_; }
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }  // 1 serves every batch row
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }
  [[nodiscard]] RowDType row_dtype() const noexcept { return row_dtype_; }
  // Of the tensors that these may rotate; absent: all that row_dtype() is for.
  [[nodiscard]] std::optional<DType> tensors() const noexcept { return tensors_; }
  // Of the frequencies; exact for somebody else's rows. rounding() counts under transformers.
  [[nodiscard]] Numerics numerics() const noexcept { return numerics_; }
  [[nodiscard]] Rounding rounding() const noexcept { return rounding_; }
  // Whose rows they are where queries and keys have their own (xPos); absent: they serve both.
  [[nodiscard]] std::optional<Role> role() const noexcept { return role_; }
  // Frequencies::contexts of what they were made from; all contexts for somebody else's rows. What
  // was rotated by them is right for what is rotated by rotations of the same spec and contexts.
  [[nodiscard]] const ContextRange& contexts() const noexcept { return contexts_; }

  // A*cos and A*sin of the angles of one token, [pairs] each, times the factor of xPos if there is
  // one. Real is float for f32 rows, double for f64 rows; the other one gives an empty span.
  // Require 0 <= batch < batch() and 0 <= token < tokens().
  template <class Real = float>
  [[nodiscard]] std::span<const Real> cos(std::int64_t batch, std::int64_t token) const noexcept {
    return row<Real>(batch, token, 0);
  }
  template <class Real = float>
  [[nodiscard]] std::span<const Real> sin(std::int64_t batch, std::int64_t token) const noexcept {
    return row<Real>(batch, token, lane_stride_);
  }

  // For code that walks rows. Elements between the cos and the sin of one token; a row is twice
  // that. From one token's row to the next row_stride() elements: a row, or 0 where one row serves
  // every token of every batch row (make_shift).
  [[nodiscard]] std::int64_t lane_stride() const noexcept { return lane_stride_; }
  [[nodiscard]] std::int64_t row_stride() const noexcept { return row_stride_; }
  // [batch][tokens][cos, sin][lane_stride] elements of row_dtype(), or one row of them.
  [[nodiscard]] const std::byte* data() const noexcept {
    return memory_.empty() ? owned_.data() : memory_.data();
  }

 private:
  friend struct RotationsAccess;  // src/rotation/rows/rotations_access.hpp: fills what is below
  explicit Rotations(HeadWindow window) : window_(std::move(window)) {}

  template <class Real>
  [[nodiscard]] std::span<const Real> row(std::int64_t batch, std::int64_t token,
                                          std::int64_t lane) const noexcept {
    static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>);
    if (row_dtype_ != (sizeof(Real) == sizeof(float) ? RowDType::f32 : RowDType::f64)) return {};
    const std::int64_t first = (batch * tokens_ + token) * row_stride_ + lane;
    return {reinterpret_cast<const Real*>(data()) + first,
            static_cast<std::size_t>(window_.pairs())};
  }

  HeadWindow window_;
  double attention_factor_ = 1;
  std::int64_t batch_ = 1;
  std::int64_t tokens_ = 0;
  std::int64_t lane_stride_ = 0;
  std::int64_t row_stride_ = 0;
  RowDType row_dtype_ = RowDType::f32;
  std::optional<DType> tensors_;
  Numerics numerics_ = Numerics::exact;
  Rounding rounding_ = Rounding::every_step;
  std::optional<Role> role_;
  ContextRange contexts_;
  std::span<std::byte> memory_;   // the caller's, or empty
  std::vector<std::byte> owned_;  // used when memory_ is empty
};

// Bytes that the rows of so many tokens take. Errors: invalid_argument for a window or counts that
// make_rotations would refuse.
[[nodiscard]] ROTARY_API Result<std::size_t> row_bytes(const HeadWindow& window, std::int64_t batch,
                                                       std::int64_t tokens, RowDType rows) noexcept;

// At any int64 position p: each element is A*cos(p*inv_freq) or A*sin(p*inv_freq) formed in
// double and, for f32 rows, rounded once,
//     |error| <= 1/2 ulp(result) + A * (2π |p| 2^-65 + 2^-50),
// see docs/numeric-contract.md, also for positions between integers. That is Numerics::exact; other
// numerics round as docs/theory/numerics.md says and are for f32 rows alone: transformers rounds a
// position to float32, ggml takes int32 positions. Of frequencies with xpos, A is that of the pair
// and position, A*ζ^((p - center) / scale_base) for a query and A divided by it for a key, and
// 2^-50 becomes 2^-50 + xpos_factor_error. Allocates nothing when options.memory is given. Errors:
// invalid_argument when frequencies or positions are inconsistent or leave int64 (ggml: int32), a
// position lies beyond the contexts that the frequencies hold for (Frequencies::contexts), a
// role or options.tensors is missing or has no use, the factor of xPos leaves [2^-60, 2^60] (about
// 17,000 positions from the center for a scale_base of 512), or memory is too small; out_of_memory.
[[nodiscard]] ROTARY_API Result<Rotations> make_rotations(
    const Frequencies& frequencies, const Positions& positions,
    const RotationsOptions& options = {}) noexcept;

// From somebody else's rows, each element converted to options.rows with at most one rounding, to
// nearest even. Allocates nothing when options.memory is given. Errors: invalid_argument for a view
// that is not well-formed; for an element that is not finite; for a pair whose cos² + sin² is not
// attention_factor² within 2 %, which no rounding of a rotation explains (so a factor that is
// off by less than 1 % is not noticed); for a role, since rows of xPos are no rotation; for memory
// that is too small or holds elements of the view. out_of_memory.
[[nodiscard]] ROTARY_API Result<Rotations> make_rotations(
    const HeadWindow& window, const CosSinView& rows,
    const RotationsOptions& options = {}) noexcept;

// As make_rotations, into rotations made before, whose row_dtype, role, tensors and memory they
// keep: a step with no more rows than an earlier one allocates nothing. On an error rotations are
// as they were; invalid_argument when they lie in memory of the caller that is too small.
[[nodiscard]] ROTARY_API Status remake_rotations(Rotations& rotations,
                                                 const Frequencies& frequencies,
                                                 const Positions& positions) noexcept;

}  // namespace rotary
