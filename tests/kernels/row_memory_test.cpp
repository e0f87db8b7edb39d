// SPDX-License-Identifier: Apache-2.0
// Rows in the caller's memory have the bits of owned rows and stay within row_bytes, also after
// copies, moves and remakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::all_row_bits;

constexpr HeadWindow window{
    .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = Pairing::half};
constexpr std::byte guard{0xA5};
constexpr std::size_t guard_bytes = 64;

// Memory of `bytes` bytes, with guards on both sides.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes + 2 * guard_bytes, guard) {}

  [[nodiscard]] std::span<std::byte> all() {
    return std::span(bytes_).subspan(guard_bytes, bytes_.size() - 2 * guard_bytes);
  }
  [[nodiscard]] bool guards_intact() const {
    const auto is_guard = [](std::byte byte) { return byte == guard; };
    return std::all_of(bytes_.begin(), bytes_.begin() + guard_bytes, is_guard) &&
           std::all_of(bytes_.end() - guard_bytes, bytes_.end(), is_guard);
  }
  [[nodiscard]] bool untouched() const {
    return std::ranges::all_of(bytes_, [](std::byte byte) { return byte == guard; });
  }

 private:
  std::vector<std::byte> bytes_;
};

std::size_t bytes_of(std::int64_t batch, std::int64_t tokens, RowDType rows) {
  return test::value_of(row_bytes(window, batch, tokens, rows));
}

const std::vector<double>& some_positions() {
  static const std::vector<double> positions = {7, 8, 9.5, -1e12, 0.25, 3};
  return positions;
}

Positions given() { return positions_of(std::span<const double>(some_positions()), 2); }

TEST(RowMemory, HoldsTheBitsOfOwnedRowsAndNothingBeyond) {
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  for (const RowDType dtype : test::all_row_dtypes) {
    Memory memory(bytes_of(2, 3, dtype));
    const Rotations own = test::rotations_of(frequencies, given(), dtype);
    const Rotations rows = test::value_of(
        make_rotations(frequencies, given(), {.rows = dtype, .memory = memory.all()}));
    EXPECT_EQ(rows.data(), memory.all().data());
    EXPECT_EQ(all_row_bits(rows), all_row_bits(own));
    EXPECT_TRUE(memory.guards_intact());

    Memory copied(bytes_of(2, 3, dtype));
    const std::int64_t row = 2 * own.lane_stride();
    const CosSinView view{.cos = own.data(),
                          .sin = own.data() + own.lane_stride() * (dtype == RowDType::f64 ? 8 : 4),
                          .dtype = dtype == RowDType::f64 ? DType::f64 : DType::f32,
                          .batch = 2,
                          .tokens = 3,
                          .batch_stride = 3 * row,
                          .token_stride = row,
                          .attention_factor = 1.25};
    const Rotations theirs =
        test::value_of(make_rotations(window, view, {.rows = dtype, .memory = copied.all()}));
    EXPECT_EQ(theirs.data(), copied.all().data());
    EXPECT_EQ(all_row_bits(theirs), all_row_bits(own));
    EXPECT_TRUE(copied.guards_intact());
  }
}

TEST(RowMemory, TooSmallMemoryIsRefused) {
  const Frequencies frequencies = test::frequencies_of(window);
  const std::size_t needed = bytes_of(2, 3, RowDType::f32);
  Memory memory(needed);
  const auto refused =
      make_rotations(frequencies, given(), {.memory = memory.all().first(needed - 1)});
  test::refused(refused, {"memory must hold", std::to_string(needed), "batch 2", "3 tokens",
                          "got " + std::to_string(needed - 1)});
  EXPECT_TRUE(memory.untouched());
}

TEST(RowMemory, MisalignedMemoryIsRefused) {
  const Frequencies frequencies = test::frequencies_of(window);
  Memory memory(2 * bytes_of(2, 3, RowDType::f64));
  for (const auto& [dtype, offset] :
       {std::pair{RowDType::f32, 2U}, {RowDType::f64, 4U}, {RowDType::f64, 1U}}) {
    const auto refused = make_rotations(frequencies, given(),
                                        {.rows = dtype, .memory = memory.all().subspan(offset)});
    test::refused(refused, {"memory must be aligned", std::to_string(offset) + " bytes off"});
  }
  EXPECT_TRUE(memory.untouched());
}

TEST(RowMemory, AnEmptySpanCountsAsNoMemory) {
  const Frequencies frequencies = test::frequencies_of(window);
  Memory memory(64);
  const Rotations rows =
      test::value_of(make_rotations(frequencies, given(), {.memory = memory.all().subspan(1, 0)}));
  EXPECT_EQ(all_row_bits(rows), all_row_bits(test::rotations_of(frequencies, given())));
  EXPECT_TRUE(memory.untouched());
}

