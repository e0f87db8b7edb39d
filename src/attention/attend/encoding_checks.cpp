// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/encoding_checks.hpp"

#include <string_view>

#include "attention/attend/attend_checks.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

struct Turned {
  std::string_view name;
  const Rotations* rotations;
  Extents extents;  // that the rotations must cover
  DType dtype;
  Role role;
};

Status check_rows(const Turned& turned) {
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

Status check_windows(const Rotations* q, const Rotations* k) {
  if (q != nullptr && k != nullptr) {
    const HeadWindow& a = q->window();
    const HeadWindow& b = k->window();
    if (a == b) return {};
    return invalid_argument(
        "q_rotations and k_rotations must rotate the same features in the same pairs, got ",
        a.rotary_dim, " from ", a.first_feature, " (", to_string(a.pairing), ") and ", b.rotary_dim,
        " from ", b.first_feature, " (", to_string(b.pairing), ")");
  }
  const Rotations* const only = q != nullptr ? q : k;
  if (only == nullptr || keeps_order(only->window().pairing)) return {};
  return invalid_argument("q_rotations and k_rotations: both are required with pairing ",
                          to_string(only->window().pairing), ", which moves features");
}

// The extents that k_rotations must have. With pages, it may have rows for more tokens than needed.
Result<Extents> turned_keys(const AttendCall& call) {
  Extents k = call.k.extents;
  const Rotations* const rotations = call.options.encoding.k_rotations;
  if (call.table == nullptr || rotations == nullptr) return k;
  k.batch = call.table->sequences;
  k.tokens = rotations->tokens();
  for (const AttentionSequence& s : call.options.sequences) {
    if (s.first_key + s.keys <= k.tokens) continue;
    return invalid_argument("k_rotations: tokens must be those of the longest sequence, ",
                            s.first_key + s.keys, " or more; got ", k.tokens);
  }
  return k;
}

Status check_rotations(const AttendCall& call) {
  const AttentionEncoding& encoding = call.options.encoding;
  const auto k = turned_keys(call);
  if (!k) return k.error();
  const Turned turned[] = {
      {"q_rotations", encoding.q_rotations, call.q.extents, call.q.dtype, Role::query},
      {"k_rotations", encoding.k_rotations, *k, call.k.number_dtype(), Role::key}};
  for (const Turned& of : turned) {
    if (auto status = check_rows(of); !status) return status;
  }
  return check_windows(encoding.q_rotations, encoding.k_rotations);
}

constexpr std::string_view way_out =
    "; shift() the keys to frequencies of this context, or keep them unrotated and give "
    "k_rotations";

bool hold_for_all(const ContextRange& contexts) { return contexts == ContextRange{}; }

Status contexts_differ(std::string_view name, const ContextRange& other, const ContextRange& q) {
  return invalid_argument(name, ": must be those of the contexts of q_rotations, ", q.first, " to ",
                          q.last, ", got those of ", other.first, " to ", other.last, way_out);
}

// Frequencies of one spec differ exactly when their context ranges do.
Status check_alike(const Rotations& q, const Frequencies& keys) {
  if (q.contexts() != keys.contexts)
    return contexts_differ("cached_keys", keys.contexts, q.contexts());
  if (q.window() != keys.window || q.attention_factor() != keys.attention_factor) {
    return invalid_argument("cached_keys: window and attention factor must be those of ",
                            "q_rotations, head_dim ", q.window().head_dim, ", rotary_dim ",
                            q.window().rotary_dim, " and ", q.attention_factor(), "; got head_dim ",
                            keys.window.head_dim, ", rotary_dim ", keys.window.rotary_dim, " and ",
                            keys.attention_factor);
  }
  return {};
}

Status check_positions(const AttendCall& call, const ContextRange& contexts) {
  if (hold_for_all(contexts)) return {};
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.different(); ++index) {
    const AttentionSequence sequence = sequences[index];
    const std::int64_t context = sequence.key_position + sequence.keys;
    if (sequence.keys == 0 || context <= contexts.last) continue;
    return invalid_argument("cached_keys: keys were rotated for contexts of ", contexts.first,
                            " to ", contexts.last, " tokens, got a context of ", context,
                            " for sequence ", index, way_out);
  }
  return {};
}

Status check_cached_keys(const AttendCall& call) {
  const AttentionEncoding& encoding = call.options.encoding;
  const Rotations* const q = encoding.q_rotations;
  if (encoding.k_rotations != nullptr) {
    if (encoding.cached_keys != nullptr)
      return invalid_argument("cached_keys: must be absent where k_rotations turn the keys");
    if (q != nullptr && q->contexts() != encoding.k_rotations->contexts())
      return contexts_differ("k_rotations", encoding.k_rotations->contexts(), q->contexts());
    return {};
  }
  if (encoding.cached_keys == nullptr) {
    if (q == nullptr || hold_for_all(q->contexts())) return {};
    return invalid_argument("cached_keys: must say what the keys were rotated by, because ",
                            "q_rotations are those of contexts of ", q->contexts().first, " to ",
                            q->contexts().last, " tokens alone, got none");
  }
  if (q != nullptr) {
    if (auto status = check_alike(*q, *encoding.cached_keys); !status) return status;
  }
  return check_positions(call, encoding.cached_keys->contexts);
}

Status check_table(std::string_view name, const ShawTable* table, std::int64_t features) {
  if (table == nullptr) return {};
  if (const auto row = shaw_row(0, table->window); !row)
    return blamed(ErrorCode::invalid_argument, message(name, ": "), row.error());
  if (table->table.rows != table->window.rows() || table->table.features != features) {
    return invalid_argument(name, ": the table must have left + right + 1 = ", table->window.rows(),
                            " rows of ", features, " features, got rows ", table->table.rows,
                            ", columns ", table->table.features);
  }
  return check_view(name, heads_view(table->table));
}

Status check_shaw(const AttendCall& call) {
  const AttentionEncoding& encoding = call.options.encoding;
  const std::int64_t head_dim = call.q.extents.features;
  if (auto status = check_table("shaw_keys", encoding.shaw_keys, head_dim); !status) return status;
  const std::int64_t features = call.v.extents.features;
  if (auto status = check_table("shaw_values", encoding.shaw_values, features); !status)
    return status;
  if (encoding.shaw_keys == nullptr || encoding.bias == nullptr) return {};
  return unsupported("shaw_keys: must be without a bias, got both");
}

Status check_bias(const AttendCall& call) {
  const RelativeBias* const bias = call.options.encoding.bias;
  if (bias == nullptr) return {};
  if (auto status = validate(*bias); !status) return status;
  if (head_count(*bias) == call.q.extents.heads) return {};
  return invalid_argument("bias: heads must be those of q, ", call.q.extents.heads, "; got ",
                          head_count(*bias));
}

}  // namespace

Status check_encoding(const AttendCall& call) {
  for (const auto check : {check_rotations, check_cached_keys, check_shaw, check_bias}) {
    if (auto status = check(call); !status) return status;
  }
  return {};
}

}  // namespace rotary
