// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/attend_checks.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "attention/attend/encoding_checks.hpp"
#include "attention/attend/key_limits.hpp"
#include "attention/attend/pair_masks.hpp"
#include "base/message.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// Most features of a head of q, k and v; MLA has 576. A thread's scratch memory grows with it.
constexpr std::int64_t most_features = std::int64_t{1} << 14;

// Most heads of q; a thread's scratch memory grows with the query heads per kv head.
constexpr std::int64_t most_heads = std::int64_t{1} << 20;

// Most keys of a sequence: float32 sums are meaningless for more.
constexpr std::int64_t most_keys = std::int64_t{1} << 31;

constexpr StoredNames k_names{.elements = "k", .scales = "k.scales"};
constexpr StoredNames v_names{.elements = "v", .scales = "v.scales"};

Status check_operand(const StoredNames& names, const StoredHeads& heads) {
  if (auto status = check_stored(names, heads); !status) return status;
  if (heads.dtype == DType::f64)
    return unsupported(names.elements, ": dtype must be f32, bf16 or f16, got f64");
  if (heads.extents.features <= most_features) return {};
  return invalid_argument(names.elements, ": a head must have at most ", most_features,
                          " features, got ", heads.extents.features);
}

Status check_operand(std::string_view name, const ConstHeadsView& view) {
  return check_operand({.elements = name, .scales = {}}, stored(view));
}

Status check_heads(const AttendCall& call) {
  if (auto status = check_operand("q", call.q); !status) return status;
  if (auto status = check_operand(k_names, call.k); !status) return status;
  if (auto status = check_operand(v_names, call.v); !status) return status;
  const Extents& q = call.q.extents;
  const Extents& k = call.k.extents;
  const Extents& v = call.v.extents;
  if (v.batch != k.batch || v.tokens != k.tokens || v.heads != k.heads) {
    return invalid_argument("v: batch, tokens and heads must be those of k, ", k.batch, ", ",
                            k.tokens, ", ", k.heads, "; got ", describe(v));
  }
  if (k.features != q.features) {
    return invalid_argument("k: features must be those of q, ", q.features, "; got ", k.features);
  }
  if (q.heads > most_heads) {
    return invalid_argument("q: heads must be at most ", most_heads, ", got ", q.heads);
  }
  if (k.heads > 0 && q.heads % k.heads != 0) {
    return invalid_argument("q: heads must be a multiple of those of k, ", k.heads, "; got ",
                            q.heads);
  }
  if (k.heads == 0 && q.heads > 0)
    return invalid_argument("k: heads must be at least 1, got 0 for ", q.heads, " of q");
  if (call.table == nullptr && k.batch != q.batch) {
    return invalid_argument("k: batch must be that of q, ", q.batch, "; got ", k.batch);
  }
  return {};
}

Status check_scale(const AttendCall& call) {
  const double scale = std::abs(call.options.scale);
  if (scale >= 0x1p-64 && scale <= 0x1p64) return validate(call.options.q_temperature);
  return invalid_argument("scale must be given, of a size from 2^-64 to 2^64 (1 / ",
                          "sqrt(head_dim) in most models), got ", call.options.scale);
}

Status check_mask(const AttendCall& call) {
  const AttentionMask& mask = call.options.mask;
  if (mask.order != AttentionOrder::bidirectional && mask.order != AttentionOrder::causal) {
    return invalid_argument("mask: order must be bidirectional or causal, got value ",
                            static_cast<std::int32_t>(mask.order));
  }
  if (mask.left.value_or(0) < 0)
    return invalid_argument("left, how many earlier keys a query sees, must be >= 0, got ",
                            *mask.left);
  if (mask.sinks < 0) return invalid_argument("mask: sinks must be >= 0, got ", mask.sinks);
  return {};
}

Status check_table(const AttendCall& call) {
  if (call.table == nullptr) return {};
  const BlockTable& table = *call.table;
  if (table.sequences != static_cast<std::int64_t>(call.options.sequences.size())) {
    return invalid_argument("sequences: there must be one for each of the block table's, ",
                            table.sequences, "; got ", call.options.sequences.size());
  }
  return check_view("blocks", view_of(table));
}

bool is_within(std::int64_t first, std::int64_t count, std::int64_t extent) {
  return first >= 0 && count >= 0 && count <= extent && first <= extent - count;
}

bool can_be_compared(std::int64_t first_position, std::int64_t count) {
  return first_position >= -largest_mask_position &&
         first_position <= largest_mask_position - count;
}