TEST(RowMemory, ZeroTokensLeaveTheMemoryUntouched) {
  const Frequencies frequencies = test::frequencies_of(window);
  Memory memory(bytes_of(1, 1, RowDType::f32));
  EXPECT_EQ(bytes_of(5, 0, RowDType::f64), 0U);
  Rotations rows =
      test::value_of(make_rotations(frequencies, ConsecutivePositions{}, {.memory = memory.all()}));
  EXPECT_EQ(rows.tokens(), 0);
  EXPECT_TRUE(memory.untouched());
  EXPECT_EQ(test::value_of(
                make_rotations(window, CosSinView{.dtype = DType::f32}, {.memory = memory.all()}))
                .tokens(),
            0);
  EXPECT_TRUE(memory.untouched());
  const ConsecutivePositions one{.first = 5, .tokens = 1};
  test::require(remake_rotations(rows, frequencies, one));
  EXPECT_EQ(all_row_bits(rows), all_row_bits(test::rotations_of(frequencies, one)));
  EXPECT_TRUE(memory.guards_intact());
}

TEST(RowMemory, IsSharedByCopiesAndKeptByMoves) {
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  Memory memory(bytes_of(2, 3, RowDType::f32));
  Rotations rows = test::value_of(make_rotations(frequencies, given(), {.memory = memory.all()}));
  const Rotations copy = rows;
  EXPECT_EQ(copy.data(), rows.data());
  const Rotations moved = std::move(rows);
  EXPECT_EQ(moved.data(), memory.all().data());
  EXPECT_EQ(all_row_bits(moved), all_row_bits(test::rotations_of(frequencies, given())));
}

TEST(RowMemory, OwnedRowsAreCopiedAndMoved) {
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  Rotations rows = test::rotations_of(frequencies, given());
  const auto bits = all_row_bits(rows);
  const Rotations copy = rows;
  EXPECT_NE(copy.data(), rows.data());
  Rotations moved = std::move(rows);
  EXPECT_EQ(all_row_bits(moved), bits);
  EXPECT_EQ(rows.tokens(), 0);  // NOLINT(bugprone-use-after-move,hicpp-invalid-access-moved)
  // A moved-from object can be remade without changing the others.
  const ConsecutivePositions other{.first = 9, .tokens = 4};
  test::require(remake_rotations(rows, frequencies, other));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(all_row_bits(rows), all_row_bits(test::rotations_of(frequencies, other)));
  EXPECT_EQ(all_row_bits(moved), bits);
  EXPECT_EQ(all_row_bits(copy), bits);
}

TEST(RowMemory, RemakingKeepsTheMemory) {
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  const Frequencies narrow = test::frequencies_of(
      {.head_dim = 8, .rotary_dim = 6, .first_feature = 1, .pairing = Pairing::interleaved});
  for (const RowDType dtype : test::all_row_dtypes) {
    Memory memory(bytes_of(2, 3, dtype));
    Rotations rows = test::value_of(
        make_rotations(frequencies, given(), {.rows = dtype, .memory = memory.all()}));
    const ConsecutivePositions step{.first = 1'000'000, .tokens = 6};
    for (const Frequencies* each : {&narrow, &frequencies}) {
      test::require(remake_rotations(rows, *each, step));
      EXPECT_EQ(rows.data(), memory.all().data());
      EXPECT_EQ(rows.row_dtype(), dtype);
      EXPECT_EQ(all_row_bits(rows), all_row_bits(test::rotations_of(*each, step, dtype)));
    }
    const auto before = all_row_bits(rows);
    test::refused(
        remake_rotations(rows, frequencies, ConsecutivePositions{.first = 0, .tokens = 7}),
        {"memory must hold", "7 tokens"});
    EXPECT_EQ(rows.tokens(), 6);
    EXPECT_EQ(all_row_bits(rows), before);
    EXPECT_TRUE(memory.guards_intact());
  }
}

// make_rotations() still reads fractional positions while it writes rows.
TEST(RowMemory, PositionsInsideTheMemoryAreRefused) {
  const auto frequencies = test::frequencies_of(window);
  std::vector<double> buffer(4096, 0.5);
  const auto memory = std::as_writable_bytes(std::span(buffer));
  const auto inside = positions_of(std::span<const double>(buffer).subspan(100, 4));
  test::refused(make_rotations(frequencies, inside, {.memory = memory}), {"memory", "positions"});
  auto rotations =
      test::value_of(make_rotations(frequencies, given(), {.memory = memory.first(8192)}));
  test::refused(remake_rotations(rotations, frequencies, inside), {"memory", "positions"});
  const auto beside = positions_of(std::span<const double>(buffer).subspan(2048, 4));
  EXPECT_TRUE(remake_rotations(rotations, frequencies, beside));
}

}  // namespace
}  // namespace rotary
