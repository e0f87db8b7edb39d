// SPDX-License-Identifier: Apache-2.0
// Rotations: the rows of cos and sin for the positions of one step, made once, exactly, and shared
// by q, k and every layer of a spec.
//
//   auto rotations = make_rotations(frequencies, ConsecutivePositions{.tokens = 1});
//   remake_rotations(*rotations, frequencies, ConsecutivePositions{.first = 1, .tokens = 1});
#ifndef ROTARY_ROTATIONS_HPP
#define ROTARY_ROTATIONS_HPP

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

// Element type of the rows. f64 tensors need f64 rows; all others need f32 rows.
enum class RowDType : std::int32_t { f32 = 1, f64 = 4 };

// Whether rows are for queries or for keys. xPos needs different rows for the two.
enum class Role : std::int32_t { query = 1, key = 2 };

// "query", "key".
[[nodiscard]] ROTARY_API std::string_view to_string(Role role) noexcept;

// Options of make_rotations().
struct RotationsOptions {
  RowDType rows = RowDType::f32;
  std::optional<Role> role = {};  // required for frequencies with xpos, refused for others
  // The dtype of q and k. If given, rotate() refuses any other. Required for numerics that round
  // cos and sin to it: transformers, except for Rounding::result.
  std::optional<DType> tensors = {};
  // Memory for the rows: at least row_bytes(...) bytes, aligned to their element. Not owned: it
  // must outlive the Rotations and all copies, which share it. It must not overlap what the call
  // reads, positions included. Empty: the rotations own their memory.
  std::span<std::byte> memory = {};
};

// Existing cos and sin, from another engine's cache or a model's own code. Element (b, t, i) of
// cos is at cos + b*batch_stride + t*token_stride + i*pair_stride elements, likewise of sin. i
// counts pairs, not features: if a table repeats cos for both features of a pair, point at the
// first half (half) or use a pair_stride of 2 (interleaved).
struct CosSinView {
  const void* cos = nullptr;
  const void* sin = nullptr;
  DType dtype = {};  // no default: make_rotations refuses a value that is no enumerator
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t pair_stride = 1;
  double attention_factor = 1;  // A, which cos and sin contain: cos² + sin² = A²
};

// Rows of cos and sin: [batch, tokens, pairs], made by make_rotations. A moved-from object has no
// tokens.
class Rotations {
 public:
  [[nodiscard]] const HeadWindow& window() const noexcept { return window_; }
  [[nodiscard]] double attention_factor() const noexcept { return attention_factor_; }
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }  // 1 serves every batch row
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_.count; }
  [[nodiscard]] RowDType row_dtype() const noexcept { return row_dtype_; }
  // The dtype of the tensors that may be rotated; absent: every dtype that row_dtype() is for.
  [[nodiscard]] std::optional<DType> tensors() const noexcept { return tensors_; }
  // The numerics of the frequencies; exact for a CosSinView. rounding() is for transformers.
  [[nodiscard]] Numerics numerics() const noexcept { return numerics_; }
  [[nodiscard]] Rounding rounding() const noexcept { return rounding_; }
  // query or key if the rows are for one of them only (xPos); absent: for both.
  [[nodiscard]] std::optional<Role> role() const noexcept { return role_; }
  // Whether these are rows of make_unchecked_rotations, which may be no rotations: rotate() and
  // rotate_qk() refuse Direction::inverse for them.
  [[nodiscard]] bool unchecked() const noexcept { return unchecked_; }
  // Frequencies::contexts of the frequencies used; all contexts for a CosSinView. Queries and keys
  // match if their rotations have the same spec and contexts.
  [[nodiscard]] const ContextRange& contexts() const noexcept { return contexts_; }

  // A*cos and A*sin of the angles of one token, [pairs] each, times the factor of xPos if there is
  // one. Real is float for f32 rows, double for f64 rows; the other type gives an empty span.
  // Require 0 <= batch < batch() and 0 <= token < tokens().
  template <class Real = float>
  [[nodiscard]] std::span<const Real> cos(std::int64_t batch, std::int64_t token) const noexcept {
    return row<Real>(batch, token, 0);
  }
  template <class Real = float>
  [[nodiscard]] std::span<const Real> sin(std::int64_t batch, std::int64_t token) const noexcept {
    return row<Real>(batch, token, lane_stride_);
  }

  // For code that reads rows directly. lane_stride(): elements from the cos to the sin of a token;
  // a row is twice that. row_stride(): elements from one token's row to the next; 0 if one row
  // serves all tokens (make_shift).
  [[nodiscard]] std::int64_t lane_stride() const noexcept { return lane_stride_; }
  [[nodiscard]] std::int64_t row_stride() const noexcept { return row_stride_; }
  // [batch][tokens][cos, sin][lane_stride] elements of row_dtype(), or one row of them.
  [[nodiscard]] const std::byte* data() const noexcept {
    return memory_.empty() ? owned_.data() : memory_.data();
  }

 private:
  friend struct RotationsAccess;  // src/rotation/rows/rotations_access.hpp: fills the members below
  // A number that becomes 0 when it is moved from.
  struct Tokens {
    std::int64_t count = 0;
    Tokens() = default;
    Tokens(const Tokens&) = default;
    Tokens& operator=(const Tokens&) = default;
    Tokens(Tokens&& other) noexcept : count(std::exchange(other.count, 0)) {}
    Tokens& operator=(Tokens&& other) noexcept {
      const std::int64_t given = std::exchange(other.count, 0);
      count = given;  // also of an object moved to itself
      return *this;
    }
    ~Tokens() = default;
  };

  explicit Rotations(HeadWindow window) : window_(std::move(window)) {}

  template <class Real>
  [[nodiscard]] std::span<const Real> row(std::int64_t batch, std::int64_t token,
                                          std::int64_t lane) const noexcept {
    static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>);
    if (row_dtype_ != (sizeof(Real) == sizeof(float) ? RowDType::f32 : RowDType::f64)) return {};
    const std::int64_t first = (batch * tokens() + token) * row_stride_ + lane;
    return {reinterpret_cast<const Real*>(data()) + first,
            static_cast<std::size_t>(window_.pairs())};
  }

  HeadWindow window_;
  double attention_factor_ = 1;
  std::int64_t batch_ = 1;
  Tokens tokens_;
  std::int64_t lane_stride_ = 0;
  std::int64_t row_stride_ = 0;
  RowDType row_dtype_ = RowDType::f32;
  std::optional<DType> tensors_;
  Numerics numerics_ = Numerics::exact;
  Rounding rounding_ = Rounding::every_step;
  std::optional<Role> role_;
  bool unchecked_ = false;
  ContextRange contexts_;
  std::span<std::byte> memory_;   // the caller's, or empty
  std::vector<std::byte> owned_;  // used when memory_ is empty
};

