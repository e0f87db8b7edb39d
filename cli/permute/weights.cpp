// SPDX-License-Identifier: Apache-2.0
#include "cli/permute/weights.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "apps/failure.hpp"
#include "apps/printable.hpp"
#include "apps/progress.hpp"
#include "apps/safetensors/safetensors.hpp"
#include "cli/permute/weight_index.hpp"

namespace rotary::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

std::string name_without_layer(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t end = std::min(name.find('.', i), name.size());
    const std::string_view part = name.substr(i, end - i);
    const bool number =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    result += number ? "*" : part;
    if (end < name.size()) result += '.';
    i = end + 1;
  }
  return result;
}

// Fails if rows are not whole bytes, as may happen for 4-bit elements.
TensorRows rows_of(const Checkpoint& checkpoint, const SafetensorsTensor& tensor) {
  TensorRows rows = tensor_rows(checkpoint, {.name = tensor.name, .shape = tensor.shape});
  const auto count = static_cast<std::uint64_t>(rows.count());
  if (count == 0 || tensor.size_in_bytes() % count == 0) return rows;
  fail(ExitCode::unsupported,
       "'{}' must have rows of whole bytes to be moved, got {} rows of {} in {} bytes",
       shown_name(tensor.name), count, tensor.type.name, tensor.size_in_bytes());
}

// Index into `permuted` by name, heads and rows of a head.
using Places = std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::size_t>;

void count(const TensorRows& rows, std::string_view name, Permutation& permutation,
           Places& places) {
  const auto is_head = [](const RowGroup& group) { return group.spec != nullptr; };
  const auto head = std::ranges::find_if(rows.groups, is_head);
  if (head == rows.groups.end()) {
    ++permutation.copied_tensors;
    return;
  }
  PermutedTensors counted{.name = name_without_layer(name),
                          .tensors = 1,
                          .heads = rows.times * head->heads,
                          .head_dim = head->rows};
  const auto [known, is_new] = places.try_emplace({counted.name, counted.heads, counted.head_dim},
                                                  permutation.permuted.size());
  if (is_new)
    permutation.permuted.push_back(std::move(counted));
  else
    ++permutation.permuted[known->second].tensors;
}

bool is_index(const std::string& path) { return path.ends_with(".json"); }

// Copies a file in chunks: heads may be a few bytes, and a file may have a billion of them.
class Copy {
 public:
  Copy(const WeightFile& file, const std::function<void(std::string_view)>& write,
       Progress& progress)
      : path_(file.path), input_(file.path), write_(write), progress_(progress) {}

  [[nodiscard]] ByteStream& input() noexcept { return input_; }

  void write(std::string_view bytes) {
    to_ += bytes;
    if (to_.size() >= chunk_bytes) flush();
  }

  void as_they_are(std::uint64_t bytes) {
    while (bytes > 0) {
      const std::size_t count = std::min<std::uint64_t>(bytes, chunk_bytes);
      write(next(count));
      bytes -= count;
    }
  }

  // Writes one head with its rows of row_bytes in another order.
  void reordered(std::span<const std::size_t> order, std::size_t row_bytes) {
    const std::string_view head = next(order.size() * row_bytes);
    for (const std::size_t row : order) write(head.substr(row * row_bytes, row_bytes));
  }

  // Call after the last byte.
  void flush() {
    write_(to_);
    to_.clear();
  }

 private:
  // The next bytes of the input, valid until the next call.
  std::string_view next(std::size_t count) {
    if (from_.size() - at_ < count) {
      from_.erase(0, std::exchange(at_, 0));
      const std::size_t kept = from_.size();
      from_.resize(std::max(count, chunk_bytes));
      const auto room = std::as_writable_bytes(std::span(from_)).subspan(kept);
      from_.resize(kept + input_.read(room));
      if (from_.size() < count) fail(ExitCode::io, "{}: ended while it was read", path_);
    }
    progress_.advance(static_cast<std::int64_t>(count));
    return std::string_view(from_).substr(std::exchange(at_, at_ + count), count);
  }

  const std::string& path_;
  InputFile input_;
  const std::function<void(std::string_view)>& write_;
  Progress& progress_;
  std::string from_, to_;
  std::size_t at_ = 0;  // index in from_ of the next byte
};

// Copies rows of row_bytes each and reorders the rows of heads.
void copy_rows(Copy& copy, const TensorRows& rows, Pairing to, std::uint64_t row_bytes) {
  std::vector<std::vector<std::size_t>> orders;
  for (const RowGroup& group : rows.groups) {
    orders.emplace_back();
    if (group.spec == nullptr) continue;
    const HeadWindow window = value_or_fail(head_window(*group.spec));
    orders.back() = row_order(window, static_cast<std::size_t>(group.first_row), to);
  }
  for (std::int64_t time = 0; time < rows.times; ++time) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const RowGroup& group = rows.groups[i];
      for (std::int64_t head = 0; head < group.heads; ++head) {
        if (group.spec == nullptr)
          copy.as_they_are(static_cast<std::uint64_t>(group.rows) * row_bytes);
        else
          copy.reordered(orders[i], row_bytes);
      }
    }
  }
}

