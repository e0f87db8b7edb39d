// SPDX-License-Identifier: Apache-2.0
// Multiplies by the matrix R^d_{Theta,m} of RoFormer (arXiv 2104.09864), eq. 15. The paper pairs
// neighbours. Pairing half permutes the rows and columns of the matrix, interleaved_to_half only
// the rows.
#include <cstddef>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

class SquareMatrix {
 public:
  explicit SquareMatrix(std::size_t size) : size_(size), values_(size * size, 0.0L) {}

  [[nodiscard]] long double& at(std::size_t row, std::size_t column) {
    return values_[row * size_ + column];
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::vector<long double> values_;
};

SquareMatrix rotation_matrix(const HeadWindow& window, std::span<const CosSin> angles) {
  const auto d = static_cast<std::size_t>(window.rotary_dim);
  const std::size_t of_block = d / 2 / static_cast<std::size_t>(window.blocks);
  const bool from_neighbours = reads_neighbours(window.pairing);
  const bool to_neighbours = writes_neighbours(window.pairing);
  SquareMatrix matrix(d);
  for (std::size_t i = 0; i < d / 2; ++i) {
    const std::size_t low = i + i / of_block * of_block;  // first feature of pair i by halves
    const std::size_t x = from_neighbours ? 2 * i : low;
    const std::size_t y = from_neighbours ? 2 * i + 1 : low + of_block;
    const std::size_t first = to_neighbours ? 2 * i : low;
    const std::size_t second = to_neighbours ? 2 * i + 1 : low + of_block;
    matrix.at(first, x) = angles[i].cos;
    matrix.at(first, y) = -angles[i].sin;
    matrix.at(second, x) = angles[i].sin;
    matrix.at(second, y) = angles[i].cos;
  }
  return matrix;
}

// R is orthogonal, permuted or not, so its inverse is its transpose.
SquareMatrix transposed(SquareMatrix matrix) {
  SquareMatrix result(matrix.size());
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    for (std::size_t column = 0; column < matrix.size(); ++column) {
      result.at(column, row) = matrix.at(row, column);
    }
  }
  return result;
}

}  // namespace

std::vector<long double> rotate_by_matrix(std::span<const long double> x, const HeadWindow& window,
                                          const HeadRotation& rotation) {
  SquareMatrix matrix = rotation_matrix(window, rotation.angles);
  if (rotation.direction != Direction::forward) matrix = transposed(matrix);
  const long double scale = rotation.direction == Direction::inverse ? 1 / rotation.attention_factor
                                                                     : rotation.attention_factor;

  std::vector<long double> result(x.begin(), x.end());
  const auto begin = static_cast<std::size_t>(window.first_feature);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    long double sum = 0;
    for (std::size_t column = 0; column < matrix.size(); ++column) {
      sum += matrix.at(row, column) * x[begin + column];
    }
    result[begin + row] = scale * sum;
  }
  return result;
}

}  // namespace rotary::reference