Status check_blocks(const AttendCall& call, const AttentionSequence& s, std::int64_t index) {
  const BlockTable& table = *call.table;
  const std::int64_t slots = call.k.extents.tokens;
  const std::int64_t room = slots == 0 ? 0 : table.blocks_of_sequence;
  const std::int64_t keys = s.first_key + s.keys;  // at most 2^60 after check_sequence()
  if (keys > 0 && (room == 0 || (keys - 1) / slots >= room)) {
    return invalid_argument("sequences: keys of sequence ", index, " must lie in its ", room,
                            " blocks of ", slots, " slots, got keys up to ", keys);
  }
  for (std::int64_t block = 0; block * slots < keys; ++block) {
    const std::int32_t at = table.blocks[index * table.stride + block];
    if (at >= 0 && at < call.k.extents.batch) continue;
    return invalid_argument("blocks: each must be from 0 to ", call.k.extents.batch - 1, ", got ",
                            at, " for block ", block, " of sequence ", index);
  }
  return {};
}

Status check_sequence(const AttendCall& call, std::int64_t index) {
  const AttentionSequence s = call.sequences()[index];
  if (s.batch < 0 || s.batch >= call.q.extents.batch) {
    return invalid_argument("sequences: batch must be from 0 to ", call.q.extents.batch - 1,
                            ", got ", s.batch, " for sequence ", index);
  }
  if (!is_within(s.first_query, s.queries, call.q.extents.tokens)) {
    return invalid_argument("sequences: queries must be among the ", call.q.extents.tokens,
                            " tokens of q, got ", s.queries, " from ", s.first_query,
                            " on for sequence ", index);
  }
  constexpr std::int64_t most = std::int64_t{1} << 60;
  if (!is_within(s.first_key, s.keys, call.table == nullptr ? call.k.extents.tokens : most)) {
    return invalid_argument("sequences: keys must be among the ", call.k.extents.tokens,
                            " tokens of k, got ", s.keys, " from ", s.first_key,
                            " on for sequence ", index);
  }
  if (s.keys > most_keys) {
    return invalid_argument("sequences: at most ", most_keys, " keys can be attended to, got ",
                            s.keys, " for sequence ", index);
  }
  if (!can_be_compared(s.query_position, s.queries) || !can_be_compared(s.key_position, s.keys)) {
    return invalid_argument("sequences: positions must be from -2^60 to 2^60, got queries from ",
                            s.query_position, " and keys from ", s.key_position,
                            " on for sequence ", index);
  }
  const bool tempered = !std::holds_alternative<NoTemperature>(call.options.q_temperature);
  if (tempered && s.queries > 0 && s.query_position < 0) {
    return invalid_argument("q_temperature: is for queries at positions >= 0, got ",
                            s.query_position, " for sequence ", index);
  }
  if (call.table != nullptr) return check_blocks(call, s, index);
  return {};
}

// Sequences must be sorted and share no query.
Status check_order(const AttentionSequence& before, const AttentionSequence& after,
                   std::int64_t index) {
  if (after.batch > before.batch) return {};
  if (after.batch == before.batch && after.first_query >= before.first_query + before.queries)
    return {};
  return invalid_argument("sequences: must be in the order of batch rows and of queries that do ",
                          "not overlap, got batch ", after.batch, ", queries from ",
                          after.first_query, " on for sequence ", index, " after batch ",
                          before.batch, ", queries up to ", before.first_query + before.queries);
}

Status check_sequences(const AttendCall& call) {
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.different(); ++index) {
    if (auto status = check_sequence(call, index); !status) return status;
    if (index == 0) continue;
    if (auto status = check_order(sequences[index - 1], sequences[index], index); !status)
      return status;
  }
  return {};
}

// A tensor of a call and its name in messages.
struct Operand {
  std::string_view name;
  ConstHeadsView view;
  std::optional<std::int64_t> columns = {};  // for scores: the number of keys they must have
  std::int64_t element_bytes = size_in_bytes(view.dtype);

  [[nodiscard]] ElementsView elements() const noexcept {
    return {view.data, element_bytes, view.extents, view.strides};
  }
};

// The tensors of a call: inputs first, then outputs.
class Operands {
 public:
  explicit Operands(const AttendCall& call) {
    const AttentionEncoding& encoding = call.options.encoding;
    add("q", call.q);
    add(k_names, call.k);
    add(v_names, call.v);
    if (encoding.shaw_keys != nullptr) add("shaw_keys", heads_view(encoding.shaw_keys->table));
    if (encoding.shaw_values != nullptr)
      add("shaw_values", heads_view(encoding.shaw_values->table));
    if (call.table != nullptr) add("blocks", view_of(*call.table));
    read_ = count_;
    add("out", call.out);
    if (call.options.log_sum_exp) add("log_sum_exp", heads_view(*call.options.log_sum_exp), 1);
    if (call.options.weights) add("weights", heads_view(*call.options.weights), call.columns());
  }

