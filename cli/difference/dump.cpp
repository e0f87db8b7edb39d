// SPDX-License-Identifier: Apache-2.0
#include "cli/difference/dump.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "apps/failure.hpp"
#include "apps/npy/npy.hpp"
#include "cli/identify/arrays.hpp"
#include "cli/npz/npz.hpp"
#include "cli/tensor_input.hpp"

namespace rotary::cli {
namespace {

// As many numbers as `rotary table --out` writes, cos and sin together. of_one_axis: frequencies.
constexpr NpyLimit most_of_both{.elements = std::uint64_t{1} << 28,
                                .of_one_axis = most_pairs.elements};
constexpr NpyLimit most_of_one{.elements = most_of_both.elements / 2};

std::vector<double> numbers_of(const NpyArray& array, const std::string& name) {
  std::vector<double> numbers = array.doubles();
  for (std::size_t i = 0; i < numbers.size(); ++i) check_element(name, numbers[i], i, array.shape);
  if (!numbers.empty()) return numbers;
  fail(ExitCode::unsupported, "{} must be numbers of float32 or float64, got {} {}", name,
       descr_of(array.type), shape_text(array.shape));
}

// Removes leading dimensions of 1 until `axes` are left.
std::vector<std::int64_t> squeezed(std::vector<std::int64_t> shape, std::size_t axes) {
  while (shape.size() > axes && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

// The columns 0, step, 2 * step, … of a table [tokens][width].
std::vector<double> columns(const std::vector<double>& table, std::size_t width, std::size_t count,
                            std::size_t step) {
  std::vector<double> kept;
  kept.reserve(table.size() / width * count);
  for (std::size_t row = 0; row < table.size(); row += width) {
    for (std::size_t i = 0; i < count; ++i) kept.push_back(table[row + i * step]);
  }
  return kept;
}

// Transformers' tables have each pair twice. Keeps each pair once.
void keep_pairs_once(RowsTable& rows) {
  const auto width = static_cast<std::size_t>(rows.pairs);
  const auto [pairs, stride] =
      pair_columns(rows.cos.size(), width, [&](std::size_t one, std::size_t other) {
        return rows.cos[one] == rows.cos[other] && rows.sin[one] == rows.sin[other];
      });
  if (pairs == width) return;
  rows.cos = columns(rows.cos, width, pairs, stride);
  rows.sin = columns(rows.sin, width, pairs, stride);
  rows.pairs = static_cast<std::int64_t>(pairs);
}

RowsTable rows_of_shape(const std::vector<std::int64_t>& shape, const std::string& name) {
  require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0,
          "{} must have the shape [tokens, pairs], got {}", name, shape_text(shape));
  return {.tokens = shape[0], .pairs = shape[1]};
}

Dump dump_of_npy(const NpyArray& array, const std::string& path) {
  Dump dump;
  if (array.type == NpyType::c64) {
    dump.rows = rows_of_shape(squeezed(array.shape, 2), path);
    const auto numbers = array.elements<float>();
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      for (const std::size_t part : {i, i + 1})
        check_element(path, static_cast<double>(numbers[part]), i / 2, array.shape);
      dump.rows.cos.push_back(static_cast<double>(numbers[i]));
      dump.rows.sin.push_back(static_cast<double>(numbers[i + 1]));
    }
    return dump;
  }
  if (array.shape.size() == 1) {
    dump.inv_freq = numbers_of(array, path);
    return dump;
  }
  require(array.shape.size() == 3 && array.shape[0] == 2,
          "{} must have frequencies [pairs], or cos and sin [2, tokens, pairs], got {}", path,
          shape_text(array.shape));
  dump.rows = rows_of_shape({array.shape[1], array.shape[2]}, path);
  const std::vector<double> numbers = numbers_of(array, path);
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  dump.rows.cos.assign(numbers.begin(), middle);
  dump.rows.sin.assign(middle, numbers.end());
  keep_pairs_once(dump.rows);
  return dump;
}

Dump dump_of_npz(const NpzFile& file, const std::string& path) {
  const auto find = [&](std::string_view name, const NpyLimit& limit) -> std::optional<NpyArray> {
    const auto found = std::ranges::find(file.names(), name);
    if (found == file.names().end()) return std::nullopt;
    return file.read(static_cast<std::size_t>(found - file.names().begin()), limit);
  };
  Dump dump;
  if (const auto inv_freq = find("inv_freq", most_pairs)) {
    dump.inv_freq = numbers_of(*inv_freq, path + ": inv_freq");
    const auto factor = find("attention_scaling", {.elements = 1});
    if (factor) dump.attention_factor = numbers_of(*factor, path + ": attention_scaling").front();
    return dump;
  }
  const auto cosines = find("cos", most_of_one);
  const auto sines = find("sin", most_of_one);
  require(cosines && sines, "{} must have inv_freq, or cos and sin, got neither", path);
  dump.rows = rows_of_shape(squeezed(cosines->shape, 2), path + ": cos");
  require(sines->shape == cosines->shape, "{}: sin must have the shape of cos, {}, got {}", path,
          shape_text(cosines->shape), shape_text(sines->shape));
  dump.rows.cos = numbers_of(*cosines, path + ": cos");
  dump.rows.sin = numbers_of(*sines, path + ": sin");
  keep_pairs_once(dump.rows);
  return dump;
}

}  // namespace

bool names_dump(const std::string& path) {
  return path.ends_with(".npy") || path.ends_with(".npz");
}

Dump read_dump(const std::string& path) {
  if (path.ends_with(".npy")) return dump_of_npy(read_npy_file(path, most_of_both), path);
  return dump_of_npz(NpzFile(path), path);
}

}  // namespace rotary::cli
