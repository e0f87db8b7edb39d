// SPDX-License-Identifier: Apache-2.0
// Fuzzes permute in both directions. It must refuse the checkpoint and write nothing, or write the
// same header with each tensor's bytes in some order. Permuting back must restore the file.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "apps/failure.hpp"
#include "apps/safetensors/safetensors.hpp"
#include "cli/permute/weights.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

namespace fs = std::filesystem;
using std::string_view_literals::operator""sv;

// One config for each way to find the rows of a head.
constexpr std::array configs = {
    R"({"model_type":"llama","head_dim":8,"num_attention_heads":4,"num_key_value_heads":2})"sv,
    R"({"model_type":"phi3","hidden_size":16,"num_attention_heads":2})"sv,
    R"({"model_type":"gptj","n_embd":16,"n_head":2,"n_positions":64,"rotary_dim":4})"sv,
    R"({"model_type":"gpt_neox","hidden_size":16,"num_attention_heads":2,"rotary_pct":0.5})"sv,
    R"({"model_type":"falcon","hidden_size":32,"num_attention_heads":4,"num_kv_heads":2,
        "alibi":false,"new_decoder_architecture":true})"sv,
    R"({"model_type":"falcon","hidden_size":32,"num_attention_heads":4,"alibi":false})"sv,
    R"({"model_type":"deepseek_v3","qk_nope_head_dim":4,"qk_rope_head_dim":4,"kv_lora_rank":6,
        "hidden_size":16,"num_attention_heads":2,"num_hidden_layers":1})"sv,
    R"({"model_type":"smollm3","head_dim":8,"num_attention_heads":2,"num_hidden_layers":3,
        "no_rope_layers":[1,0,1]})"sv,
};
constexpr std::array modules = {
    "q_proj"sv, "k_proj"sv,         "wq"sv,       "key"sv,  "q_b_proj"sv,           "q_norm"sv,
    "Wqkv"sv,   "k_layernorm"sv,    "qkv_proj"sv, "wqkv"sv, "kv_a_proj_with_mqa"sv, "v_proj"sv,
    "vit.wq"sv, "query_key_value"sv};
constexpr std::array suffixes = {"weight"sv, "bias"sv, "lora_A.weight"sv, "lora_B.weight"sv,
                                 "qweight"sv};
constexpr std::array types = {std::pair("BF16"sv, 16), std::pair("F32"sv, 32),
                              std::pair("F8_E4M3"sv, 8), std::pair("F4"sv, 4)};

auto one_of(const auto& choices, Bytes& input) { return choices[input.byte() % choices.size()]; }

cli::Checkpoint checkpoint_of(Bytes& input) {
  const std::string_view config = one_of(configs, input);
  auto model = resolve(config);
  if (!model) fail("the config must be right", model.error().message);
  cli::HeadCounts heads;
  if (input.once_in(4)) heads.query = input.number(1, 8);
  if (input.once_in(4)) heads.key = input.number(1, 8);
  cli::Checkpoint checkpoint{
      .model = *std::move(model), .config = cli::SortedJson::parse(config), .heads = {}};
  checkpoint.heads = cli::head_counts(checkpoint.config, heads);
  return checkpoint;
}

// A file of a few tensors. Sometimes one byte is changed, or the end is missing.
std::string file_of(Bytes& input) {
  cli::Json header = cli::Json::object();
  std::int64_t end = 0;
  for (std::int64_t left = input.number(1, 4); left > 0; --left) {
    std::string name = "layers." + std::to_string(input.number(0, 3)) + ".";
    name.append(one_of(modules, input)).append(".").append(one_of(suffixes, input));
    const auto [type, bits] = one_of(types, input);
    const std::int64_t rows = input.number(0, 24) * (input.once_in(8) ? 1 : 4);
    const std::int64_t columns = input.number(0, 4);
    cli::Json shape = {rows, columns};
    if (columns == 0) shape = {rows};
    const std::int64_t bytes = rows * std::max<std::int64_t>(columns, 1) * bits / 8;
    const std::int64_t begin = std::exchange(end, end + bytes);
    header[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, end}}};
  }
  const std::string text = header.dump();
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 255U);
  file += text;
  for (std::int64_t i = 0; i < end; ++i) file += static_cast<char>(i * 89 + i / 97);
  if (input.once_in(8)) file[input.bits() % file.size()] = static_cast<char>(input.byte());
  if (input.once_in(8)) file.resize(input.bits() % file.size());
  return file;
}

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "rotary-fuzz-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) fail("mkdtemp must make a folder", path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(std::string_view name) const {
    return (fs::path(path_) / name).string();
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  std::string path_;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns false if the call is refused.
bool permuted(const cli::Checkpoint& checkpoint, const std::string& from, const std::string& out,
              Pairing to) {
  try {
    const auto plan = cli::plan_permutation(checkpoint, from, out, to);
    if (plan.permuted.empty()) fail("a checkpoint without rows to move must be refused");
    cli::permute(checkpoint, plan, cli::Overwrite::refuse);
    return true;
  } catch (const cli::Failure& failure) {
    check_text(failure.what());
    const cli::ExitCode code = failure.exit_code();
    if (code == cli::ExitCode::io || code == cli::ExitCode::internal)
      fail("a refusal must name a fault of the file", failure.what());
    return false;
  }
}

cli::SafetensorsStart start_of(const std::string& file) {
  cli::MemoryStream stream(std::as_bytes(std::span(file)));
  auto start = cli::read_safetensors_start(stream);
  if (!start) fail("a written file must be readable", start.error().message);
  return *std::move(start);
}

void check_copy(const std::string& before, const std::string& after) {
  const auto start = start_of(before);
  if (after.size() != before.size() || start_of(after).bytes != start.bytes)
    fail("names, dtypes and shapes must be as they were");
  for (const cli::SafetensorsTensor& tensor : start.header.tensors) {
    const std::size_t first = start.bytes.size() + tensor.begin;
    std::string one = before.substr(first, tensor.size_in_bytes());
    std::string other = after.substr(first, tensor.size_in_bytes());
    std::ranges::sort(one);
    std::ranges::sort(other);
    if (one != other) fail("a tensor must keep its bytes", tensor.name);
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  static const fuzz::Folder folder;
  static const std::string from = folder.file("from");
  static const std::string out = folder.file("out");
  static const std::string back = folder.file("back");
  fuzz::Bytes input(data, size);
  const cli::Checkpoint checkpoint = fuzz::checkpoint_of(input);
  const bool to_half = input.once_in(2);
  const Pairing to = to_half ? Pairing::half : Pairing::interleaved;
  const Pairing other = to_half ? Pairing::interleaved : Pairing::half;
  const std::string file = fuzz::file_of(input);
  std::ofstream(from, std::ios::binary) << file;
  if (!fuzz::permuted(checkpoint, from, out, to)) {
    if (folder.files() != 1) fuzz::fail("a refusal must leave nothing");
    return 0;
  }
  fuzz::check_copy(file, fuzz::read(out));
  if (!fuzz::permuted(checkpoint, out, back, other)) fuzz::fail("permuting back must succeed");
  if (fuzz::read(back) != file) fuzz::fail("permuting back must restore every byte");
  if (folder.files() != 3) fuzz::fail("only outputs must be written");
  std::filesystem::remove(out);
  std::filesystem::remove(back);
  return 0;
}
