// SPDX-License-Identifier: Apache-2.0
// Rotations: cos and sin of the positions of one step, made once for q and k of every layer with
// the same spec. A row holds the cos and sin of one token.
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

// Whether rows are for queries or for keys, which differ with xPos.
enum class Role : std::int32_t { query = 1, key = 2 };

// "query", "key".
[[nodiscard]] ROTARY_API std::string_view to_string(Role role) noexcept;

// Options of make_rotations().
struct RotationsOptions {
  RowDType rows = RowDType::f32;
  std::optional<Role> role = {};  // required with xpos, refused without
  // The dtype of q and k; rotate() then refuses any other. Required if numerics round cos and sin
  // to it: transformers, except for Rounding::result.
  std::optional<DType> tensors = {};
  // Memory for the rows: at least row_bytes(...) bytes, aligned to their element. It must outlive
  // the Rotations and their copies, which share it, and must not overlap the positions or rows that
  // the call reads. Empty: the rotations own their memory.
  std::span<std::byte> memory = {};
};

// Existing cos and sin, from another engine's cache or a model's own code. Element (b, t, i) of cos
// is at cos + b*batch_stride + t*token_stride + i*pair_stride elements; likewise of sin. i counts
// pairs, not features. If a table repeats cos for both features of a pair, view its first half
// (pairing half) or use a pair_stride of 2 (interleaved).
struct CosSinView {
  const void* cos = nullptr;
  const void* sin = nullptr;
  DType dtype = {};  // no default
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t pair_stride = 1;
  double attention_factor = 1;  // A: cos² + sin² = A²
};

