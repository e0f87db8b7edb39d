// SPDX-License-Identifier: Apache-2.0
#include "cli/permute/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <set>

#include "bench/progress.hpp"
#include "cli/failure.hpp"
#include "cli/safetensors/safetensors.hpp"

namespace rotary::cli {
namespace {

namespace fs = std::filesystem;

// The index of the largest published checkpoints has a few megabytes.
constexpr std::uint64_t most_index_bytes = std::uint64_t{64} << 20;
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

void count_tensor(Permutation& permutation, const std::vector<RowGroup>& groups,
                  std::string_view name) {
  const auto is_head = [](const RowGroup& group) { return group.spec != nullptr; };
  const auto head = std::ranges::find_if(groups, is_head);
  if (head == groups.end()) {
    ++permutation.copied_tensors;
    return;
  }
  PermutedTensors counted{.name = name_without_layer(name),
                          .tensors = 1,
                          .heads = std::ranges::count_if(groups, is_head),
                          .head_dim = head->rows};
  const auto same = [&](const PermutedTensors& other) {
    return other.name == counted.name && other.heads == counted.heads &&
           other.head_dim == counted.head_dim;
  };
  const auto known = std::ranges::find_if(permutation.permuted, same);
  if (known != permutation.permuted.end())
    ++known->tensors;
  else
    permutation.permuted.push_back(std::move(counted));
}

// Reads a file's start, and what becomes of its tensors.
void plan_file(const Checkpoint& checkpoint, WeightFile file, Permutation& permutation,
               std::set<std::string>* names) {
  InputFile input(file.path);
  const SafetensorsStart start = value_or_fail(read_safetensors_start(input), file.path);
  for (const SafetensorsTensor& tensor : start.header.tensors) {
    if (names != nullptr) names->insert(tensor.name);
    count_tensor(permutation, row_groups(checkpoint, {.name = tensor.name, .shape = tensor.shape}),
                 tensor.name);
    file.data_bytes += tensor.size_in_bytes();
  }
  permutation.files.push_back(std::move(file));
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// Tensors of an index by the file that has them.
using FilesOfIndex = std::map<std::string, std::set<std::string>>;

FilesOfIndex read_index(const std::string& path) {
  const SortedJson index = SortedJson::parse(read_file(path, most_index_bytes), nullptr, false);
  const auto fail = [&path](const std::string& requirement) -> Failure {
    return {ExitCode::malformed_input, fmt::format("{}: an index must {}", path, requirement)};
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    throw fail("be a JSON object with the member weight_map, an object");
  FilesOfIndex files;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>()))
      throw fail(fmt::format("name a file of its own folder for '{}'", tensor));
    files[file.get<std::string>()].insert(tensor);
  }
  if (files.empty()) throw fail("name a file");
  return files;
}

void plan_index(const Checkpoint& checkpoint, const std::string& path, const std::string& out,
                Permutation& permutation) {
  const fs::path folder = fs::path(path).parent_path();
  for (const auto& [file, tensors] : read_index(path)) {
    std::set<std::string> found;
    const std::string shard = (folder / file).string();
    plan_file(checkpoint, {.path = shard, .out = (fs::path(out) / file).string()}, permutation,
              &found);
    for (const std::string& tensor : tensors) {
      if (found.contains(tensor)) continue;
      throw Failure(
          ExitCode::malformed_input,
          fmt::format("{}: must have the tensor '{}' that the index names", shard, tensor));
    }
  }
  permutation.files.push_back(
      {.path = path, .out = (fs::path(out) / fs::path(path).filename()).string()});
}

bool is_index(const std::string& path) { return path.ends_with(".json"); }

// The bytes of one file, as they are copied.
class Copy {
 public:
  Copy(const WeightFile& file, const std::function<void(std::string_view)>& write,
       bench::Progress& progress)
      : path_(file.path), input_(file.path), write_(write), progress_(progress) {}

