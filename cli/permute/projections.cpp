// SPDX-License-Identifier: Apache-2.0
#include "cli/permute/projections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "apps/failure.hpp"
#include "apps/printable.hpp"

namespace rotary::cli {
namespace {

enum class Rows {
  query,           // heads of queries
  key,             // heads of keys
  key_tail,        // MLA: the latent rows, then the rotated head that all heads share
  channels,        // values for each channel of a head, or of all heads
  queries_first,   // fused: all queries, all keys, all values
  head_by_head,    // fused: query, key and value of the first head, then of the next
  group_by_group,  // fused: the queries of a group, its key, its value
  falcon,          // fused: one of the three orders, by the config
};

struct Module {
  std::string_view name;
  Rows rows;
};

// Names in Hugging Face's models, checkpoints of Meta and Mistral (wq, wk), BERT and its relatives
// (query, key), and DeepSeek (q_b_proj, kv_a_proj_with_mqa).
constexpr std::array<Module, 14> modules = {{
    {"q_proj", Rows::query},
    {"wq", Rows::query},
    {"query", Rows::query},
    {"q_b_proj", Rows::query},
    {"k_proj", Rows::key},
    {"wk", Rows::key},
    {"key", Rows::key},
    {"kv_a_proj_with_mqa", Rows::key_tail},
    {"q_norm", Rows::channels},
    {"k_norm", Rows::channels},
    {"q_layernorm", Rows::channels},
    {"k_layernorm", Rows::channels},
    {"query_layernorm", Rows::channels},
    {"key_layernorm", Rows::channels},
}};

struct FusedModule {
  std::string_view model_type;
  std::string_view name;
  Rows rows;
};

// The order of fused rows in each family's modeling_*.py.
constexpr std::array<FusedModule, 11> fused_modules = {{
    {"baichuan", "W_pack", Rows::queries_first},          // unflatten(-1, (3, hidden_size))
    {"chatglm", "query_key_value", Rows::queries_first},  // split
    {"dbrx", "Wqkv", Rows::queries_first},                // split
    {"falcon", "query_key_value", Rows::falcon},          // _split_heads
    {"gpt_neox", "query_key_value", Rows::head_by_head},  // view(..., 3 * head_size).chunk(3)
    {"gpt_neox_japanese", "query_key_value", Rows::head_by_head},
    {"internlm2", "wqkv", Rows::group_by_group},           // rearrange (h gs d)
    {"modernbert", "Wqkv", Rows::queries_first},           // view(..., 3, heads, head_dim)
    {"persimmon", "query_key_value", Rows::head_by_head},  // view(..., heads, 3, head_dim)
    {"phi3", "qkv_proj", Rows::queries_first},             // qkv[..., :query_pos]
    {"qwen", "c_attn", Rows::queries_first},               // split
}};

// Prefixes of model parts whose positions differ from the text model's.
constexpr std::array<std::string_view, 10> other_parts = {
    "vision", "visual", "image",   "vit",        "audio",
    "speech", "mm_",    "indexer", "cross_attn", "encoder_attn"};

// A tensor of queries or keys, as its name says.
struct Found {
  Rows rows = Rows::query;
  std::string_view module;
  std::string_view suffix;  // "weight"
  std::optional<std::size_t> layer;
};

std::optional<Rows> rows_of(std::string_view module, std::string_view model_type) {
  const auto* const plain = std::ranges::find(modules, module, &Module::name);
  if (plain != modules.end()) return plain->rows;
  for (const FusedModule& fused : fused_modules)
    if (fused.name == module && fused.model_type == model_type) return fused.rows;
  return std::nullopt;
}

std::optional<Found> find(std::string_view name, std::string_view model_type) {
  Found found;
  std::optional<Rows> rows;
  std::string_view rest = name;
  while (rest.find('.') != std::string_view::npos) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(part.size() + 1);
    const auto begins = [&](std::string_view other) { return part.starts_with(other); };
    if (std::ranges::any_of(other_parts, begins)) return std::nullopt;
    std::size_t layer = 0;
    const auto* const end = part.data() + part.size();
    const bool is_number =
        std::from_chars(part.data(), end, layer) == std::from_chars_result{end, {}};
    if (is_number && !found.layer && !rows) found.layer = layer;
    if (rows) continue;
    rows = rows_of(part, model_type);
    if (!rows && std::ranges::count(fused_modules, part, &FusedModule::name) > 0) {
      fail(ExitCode::unsupported,
           "'{}' holds queries, keys and values in an order that is not known for the family {}; "
           "split it into q_proj and k_proj first",
           shown_name(name), model_type.empty() ? "of this config" : shown_name(model_type));
    }
    if (!rows) continue;
    found.module = part;
    found.suffix = rest;
  }
  if (!rows) return std::nullopt;
  found.rows = *rows;
  return found;
}

// True if the first dimension counts the module's rows. Fails for packed or scaled numbers.
bool has_rows(const Found& found, std::string_view name) {
  const std::string_view suffix = found.suffix;
  if (suffix == "weight" || suffix == "bias") return true;
  if (found.rows == Rows::channels && suffix.starts_with("norms.")) return true;
  if (suffix.starts_with("lora_B.")) return true;
  if (suffix.starts_with("lora_A.")) return false;
  fail(ExitCode::unsupported,
       "'{}' is neither a weight nor a bias of {}: rows of packed or scaled numbers cannot be "
       "reordered; permute the weights before they are quantised",
       shown_name(name), found.module);
}

const ModelRotary* rotary_of(const Checkpoint& checkpoint, const Found& found,
                             std::string_view name) {
  const ModelSpec& model = checkpoint.model;
  if (found.layer && *found.layer < model.layers.size()) {
    const ModelLayer& layer = model.layers[*found.layer];
    return layer.encoding == LayerEncoding::rotary ? &model.rotary.at(layer.rotary) : nullptr;
  }
  if (model.rotary.size() == 1) return &model.rotary.front();
  fail(ExitCode::unsupported,
       "'{}' must be of one of the config's {} layers, whose embeddings differ", shown_name(name),
       model.layers.size());
}

std::int64_t head_width(const ModelRotary& rotary) {
  return rotary.nope_head_dim + rotary.spec.head_dim;
}

RowGroup heads_of(const ModelRotary& rotary, std::int64_t heads) {
  return {.heads = heads,
          .rows = head_width(rotary),
          .first_row = rotary.nope_head_dim,
          .spec = &rotary.spec};
}

template <class Count>
[[noreturn]] void fail_rows(std::string_view name, Count rows, const std::string& wanted) {
  fail(ExitCode::malformed_input,
       "'{}' must have {}, got {} rows: is this the config of these weights?", shown_name(name),
       wanted, rows);
}

std::optional<bool> flag_in(const SortedJson& config, std::string_view name) {
  const auto found = config.find(name);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  fail(ExitCode::malformed_input, "the config's {} must be true or false, got JSON of type {}",
       name, found->type_name());
}

Rows falcon_rows(const SortedJson& config) {
  if (flag_in(config, "new_decoder_architecture").value_or(false)) return Rows::group_by_group;
  return flag_in(config, "multi_query").value_or(true) ? Rows::queries_first : Rows::head_by_head;
}

// Every order but head_by_head needs the numbers of heads.
TensorRows fused_rows(const Checkpoint& checkpoint, const ModelRotary& rotary, Rows rows,
                      const NamedShape& tensor, std::int64_t count) {
  const std::int64_t width = head_width(rotary);
  if (rows == Rows::head_by_head) {
    if (count % (3 * width) != 0)
      fail_rows(tensor.name, count, fmt::format("3 x {} rows for each head", width));
    return {.groups = {heads_of(rotary, 2), {.rows = width}}, .times = count / (3 * width)};
  }
  const bool one_key = checkpoint.model.model_type == "falcon" && rows == Rows::queries_first;
  const auto query = checkpoint.heads.query;
  const auto key = one_key ? std::optional<std::int64_t>(1) : checkpoint.heads.key;
  if (!query || !key) {
    fail_usage("'{}' is fused: pass --heads and --kv-heads, which the config lacks",
               shown_name(tensor.name));
  }
  const bool fits = *query >= 1 && *query <= count && *key >= 1 && *query % *key == 0 &&
                    count == (*query + 2 * *key) * width;
  if (!fits)
    fail_rows(tensor.name, count,
              fmt::format("{} heads of queries and twice {} of keys and values, {} rows each",
                          *query, *key, width));
  const std::int64_t times = rows == Rows::group_by_group ? *key : 1;
  return {
      .groups = {heads_of(rotary, *query / times + *key / times), {.rows = *key / times * width}},
      .times = times};
}

TensorRows plain_rows(const Checkpoint& checkpoint, const ModelRotary& rotary, Rows rows,
                      const NamedShape& tensor, std::int64_t count) {
  const std::int64_t width = head_width(rotary);
  if (count % width != 0)
    fail_rows(tensor.name, count, fmt::format("{} rows for each head", width));
  const auto wanted = rows == Rows::query ? checkpoint.heads.query : checkpoint.heads.key;
  const bool same = rows == Rows::channels || !wanted || checkpoint.model.rotary.size() > 1;
  if (!same && *wanted != count / width)
    fail_rows(tensor.name, count, fmt::format("{} heads of {} rows", *wanted, width));
  return {.groups = {heads_of(rotary, count / width)}};
}

TensorRows rows_in_order(const Checkpoint& checkpoint, const ModelRotary& rotary, Rows rows,
                         const NamedShape& tensor, std::int64_t count) {
  switch (rows) {
    case Rows::falcon:
      return rows_in_order(checkpoint, rotary, falcon_rows(checkpoint.config), tensor, count);
    case Rows::key_tail: {  // the shared head rotates from its first row
      const std::int64_t rotated = rotary.spec.head_dim;
      if (count <= rotated)
        fail_rows(tensor.name, count, fmt::format("more than {} rows", rotated));
      return {.groups = {{.rows = count - rotated}, {.rows = rotated, .spec = &rotary.spec}}};
    }
    case Rows::queries_first:
    case Rows::head_by_head:
    case Rows::group_by_group:
      return fused_rows(checkpoint, rotary, rows, tensor, count);
    case Rows::query:
    case Rows::key:
    case Rows::channels:
      break;
  }
  return plain_rows(checkpoint, rotary, rows, tensor, count);
}

std::optional<std::int64_t> count_in(const SortedJson& config,
                                     std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_number_integer()) return found->get<std::int64_t>();
  }
  return std::nullopt;
}

}  // namespace