// Rows of cos and sin: [batch, tokens, pairs]. A moved-from object has no tokens.
class Rotations {
 public:
  [[nodiscard]] const HeadWindow& window() const noexcept { return window_; }
  [[nodiscard]] double attention_factor() const noexcept { return attention_factor_; }
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }  // 1: for every batch row
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_.count; }
  [[nodiscard]] RowDType row_dtype() const noexcept { return row_dtype_; }
  // The dtype of q and k; absent: every dtype that row_dtype() is for.
  [[nodiscard]] std::optional<DType> tensors() const noexcept { return tensors_; }
  // The numerics of the frequencies; exact for a CosSinView. rounding() is used by transformers.
  [[nodiscard]] Numerics numerics() const noexcept { return numerics_; }
  [[nodiscard]] Rounding rounding() const noexcept { return rounding_; }
  // query or key with xPos; absent: the rows are for both.
  [[nodiscard]] std::optional<Role> role() const noexcept { return role_; }
  // Whether make_unchecked_rotations() made these. Direction::inverse is refused for them.
  [[nodiscard]] bool unchecked() const noexcept { return unchecked_; }
  // Frequencies::contexts; all contexts for a CosSinView. Queries and keys match if their rotations
  // have the same spec and contexts.
  [[nodiscard]] const ContextRange& contexts() const noexcept { return contexts_; }

  // A*cos and A*sin of one token, [pairs] each; xPos multiplies them by its factor. Real is float
  // for f32 rows, double for f64 rows; the other type gives an empty span. Require 0 <= batch <
  // batch() and 0 <= token < tokens().
  template <class Real = float>
  [[nodiscard]] std::span<const Real> cos(std::int64_t batch, std::int64_t token) const noexcept {
    return row<Real>(batch, token, 0);
  }
  template <class Real = float>
  [[nodiscard]] std::span<const Real> sin(std::int64_t batch, std::int64_t token) const noexcept {
    return row<Real>(batch, token, lane_stride_);
  }

  // Layout of data(), in elements: lane_stride() from the cos to the sin of a token, row_stride()
  // from one token's row to the next, or 0 if all tokens share one row (make_shift).
  [[nodiscard]] std::int64_t lane_stride() const noexcept { return lane_stride_; }
  [[nodiscard]] std::int64_t row_stride() const noexcept { return row_stride_; }
  // [batch][tokens][cos, sin][lane_stride] elements of row_dtype(), or [cos, sin][lane_stride].
  [[nodiscard]] const std::byte* data() const noexcept {
    return memory_.empty() ? owned_.data() : memory_.data();
  }

 private:
  friend struct RotationsAccess;  // src/rotation/rows/rotations_access.hpp
  // A number that becomes 0 when it is moved from.
  struct Tokens {
    std::int64_t count = 0;
    Tokens() = default;
    Tokens(const Tokens&) = default;
    Tokens& operator=(const Tokens&) = default;
    Tokens(Tokens&& other) noexcept : count(std::exchange(other.count, 0)) {}
    Tokens& operator=(Tokens&& other) noexcept {
      const std::int64_t given = std::exchange(other.count, 0);
      count = given;  // right even if an object is moved to itself
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

// Bytes of the rows of batch * tokens tokens. Errors: invalid_argument for a window or counts that
// make_rotations would refuse.
[[nodiscard]] ROTARY_API Result<std::size_t> row_bytes(const HeadWindow& window, std::int64_t batch,
                                                       std::int64_t tokens, RowDType rows) noexcept;

// Makes rows of A*cos(p*inv_freq) and A*sin(p*inv_freq), computed in double and, for f32 rows,
// rounded once. With frequencies of several axes, p is the coordinate on the pair's axis; positions
// of one axis apply to all. With Numerics::exact
//     |error| <= 1/2 ulp(result) + A * (2π |p| 2^-65 + 2^-50)
// (docs/numeric-contract.md). With xpos, A includes the factor of the pair at the position (Xpos),
// and 2^-50 becomes 2^-50 + xpos_factor_error. Other numerics need f32 rows and round as
// docs/theory/numerics.md says; ggml takes int32 positions. Allocates nothing if options.memory is
// given. Errors: out_of_memory; invalid_argument if
//   frequencies or positions are inconsistent, or leave int64 (ggml: int32);
//   a position is beyond Frequencies::contexts;
//   a role or options.tensors is missing, a role is given without xpos, or options.tensors does not
//   fit options.rows;
//   the factor of xPos leaves [2^-60, 2^60] (about 17,000 positions from the center for a
//   scale_base of 512);
//   memory is too small.
[[nodiscard]] ROTARY_API Result<Rotations> make_rotations(
    const Frequencies& frequencies, const Positions& positions,
    const RotationsOptions& options = {}) noexcept;

// Makes rotations from existing rows; elements are rounded to options.rows, to nearest even.
// Allocates nothing if options.memory is given. Errors: out_of_memory; invalid_argument if
//   the view is not well-formed, or an element is not finite;
//   cos² + sin² of a pair differs from attention_factor² by more than 2 %, which no rounding of a
//   rotation explains (an attention_factor off by less than 1 % is not noticed;
//   make_unchecked_rotations takes any rows);
//   a role is given;
//   memory is too small or overlaps the view.
[[nodiscard]] ROTARY_API Result<Rotations> make_rotations(
    const HeadWindow& window, const CosSinView& rows,
    const RotationsOptions& options = {}) noexcept;

// make_rotations for rows of any finite numbers, as in the test vectors of ONNX's RotaryEmbedding:
// cos² + sin² is not checked, attention_factor must be 1, and numeric_contract.hpp has no bounds.
[[nodiscard]] ROTARY_API Result<Rotations> make_unchecked_rotations(
    const HeadWindow& window, const CosSinView& rows,
    const RotationsOptions& options = {}) noexcept;

// make_rotations into existing rotations, which keep their row_dtype, role, tensors and memory.
// Allocates nothing if an earlier call had at least as many rows. On an error the rotations are
// unchanged; invalid_argument also if the caller's memory is too small.
[[nodiscard]] ROTARY_API Status remake_rotations(Rotations& rotations,
                                                 const Frequencies& frequencies,
                                                 const Positions& positions) noexcept;

}  // namespace rotary

#endif  // ROTARY_ROTATIONS_HPP