  [[nodiscard]] ByteStream& input() noexcept { return input_; }

  void write(std::string_view bytes) { write_(bytes); }

  void as_they_are(std::uint64_t bytes) {
    while (bytes > 0) {
      const std::size_t count = std::min<std::uint64_t>(bytes, chunk_bytes);
      read(count);
      write_(from_);
      progress_.advance(static_cast<std::int64_t>(count));
      bytes -= count;
    }
  }

  // One head: rows of row_bytes each, in another order.
  void reordered(std::span<const std::size_t> order, std::size_t row_bytes) {
    read(order.size() * row_bytes);
    to_.clear();
    for (const std::size_t row : order) to_.append(from_, row * row_bytes, row_bytes);
    write_(to_);
    progress_.advance(static_cast<std::int64_t>(to_.size()));
  }

 private:
  void read(std::size_t count) {
    from_.resize(count);
    if (input_.read(std::as_writable_bytes(std::span(from_))) != count)
      throw Failure(ExitCode::io, fmt::format("{}: ended while it was read", path_));
  }

  const std::string& path_;
  InputFile input_;
  const std::function<void(std::string_view)>& write_;
  bench::Progress& progress_;
  std::string from_, to_;
};

void copy_tensor(Copy& copy, const SafetensorsTensor& tensor, std::span<const RowGroup> groups,
                 Pairing to) {
  std::int64_t rows = 0;
  for (const RowGroup& group : groups) rows += group.rows;
  if (rows == 0) return copy.as_they_are(tensor.size_in_bytes());
  const std::uint64_t row_bytes = tensor.size_in_bytes() / static_cast<std::uint64_t>(rows);
  for (const RowGroup& group : groups) {
    if (group.spec == nullptr) {
      copy.as_they_are(static_cast<std::uint64_t>(group.rows) * row_bytes);
      continue;
    }
    const HeadWindow window = value_or_fail(head_window(*group.spec));
    copy.reordered(row_order(window, static_cast<std::size_t>(group.first_row), to), row_bytes);
  }
}

void copy_file(const Checkpoint& checkpoint, const WeightFile& file, Pairing to, Copy& copy) {
  if (is_index(file.path)) {
    copy.write(read_file(file.path, most_index_bytes));
    return;
  }
  const SafetensorsStart start = value_or_fail(read_safetensors_start(copy.input()), file.path);
  copy.write(start.bytes);
  for (const SafetensorsTensor& tensor : start.header.tensors) {
    copy_tensor(copy, tensor, row_groups(checkpoint, {.name = tensor.name, .shape = tensor.shape}),
                to);
  }
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
  Permutation permutation;
  permutation.from = to == Pairing::half ? Pairing::interleaved : Pairing::half;
  permutation.to = to;
  if (is_index(path))
    plan_index(checkpoint, path, out, permutation);
  else
    plan_file(checkpoint, {.path = path, .out = out}, permutation, nullptr);
  if (permutation.permuted.empty()) {
    throw Failure(ExitCode::unsupported,
                  fmt::format("{}: no tensor of queries or keys that rotate was found (q_proj, "
                              "k_proj, wq, wk, qkv_proj, ...)",
                              path));
  }
  return permutation;
}

void permute(const Checkpoint& checkpoint, const Permutation& permutation, Overwrite overwrite) {
  std::uint64_t bytes = 0;
  for (const WeightFile& file : permutation.files) bytes += file.data_bytes;
  bench::Progress progress("rotary permute", static_cast<std::int64_t>(bytes));
  std::vector<StreamedFile> outputs;
  for (const WeightFile& file : permutation.files) {
    outputs.push_back({.path = file.out, .fill = [&](const auto& write) {
                         Copy copy(file, write, progress);
                         copy_file(checkpoint, file, permutation.to, copy);
                       }});
  }
  write_files(outputs, overwrite);
}

}  // namespace rotary::cli
