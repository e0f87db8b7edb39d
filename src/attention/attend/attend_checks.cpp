// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/attend_checks.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <variant>

#include "attention/attend/bias/shaw_vectors.hpp"
#include "attention/attend/cached_keys.hpp"
#include "attention/attend/key_limits.hpp"
#include "base/message.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

Status check_operand(std::string_view name, const ConstHeadsView& view) {
  if (auto status = check_view(name, view); !status) return status;
  if (view.dtype == DType::f64)
    return unsupported(name, ": dtype must be f32, bf16 or f16, got f64");
  if (view.extents.features > largest_head_of_attention) {
    return invalid_argument(name, ": a head must have at most ", largest_head_of_attention,
                            " features, got ", view.extents.features);
  }
  return check_adjacent_features(name, view);
}

Status check_out(const AttendCall& call) {
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

Status check_keys(const AttendCall& call) {
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
  if (q.heads > most_heads_of_attention) {
    return invalid_argument("q: heads must be at most ", most_heads_of_attention, ", got ",
                            q.heads);
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

Status check_mask(const AttentionMask& mask) {
  if (mask.order != AttentionOrder::bidirectional && mask.order != AttentionOrder::causal) {
    return invalid_argument("mask: order must be bidirectional or causal, got value ",
                            static_cast<std::int32_t>(mask.order));
  }
  if (mask.left.value_or(0) < 0)
    return invalid_argument("mask: left must be >= 0, got ", *mask.left);
  if (mask.sinks < 0) return invalid_argument("mask: sinks must be >= 0, got ", mask.sinks);
  return {};
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
  const std::int64_t keys = s.first_key + s.keys;  // fits: both are at most a view's elements
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
  const AttentionSequence s = call.sequence(index);
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
  if (s.keys > most_keys_of_attention) {
    return invalid_argument("sequences: at most ", most_keys_of_attention,
                            " keys can be attended to, got ", s.keys, " for sequence ", index);
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

// Sequences must be sorted, and no query may be in two of them.
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
  const std::int64_t count = call.different_sequences();
  for (std::int64_t index = 0; index < count; ++index) {
    if (auto status = check_sequence(call, index); !status) return status;
    if (index == 0) continue;
    if (auto status = check_order(call.sequence(index - 1), call.sequence(index), index); !status)
      return status;
  }
  return {};
}

Status check_table(const AttendCall& call) {
  const BlockTable& table = *call.table;
  if (table.sequences != static_cast<std::int64_t>(call.options.sequences.size())) {
    return invalid_argument("sequences: there must be one for each of the block table's, ",
                            table.sequences, "; got ", call.options.sequences.size());
  }
  return check_view("blocks", view_of(table));
}

struct Turned {
  std::string_view name;
  const Rotations* rotations;
  Extents extents;  // what they must cover: batch, tokens, features
  DType dtype;
  Role role;
};

Status check_rotations(const Turned& turned) {
  if (turned.rotations == nullptr) return {};
  const Rotations& rotations = *turned.rotations;
  const Extents& n = turned.extents;
  const bool serves = rotations.window().head_dim == n.features &&
                      (rotations.batch() == 1 || rotations.batch() == n.batch) &&
                      rotations.tokens() == n.tokens;
  if (!serves) {
    return invalid_argument(turned.name, ": rows must be for head_dim ", n.features, ", batch ",
                            n.batch, " (or 1) and tokens ", n.tokens, "; got head_dim ",
                            rotations.window().head_dim, ", batch ", rotations.batch(), ", tokens ",
                            rotations.tokens());
  }
  if (rotations.row_dtype() != RowDType::f32)
    return invalid_argument(turned.name, ": rows must be f32, got f64");
  if (rotations.tensors().value_or(turned.dtype) != turned.dtype) {
    return invalid_argument(turned.name, ": rows must be for tensors of ", to_string(turned.dtype),
                            ", got rows for ", to_string(*rotations.tensors()));
  }
  if (rotations.role().value_or(turned.role) != turned.role) {
    return invalid_argument(turned.name, ": rows must be those of role ", to_string(turned.role),
                            ", got rows of xPos for role ", to_string(*rotations.role()));
  }
  if (turned.dtype != DType::f32 && rounds_products(rotations.numerics(), rotations.rounding())) {
    return invalid_argument(
        turned.name, ": rotations must not round products of ", to_string(turned.dtype),
        ", got those of Rounding every_step or double_angle: call rotate() ", "first");
  }
  return {};
}

bool reorders(const Rotations* rotations) {
  return rotations != nullptr && rotations->window().pairing == Pairing::interleaved_to_half;
}

Status check_encoding(const AttendCall& call) {
  const AttentionEncoding& encoding = call.options.encoding;
  Extents k = call.k.extents;
  if (call.table != nullptr) {
    k.batch = call.table->sequences;
    k.tokens = encoding.k_rotations == nullptr ? 0 : encoding.k_rotations->tokens();
    for (const AttentionSequence& s : call.options.sequences) {
      if (encoding.k_rotations == nullptr || s.first_key + s.keys <= k.tokens) continue;
      return invalid_argument("k_rotations: tokens must be those of the longest sequence, ",
                              s.first_key + s.keys, " or more; got ", k.tokens);
    }
  }
  const std::array turned{
      Turned{"q_rotations", encoding.q_rotations, call.q.extents, call.q.dtype, Role::query},
      Turned{"k_rotations", encoding.k_rotations, k, call.k.dtype, Role::key}};
  for (const Turned& of : turned) {
    if (auto status = check_rotations(of); !status) return status;
  }
  if (reorders(encoding.q_rotations) != reorders(encoding.k_rotations)) {
    return invalid_argument("q_rotations and k_rotations: where one has pairing ",
                            "interleaved_to_half, which changes the order of features, both must");
  }
  if (auto status = check_cached_keys(call); !status) return status;
  if (auto status = check_shaw(call); !status) return status;
  if (encoding.bias == nullptr) return {};
  if (auto status = validate(*encoding.bias); !status) return status;
  if (head_count(*encoding.bias) != call.q.extents.heads) {
    return invalid_argument("bias: heads must be those of q, ", call.q.extents.heads, "; got ",
                            head_count(*encoding.bias));
  }
  return {};
}

// A destination must not overlap anything that is read.
Status check_destination(const AttendCall& call, std::string_view name,
                         const ConstHeadsView& destination) {
  if (auto status = check_view(name, destination); !status) return status;
  if (auto status = check_distinct(name, destination); !status) return status;
  struct Source {
    std::string_view name;
    const ConstHeadsView& view;
  };
  for (const Source& of : {Source{"q", call.q}, Source{"k", call.k}, Source{"v", call.v}}) {
    if (auto status = check_apart(name, destination, of.name, of.view); !status) return status;
  }
  for (const NamedTable& of : shaw_tables(call)) {
    if (of.table == nullptr) continue;
    const ConstHeadsView table = view_of(of.table->table);
    if (auto status = check_apart(name, destination, of.name, table); !status) return status;
  }
  if (call.table == nullptr) return {};
  return check_apart(name, destination, "blocks", view_of(*call.table));
}

Status check_extents(const AttendCall& call, const NamedScores& of) {
  const ScoresView& view = *of.view;
  const Extents& q = call.q.extents;
  const ScoresExtents wanted{
      .batch = q.batch, .heads = q.heads, .queries = q.tokens, .keys = of.keys};
  if (view.dtype == DType::f32 && view.extents == wanted) return {};
  return invalid_argument(of.name, ": must be f32 with batch ", q.batch, ", heads ", q.heads,
                          ", queries ", q.tokens, ", keys ", of.keys, "; got ",
                          to_string(view.dtype), " with batch ", view.extents.batch, ", heads ",
                          view.extents.heads, ", queries ", view.extents.queries, ", keys ",
                          view.extents.keys);
}

Status check_destinations(const AttendCall& call) {
  if (auto status = check_destination(call, "out", call.out); !status) return status;
  std::array<ConstHeadsView, 3> written = {call.out};
  std::array<std::string_view, 3> names = {"out"};
  std::size_t count = 1;
  for (const NamedScores& of : scores_written(call)) {
    if (!of.view) continue;
    if (auto status = check_extents(call, of); !status) return status;
    const ConstHeadsView view = view_of(*of.view);
    if (auto status = check_destination(call, of.name, view); !status) return status;
    for (std::size_t i = 0; i < count; ++i) {
      if (auto status = check_apart(of.name, view, names[i], written[i]); !status) return status;
    }
    names[count] = of.name;
    written[count++] = view;
  }
  return {};
}

}  // namespace

ConstHeadsView view_of(const BlockTable& table) {
  return without_unused_strides(ConstHeadsView{
      .data = table.blocks,
      .dtype = DType::f32,  // same size as std::int32_t
      .extents = {.tokens = table.sequences, .heads = 1, .features = table.blocks_of_sequence},
      .strides = {.token = table.stride}});
}

ConstHeadsView view_of(const ConstMatrixView& table) {
  return without_unused_strides(
      ConstHeadsView{.data = table.data,
                     .dtype = table.dtype,
                     .extents = {.tokens = table.rows, .heads = 1, .features = table.columns},
                     .strides = {.token = table.row_stride, .feature = table.column_stride}});
}

std::array<NamedTable, 2> shaw_tables(const AttendCall& call) {
  const AttentionEncoding& encoding = call.options.encoding;
  return {{{"shaw_keys", encoding.shaw_keys}, {"shaw_values", encoding.shaw_values}}};
}

std::array<NamedScores, 2> scores_written(const AttendCall& call) {
  std::int64_t keys = call.k.extents.tokens;
  if (call.table != nullptr &&
      __builtin_mul_overflow(keys, call.table->blocks_of_sequence, &keys)) {
    keys = -1;  // no view can have this many
  }
  return {{{"log_sum_exp", call.options.log_sum_exp, 1}, {"weights", call.options.weights, keys}}};
}

ConstHeadsView view_of(const ConstScoresView& view) {
  const ScoresExtents& n = view.extents;
  const ScoresStrides& s = view.strides;
  return without_unused_strides(ConstHeadsView{
      .data = view.data,
      .dtype = view.dtype,
      .extents = {n.batch, n.queries, n.heads, n.keys},
      .strides = {.batch = s.batch, .token = s.query, .head = s.head, .feature = s.key}});
}

Status check_read(const AttendCall& call) {
  if (auto status = check_operand("q", call.q); !status) return status;
  if (auto status = check_operand("k", call.k); !status) return status;
  if (auto status = check_operand("v", call.v); !status) return status;
  if (auto status = check_keys(call); !status) return status;
  const double scale = std::abs(call.options.scale);
  if (!(scale >= 0x1p-64 && scale <= 0x1p64)) {
    return invalid_argument("scale must be given, of a size from 2^-64 to 2^64 (1 / ",
                            "sqrt(head_dim) in most models), got ", call.options.scale);
  }
  if (auto status = validate(call.options.q_temperature); !status) return status;
  if (auto status = check_mask(call.options.mask); !status) return status;
  if (call.table != nullptr) {
    if (auto status = check_table(call); !status) return status;
  }
  if (auto status = check_sequences(call); !status) return status;
  return check_encoding(call);
}

Status check_written(const AttendCall& call) {
  if (auto status = check_operand("out", call.out); !status) return status;
  if (auto status = check_out(call); !status) return status;
  return check_destinations(call);
}

}  // namespace rotary
