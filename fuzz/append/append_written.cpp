// SPDX-License-Identifier: Apache-2.0
#include "fuzz/append/append_written.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/append/quantized.hpp"
#include "fuzz/append/stored.hpp"
#include "fuzz/check.hpp"
#include "fuzz/turned.hpp"

namespace rotary::fuzz {
namespace {

alignas(64) std::array<std::byte, 2 * largest_buffer> rotated;  // k, dense

Head head_at(const ConstHeadsView& view, const std::byte* bytes, const Memory& memory,
             const Axes& index) {
  return {.first = bytes + place_of(strided(view), memory.after.data(), index),
          .dtype = view.dtype,
          .stride = 1};
}

void check_head(const Head& from, const Head& to, std::int64_t features, std::string_view what) {
  for (std::int64_t f = 0; f < features; ++f) check_stored(from, to, f, what);
}

// k turned by rotate() into memory of its own.
ConstHeadsView rotated_keys(const ConstHeadsView& k, const Rotations& rotations) {
  const HeadsView view{.data = rotated.data(),
                       .dtype = k.dtype,
                       .extents = k.extents,
                       .strides = strides_bthd(k.extents)};
  if (const auto status = rotate(view, k, rotations); !status) {
    fail("keys that append takes must rotate", status.error().message);
  }
  return view;
}

void check_keys(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  const ConstHeadsView& k = append.heads.k;
  const ConstHeadsView cache = append.cache.k;
  if (is_empty(strided(k))) return;
  const ConstHeadsView expected = rotations == nullptr ? k : rotated_keys(k, *rotations);
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < k.extents.heads; ++h) {
      const Axes from = {at.batch, at.token, h, 0};
      const Head to = head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0});
      const Head source = head_at(k, memory.before.data(), memory, from);
      if (rotations == nullptr) {
        check_head(source, to, k.extents.features, "a key must be stored as it is");
        continue;
      }
      const Strided dense = strided(expected);
      const Head turned{.first = rotated.data() + place_of(dense, rotated.data(), from),
                        .dtype = k.dtype};
      check_head(turned, to, k.extents.features, "a key must have the bits of rotate()");
      if (rotations->numerics() == Numerics::exact) {
        check_turned(source, to, {.rotations = *rotations, .batch = at.batch, .token = at.token});
      }
    }
  });
}

void check_normalized_keys(const AppendCase& append, const Rotations* rotations,
                           const Memory& memory) {
  if (rotations != nullptr && rotations->numerics() != Numerics::exact) return;
  const ConstHeadsView& k = append.heads.k;
  const ConstHeadsView cache = append.cache.k;
  for_each_stored(append, [&](const Stored& at) {
    std::vector<long double> token;
    std::vector<long double> stored;
    for (std::int64_t h = 0; h < k.extents.heads; ++h) {
      const Head from = head_at(k, memory.before.data(), memory, {at.batch, at.token, h, 0});
      const Head to = head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0});
      for (std::int64_t f = 0; f < k.extents.features; ++f) {
        token.push_back(from.at(f));
        stored.push_back(to.at(f));
      }
    }
    std::optional<check::KeyTurn> turn;
    if (rotations != nullptr) turn = check::turn_of(*rotations, at.batch, at.token);
    const auto exact = check::normalized(token, k.extents.heads, *append.k_norm, turn);
    const std::string fault = exact ? check::fault(*exact, stored, cache.dtype) : "";
    if (!fault.empty()) fail("a key must be normalised within the bound", fault);
  });
}

void check_values(const AppendCase& append, const Memory& memory) {
  const ConstHeadsView& v = *append.heads.v;
  const ConstHeadsView cache = *append.cache.v;
  if (is_empty(strided(v))) return;
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < v.extents.heads; ++h) {
      check_head(head_at(v, memory.before.data(), memory, {at.batch, at.token, h, 0}),
                 head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0}),
                 v.extents.features, "a value must be stored as it is");
    }
  });
}

void check_slots(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  if (append.quantized) {
    check_quantized(append, rotations, memory);
    return;
  }
  if (append.k_norm) {
    if (!is_empty(strided(append.heads.k))) check_normalized_keys(append, rotations, memory);
  } else {
    check_keys(append, rotations, memory);
  }
  if (append.heads.v) check_values(append, memory);
}

void put_back_slot(Strided cache, const Stored& at, const Memory& memory) {
  if (is_empty(cache)) return;
  cache.data =
      memory.after.data() + place_of(cache, memory.after.data(), {at.block, at.place, 0, 0});
  cache.counts[0] = cache.counts[1] = 1;
  put_back(cache, memory);
}

}  // namespace

void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  check_slots(append, rotations, memory);
  if (is_empty(strided(append.heads.k)) &&
      (!append.heads.v || is_empty(strided(*append.heads.v)))) {
    check_unchanged(memory, "nothing must be written where there is nothing to store");
    return;
  }
  const AppendViews views = views_of(append);
  for_each_stored(append, [&](const Stored& at) {
    for (const Strided& cache : views.written) put_back_slot(cache, at, memory);
  });
  check_unchanged(memory, "bytes that belong to no slot of a token must stay");
}

}  // namespace rotary::fuzz
