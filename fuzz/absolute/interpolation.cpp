// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "fuzz/absolute/absolute_cases.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/shapes.hpp"
#include "reference/absolute.hpp"
#include "rotary/absolute.hpp"
#include "rotary/numeric_contract.hpp"
#include "tests/support/counted_new.hpp"

namespace rotary::fuzz {
namespace {

struct InterpolationCase {
  bool is_gradient = false;
  TableInterpolation interpolation = {};
  TableView written = {};    // dst, or the gradient
  ConstTableView read = {};  // src, or upstream
  std::uint64_t seed = 0;

  [[nodiscard]] std::int64_t from() const { return is_gradient ? written.rows : read.rows; }
  [[nodiscard]] std::int64_t to() const { return is_gradient ? read.rows : written.rows; }
};

// Rows of the source table and of the result. The interpolation usually determines both counts.
struct RowCounts {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

TableGrid decode_grid(Bytes& input) {
  TableGrid grid{.rows = input.number(1, 5), .columns = input.number(1, 5)};
  disturb(input, {&grid.rows, &grid.columns});
  return grid;
}

std::int64_t product(const TableGrid& grid) {
  std::int64_t rows = 0;
  return __builtin_mul_overflow(grid.rows, grid.columns, &rows) ? -1 : rows;
}

double decode_size_offset(Bytes& input) {
  constexpr std::array offsets = {
      0.1, 0x1p-60, 1 - 0x1p-53, 0.5, 1.0, -0x1p-60, std::numeric_limits<double>::quiet_NaN()};
  return input.once_in(2) ? offsets[input.byte() % offsets.size()] : 0;
}

RowCounts decode_interpolation(Bytes& input, InterpolationCase& one) {
  const std::int64_t kept = input.once_in(16) ? input.number(-1, 9) : input.number(0, 2);
  const auto with_kept = [kept](std::int64_t rows) {
    std::int64_t all = 0;
    return __builtin_add_overflow(rows, kept, &all) ? rows : all;
  };
  if (input.once_in(2)) {
    const BicubicInterpolation bicubic{.kept_rows = kept,
                                       .from = decode_grid(input),
                                       .to = decode_grid(input),
                                       .size_offset = decode_size_offset(input)};
    one.interpolation = bicubic;
    return {.from = with_kept(product(bicubic.from)), .to = with_kept(product(bicubic.to))};
  }
  one.interpolation = LinearInterpolation{.kept_rows = kept};
  return {.from = with_kept(input.number(0, 12)), .to = with_kept(input.number(0, 12))};
}

std::optional<InterpolationCase> decode(Bytes& input, Buffers& buffers) {
  Places places(buffers.buffer());
  InterpolationCase one;
  one.is_gradient = input.once_in(2);
  one.seed = input.bits();
  RowCounts rows = decode_interpolation(input, one);
  disturb(input, {&rows.from, &rows.to});
  one.written.dtype = decode_dtype(input);
  one.read.dtype = input.once_in(32) ? decode_dtype(input) : one.written.dtype;
  if (one.is_gradient) {
    one.written.dtype = input.once_in(2) ? DType::f64 : DType::f32;
    one.read.dtype = decode_dtype(input);
  }
  one.written.rows = one.is_gradient ? rows.from : rows.to;
  one.read.rows = one.is_gradient ? rows.to : rows.from;
  one.written.features = one.read.features = input.number(0, 4);
  if (input.once_in(32)) one.written.features = input.number(0, 4);
  if (input.once_in(32)) one.written.features = one.read.features = input.number(120, 140);
  if (!decode_view(input, places, one.written)) return {};
  if (!decode_view(input, places, one.read)) return {};
  const Strided read = strided(one.read);
  if (!is_empty(read) && !is_small(read)) return {};
  fill(buffers.buffer(), one.read.dtype, decode_noise(input), one.seed);
  return one;
}

constexpr std::int64_t most_rows = std::int64_t{1} << 30;

bool is_bad(const TableGrid& grid, std::int64_t rows) {
  return grid.rows < 0 || grid.columns < 0 || grid.rows > most_rows || grid.columns > most_rows ||
         grid.rows * grid.columns != rows;
}

bool is_bad_shape(const InterpolationCase& one) {
  const auto* const bicubic = std::get_if<BicubicInterpolation>(&one.interpolation);
  const std::int64_t kept =
      std::visit([](const auto& each) { return each.kept_rows; }, one.interpolation);
  if (one.from() > most_rows || one.to() > most_rows) return true;
  if (kept < 0 || kept > one.from() || kept > one.to()) return true;
  if (one.from() == kept && one.to() > kept) return true;  // nothing to read
  if (bicubic == nullptr) return false;
  if (is_bad(bicubic->from, one.from() - kept) || is_bad(bicubic->to, one.to() - kept)) return true;
  if (!(bicubic->size_offset >= 0 && bicubic->size_offset < 1)) return true;
  const auto& [kept_rows, from, to, offset] = *bicubic;
  return offset != 0 && std::max({from.rows, from.columns, to.rows, to.columns}) > std::int64_t{1}
                                                                                       << 26;
}

bool is_bad_dtype(const InterpolationCase& one) {
  if (!one.is_gradient) return one.written.dtype != one.read.dtype;
  return one.written.dtype != DType::f64 &&
         (one.written.dtype != DType::f32 || one.read.dtype == DType::f64);
}

Answer expected_answer(const InterpolationCase& one, const std::byte* buffer) {
  const Strided written = strided(one.written);
  const Strided read = strided(one.read);
  if (!is_well_formed(written) || !is_well_formed(read)) return Answer::refuse;
  if (is_bad_dtype(one) || one.written.features != one.read.features) return Answer::refuse;
  if (is_bad_shape(one)) return Answer::refuse;
  return expected_of_sharing(std::array{written}, std::array{read}, buffer);
}

// matrix[i][j] is the weight of source row j in result row i. If the result has only kept rows, the
// linear matrix is used, because the sides of its empty grid may have any length.
reference::Matrix matrix_of(const InterpolationCase& one) {
  const std::int64_t kept =
      std::visit([](const auto& each) { return each.kept_rows; }, one.interpolation);
  if (std::holds_alternative<LinearInterpolation>(one.interpolation) || one.to() == kept) {
    return reference::interpolation_matrix(LinearInterpolation{.kept_rows = kept}, one.from(),
                                           one.to());
  }
  return reference::interpolation_matrix(std::get<BicubicInterpolation>(one.interpolation));
}

// The exact value of an element. size and largest: the sum and the maximum of the magnitudes of its
// terms.
struct Sum {
  long double value = 0;
  long double size = 0;
  long double largest = 0;
  std::int64_t terms = 0;