HeadCounts head_counts(const SortedJson& config, HeadCounts asked) {
  if (!config.is_object()) return asked;
  if (!asked.query)
    asked.query = count_in(config, {"num_attention_heads", "n_head", "n_heads", "num_heads"});
  if (!asked.key) {
    asked.key = count_in(config, {"num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads",
                                  "multi_query_group_num"});
  }
  const auto nested = config.find("attn_config");  // DBRX
  if (!asked.key && nested != config.end() && nested->is_object())
    asked.key = count_in(*nested, {"kv_n_heads"});
  if (!asked.key) asked.key = asked.query;
  return asked;
}

TensorRows tensor_rows(const Checkpoint& checkpoint, const NamedShape& tensor) {
  const auto found = find(tensor.name, checkpoint.model.model_type);
  if (!found || !has_rows(*found, tensor.name)) return {};
  const ModelRotary* const rotary = rotary_of(checkpoint, *found, tensor.name);
  if (rotary == nullptr) return {};
  std::uint64_t count = tensor.shape.empty() ? 1 : tensor.shape.front();
  if (found->rows == Rows::channels) {
    count = 1;
    for (const std::uint64_t dimension : tensor.shape) count *= dimension;
  }
  if (count == 0 || count > INT32_MAX)
    fail_rows(tensor.name, count, fmt::format("1 to {} rows", INT32_MAX));
  return rows_in_order(checkpoint, *rotary, found->rows, tensor, static_cast<std::int64_t>(count));
}

}  // namespace rotary::cli