  [[nodiscard]] std::span<const Operand> read() const noexcept { return {all_.data(), read_}; }
  [[nodiscard]] std::span<const Operand> written() const noexcept {
    return {all_.data() + read_, count_ - read_};
  }
  // The operands listed before `written`.
  [[nodiscard]] std::span<const Operand> before(const Operand& written) const noexcept {
    return {all_.data(), &written};
  }

 private:
  void add(std::string_view name, const ConstHeadsView& view,
           std::optional<std::int64_t> columns = {}) {
    all_[count_++] = {name, view, columns};
  }

  void add(const StoredNames& names, const StoredHeads& heads) {
    all_[count_++] = {names.elements,
                      {heads.data, heads.number_dtype(), heads.extents, heads.strides},
                      {},
                      heads.element_bytes()};
    if (heads.quantized() && has_elements(heads.extents)) add(names.scales, scales_of(heads));
  }

  std::array<Operand, 11> all_;
  std::size_t read_ = 0;
  std::size_t count_ = 0;
};

Status check_out(const AttendCall& call) {
  if (auto status = check_operand("out", call.out); !status) return status;
  const Extents& q = call.q.extents;
  const Extents& out = call.out.extents;
  if (out.batch == q.batch && out.tokens == q.tokens && out.heads == q.heads &&
      out.features == call.v.extents.features) {
    return {};
  }
  return invalid_argument("out: extents must be batch, tokens and heads of q and features of v, ",
                          q.batch, ", ", q.tokens, ", ", q.heads, ", ", call.v.extents.features,
                          "; got ", describe(out));
}

Status check_memory_apart(const AttendCall& call, std::size_t bytes) {
  const ElementsView memory{
      .data = call.options.memory.data(),
      .extents = {.tokens = static_cast<std::int64_t>(bytes), .heads = 1, .features = 1},
      .strides = {.token = 1}};
  const Operands operands(call);
  const auto written = operands.written();
  for (const auto& some : {written.first(1), operands.read(), written.subspan(1)}) {
    for (const Operand& of : some) {
      if (find_overlap(memory, of.elements()) == Overlap::none) continue;
      return invalid_argument("memory: must lie apart from ", of.name,
                              ", got memory that overlaps it");
    }
  }
  return check_apart_from_masks("memory", memory, call);
}

}  // namespace

ConstHeadsView view_of(const BlockTable& table) {
  return without_unused_strides(ConstHeadsView{
      .data = table.blocks,
      .dtype = DType::f32,  // same size as std::int32_t
      .extents = {.tokens = table.sequences, .heads = 1, .features = table.blocks_of_sequence},
      .strides = {.token = table.stride}});
}

Status check_scores(std::string_view name, const ConstHeadsView& scores, const Extents& wanted) {
  const Extents& n = scores.extents;
  if (scores.dtype == DType::f32 && n == wanted) return {};
  return invalid_argument(name, ": must be f32 with batch ", wanted.batch, ", heads ", wanted.heads,
                          ", queries ", wanted.tokens, ", keys ", wanted.features, "; got ",
                          to_string(scores.dtype), " with batch ", n.batch, ", heads ", n.heads,
                          ", queries ", n.tokens, ", keys ", n.features);
}

Status check_read(const AttendCall& call) {
  for (const auto check : {check_heads, check_scale, check_softcap, check_mask, check_table,
                           check_sequences, check_pair_masks, check_encoding}) {
    if (auto status = check(call); !status) return status;
  }
  return {};
}

Status check_written(const AttendCall& call) {
  if (auto status = check_out(call); !status) return status;
  const Operands operands(call);
  for (const Operand& to : operands.written()) {
    if (to.columns) {
      const Extents& q = call.q.extents;
      const Extents wanted{q.batch, q.tokens, q.heads, *to.columns};
      if (auto status = check_scores(to.name, to.view, wanted); !status) return status;
    }
    if (auto status = check_view(to.name, to.view); !status) return status;
    if (auto status = check_distinct(to.name, to.view); !status) return status;
    for (const Operand& of : operands.before(to)) {
      if (auto status = check_apart(to.name, to.elements(), of.name, of.elements()); !status)
        return status;
    }
    if (auto status = check_apart_from_masks(to.name, to.elements(), call); !status) return status;
  }
  return {};
}

Status check_memory(const AttendCall& call, std::size_t bytes) {
  const auto memory = call.options.memory;
  if (memory.empty()) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  if (address % kernels::attend_alignment != 0)
    return invalid_argument("memory: must be aligned to ", kernels::attend_alignment,
                            " bytes, got an address ", address % kernels::attend_alignment,
                            " bytes off");
  if (memory.size() < bytes)
    return invalid_argument("memory: must have at least ", bytes, " bytes (attend_bytes), got ",
                            memory.size());
  return check_memory_apart(call, bytes);
}

}  // namespace rotary