  void add(long double share, long double number) {
    if (share == 0) return;
    value += share * number;
    size += std::abs(number);
    largest = std::max(largest, std::abs(number));
    ++terms;
  }
};

void check_made(const InterpolationCase& one, const Sum& sum, double got) {
  if (!(sum.size < (one.written.dtype == DType::f16 ? 0x1p15L : 0x1p100L))) return;
  const double bound = interpolation_error_bound(one.written.dtype, static_cast<double>(sum.value),
                                                 static_cast<double>(sum.largest));
  if (!(std::abs(got - sum.value) <= bound)) fail("a table must be interpolated within the bound");
}

// A row has at most 16 neighbours. Each adds a product, with the weight's error of 2^-43, and
// rounds the sum to the gradient's dtype. The magnitudes of the weights add up to less than 2.
void check_gradient(const InterpolationCase& one, const Sum& sum, double got) {
  if (!(sum.size < 0x1p100L)) return;
  const long double rounding = one.written.dtype == DType::f64 ? 0x1p-53L : 0x1p-24L;
  const long double smallest = one.written.dtype == DType::f64 ? 0x1p-1074L : 0x1p-149L;
  const auto sums = 16 * static_cast<long double>(sum.terms);
  const long double bound =
      (1 + 0x1p-10L) * sums * (sum.largest * 0x1p-43L + rounding * 2 * sum.size + smallest);
  if (!(std::abs(got - sum.value) <= bound)) fail("a gradient must be summed within the bound");
}

void check_written(const InterpolationCase& one, const Memory& memory) {
  const Strided written = strided(one.written);
  if (!is_empty(written)) {
    const auto matrix = matrix_of(one);
    for_each_element(written, [&](const Axes& index) {
      Sum sum;
      const auto row = static_cast<std::size_t>(index[1]);
      const double got = number_after(one.written, index, memory);
      if (one.is_gradient) sum.add(1, number_before(one.written, index, memory));
      for (std::int64_t other = 0; other < one.read.rows; ++other) {
        const auto at = static_cast<std::size_t>(other);
        const long double share = one.is_gradient ? matrix[at][row] : matrix[row][at];
        sum.add(share, number_before(one.read, {0, other, 0, index[3]}, memory));
      }
      one.is_gradient ? check_gradient(one, sum, got) : check_made(one, sum, got);
    });
  }
  put_back(written, memory);
  check_unchanged(memory, "bytes that belong to no row must stay");
}

}  // namespace

void fuzz_interpolation(Bytes& input, Buffers& buffers) {
  const auto one = decode(input, buffers);
  if (!one) return;
  const Memory memory = buffers.keep();
  const Answer expected = expected_answer(*one, memory.after.data());
  const std::size_t allocations = test::allocation_count();
  const auto status = one->is_gradient
                          ? add_interpolation_gradient(one->written, one->read, one->interpolation)
                          : interpolate_table(one->written, one->read, one->interpolation);
  if (!is_accepted(status, expected, memory)) return;
  if (test::allocation_count() != allocations) fail("success must allocate nothing");
  check_written(*one, memory);
}

}  // namespace rotary::fuzz