void copy_file(const Checkpoint& checkpoint, const WeightFile& file, Pairing to, Copy& copy) {
  if (is_index(file.path)) {
    copy.write(read_file(file.path, most_index_bytes));
    return copy.flush();
  }
  const SafetensorsStart start = value_or_fail(read_safetensors_start(copy.input()), file.path);
  copy.write(start.bytes);
  for (const SafetensorsTensor& tensor : start.header.tensors) {
    const TensorRows rows = rows_of(checkpoint, tensor);
    const std::uint64_t bytes = tensor.size_in_bytes();
    if (bytes == 0 || rows.groups.empty())
      copy.as_they_are(bytes);
    else
      copy_rows(copy, rows, to, bytes / static_cast<std::uint64_t>(rows.count()));
  }
  copy.flush();
}

}  // namespace

std::vector<std::size_t> row_order(const HeadWindow& window, std::size_t first_row, Pairing to) {
  std::vector<std::size_t> order(first_row + static_cast<std::size_t>(window.head_dim));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t first = first_row + static_cast<std::size_t>(window.first_feature);
  const auto pairs = static_cast<std::size_t>(window.pairs());
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t half[] = {first + i, first + i + pairs};
    const std::size_t adjacent[] = {first + 2 * i, first + 2 * i + 1};
    for (std::size_t side = 0; side < 2; ++side) {
      if (to == Pairing::interleaved)
        order[adjacent[side]] = half[side];
      else
        order[half[side]] = adjacent[side];
    }
  }
  return order;
}

Permutation plan_permutation(const Checkpoint& checkpoint, const std::string& path,
                             const std::string& out, Pairing to) {
  Permutation permutation{.from = to == Pairing::half ? Pairing::interleaved : Pairing::half,
                          .to = to};
  Places places;
  const auto add = [&](WeightFile file) {
    InputFile input(file.path);
    SafetensorsStart start = value_or_fail(read_safetensors_start(input), file.path);
    for (const SafetensorsTensor& tensor : start.header.tensors) {
      count(rows_of(checkpoint, tensor), tensor.name, permutation, places);
      file.data_bytes += tensor.size_in_bytes();
    }
    permutation.files.push_back(std::move(file));
    return std::move(start.header);
  };
  if (is_index(path)) {
    const auto files = parse_weight_index(read_file(path, most_index_bytes), path);
    for (const auto& [file, tensors] : files) {
      const std::string shard = (fs::path(path).parent_path() / file).string();
      const auto header = add({.path = shard, .out = (fs::path(out) / file).string()});
      std::set<std::string_view> found;
      for (const SafetensorsTensor& tensor : header.tensors) found.insert(tensor.name);
      for (const std::string& tensor : tensors)
        if (!found.contains(tensor))
          fail(ExitCode::malformed_input, "{}: must have the tensor '{}' that the index names",
               shard, shown_name(tensor));
    }
    permutation.files.push_back(
        {.path = path, .out = (fs::path(out) / fs::path(path).filename()).string()});
  } else {
    add({.path = path, .out = out});
  }
  if (permutation.permuted.empty()) {
    fail(ExitCode::unsupported,
         "{}: no tensor of queries or keys that rotate was found (q_proj, k_proj, wq, wk, "
         "qkv_proj, ...)",
         path);
  }
  return permutation;
}

void permute(const Checkpoint& checkpoint, const Permutation& permutation, Overwrite overwrite) {
  std::uint64_t bytes = 0;
  for (const WeightFile& file : permutation.files) bytes += file.data_bytes;
  Progress progress("rotary permute", static_cast<std::int64_t>(bytes));
  std::vector<StreamedFile> outputs;
  for (const WeightFile& file : permutation.files) {
    outputs.push_back(
        {.path = file.out,
         .fill =
             [&](const auto& write) {
               Copy copy(file, write, progress);
               copy_file(checkpoint, file, permutation.to, copy);
             },
         .check = [&file](const std::string& written) {  // the header, and the size of the data
           if (is_index(file.path)) return;
           InputFile output(written);
           if (const auto start = read_safetensors_start(output); !start)
             fail(ExitCode::io, "{}: read back before it takes its name, {}", file.out,
                  start.error().message);
         }});
  }
  write_files(outputs, overwrite);
}

}  // namespace rotary::cli