// Bytes that the rows of batch * tokens tokens take. Errors: invalid_argument for a window or
// counts that make_rotations would refuse.
[[nodiscard]] ROTARY_API Result<std::size_t> row_bytes(const HeadWindow& window, std::int64_t batch,
                                                       std::int64_t tokens, RowDType rows) noexcept;

// Makes the rows for any int64 positions p, and for positions between integers. With frequencies of
// several axes p is the coordinate on a pair's axis; positions of one axis are the same on all.
// Each element is A*cos(p*inv_freq) or A*sin(p*inv_freq) computed in double and, for f32 rows,
// rounded once. With Numerics::exact
//     |error| <= 1/2 ulp(result) + A * (2π |p| 2^-65 + 2^-50)
// (docs/numeric-contract.md). Other numerics round as docs/theory/numerics.md says and need f32
// rows: transformers rounds positions to float32, ggml takes int32 positions. With xpos, A includes
// the factor of pair and position: for a query it is A*ζ^((p - center) / scale_base), for a key A
// divided by that power. 2^-50 then becomes 2^-50 + xpos_factor_error. Allocates nothing when
// options.memory is given. Errors: out_of_memory; invalid_argument if
//   frequencies or positions are inconsistent, or leave int64 (ggml: int32);
//   a position lies beyond the contexts that the frequencies hold for (Frequencies::contexts);
//   a role or options.tensors is missing, or has no use;
//   the factor of xPos leaves [2^-60, 2^60] (about 17,000 positions from the center for a
//   scale_base of 512);
//   memory is too small.
[[nodiscard]] ROTARY_API Result<Rotations> make_rotations(
    const Frequencies& frequencies, const Positions& positions,
    const RotationsOptions& options = {}) noexcept;

// Makes rotations from existing rows; each element is converted to options.rows with at most one
// rounding, to nearest even. Allocates nothing when options.memory is given. Errors: out_of_memory;
// invalid_argument if
//   the view is not well-formed, or an element is not finite;
//   cos² + sin² of a pair differs from attention_factor² by more than 2 %, which no rounding of a
//   rotation explains (an attention_factor off by less than 1 % is not noticed;
//   make_unchecked_rotations takes any rows);
//   a role is given, because rows of xPos are not rotations;
//   memory is too small or overlaps the view.
[[nodiscard]] ROTARY_API Result<Rotations> make_rotations(
    const HeadWindow& window, const CosSinView& rows,
    const RotationsOptions& options = {}) noexcept;

// make_rotations for rows that are no rotations: any finite numbers, as in the test vectors of
// ONNX's RotaryEmbedding. rotate() computes the same products and sums. cos² + sin² is not checked;
// attention_factor must be 1. No bound of numeric_contract.hpp covers such rows.
[[nodiscard]] ROTARY_API Result<Rotations> make_unchecked_rotations(
    const HeadWindow& window, const CosSinView& rows,
    const RotationsOptions& options = {}) noexcept;

// As make_rotations, into existing rotations, which keep their row_dtype, role, tensors and memory:
// a step with no more rows than an earlier one allocates nothing. On an error the rotations are
// unchanged; invalid_argument also if they are in caller's memory that is too small.
[[nodiscard]] ROTARY_API Status remake_rotations(Rotations& rotations,
                                                 const Frequencies& frequencies,
                                                 const Positions& positions) noexcept;

}  // namespace rotary

#endif  // ROTARY_ROTATIONS_HPP
