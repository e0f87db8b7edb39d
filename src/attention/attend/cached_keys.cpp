// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/cached_keys.hpp"

#include <string_view>

#include "base/message.hpp"

namespace rotary {
namespace {

constexpr std::string_view way_out =
    "; shift() the keys to frequencies of this context, or keep them unrotated and give "
    "k_rotations";

bool hold_for_all(const ContextRange& contexts) { return contexts == ContextRange{}; }

bool is_same_window(const HeadWindow& a, const HeadWindow& b) {
  return a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim &&
         a.first_feature == b.first_feature && a.pairing.get() == b.pairing.get();
}

Status contexts_differ(std::string_view name, const ContextRange& other, const ContextRange& q) {
  return invalid_argument(name, ": must be those of the contexts of q_rotations, ", q.first, " to ",
                          q.last, ", got those of ", other.first, " to ", other.last, way_out);
}

// Frequencies of one spec differ exactly when their context ranges do.
Status check_alike(const Rotations& q, const Frequencies& keys) {
  if (q.contexts() != keys.contexts)
    return contexts_differ("cached_keys", keys.contexts, q.contexts());
  if (!is_same_window(q.window(), keys.window) || q.attention_factor() != keys.attention_factor) {
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
  for (std::int64_t index = 0; index < call.different_sequences(); ++index) {
    const AttentionSequence sequence = call.sequence(index);
    const std::int64_t context = sequence.key_position + sequence.keys;
    if (sequence.keys == 0 || context <= contexts.last) continue;
    return invalid_argument("cached_keys: keys were rotated for contexts of ", contexts.first,
                            " to ", contexts.last, " tokens, got a context of ", context,
                            " for sequence ", index, way_out);
  }
  return {};
}

}  // namespace

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

}  // namespace rotary
