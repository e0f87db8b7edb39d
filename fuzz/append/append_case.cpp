// SPDX-License-Identifier: Apache-2.0
#include "fuzz/append/append_case.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "fuzz/frequencies_cache.hpp"
#include "fuzz/shapes.hpp"

namespace rotary::fuzz {
namespace {

// Extents of k. Sometimes many tokens of small heads, enough to split among threads.
Extents decode_extents(Bytes& input) {
  Extents n{.batch = input.number(1, 2),
            .tokens = input.number(1, 4),
            .heads = input.number(1, 3),
            .features = input.number(2, 9)};
  if (input.once_in(8)) n.features = input.number(10, 40);
  if (input.once_in(8))
    n = {.batch = n.batch,
         .tokens = input.number(30, 70),
         .heads = 1,
         .features = 2 + n.features % 4};
  return n;
}

// Decodes shapes, strides and address of a view. Features are usually adjacent.
template <class View>
bool finish_view(Bytes& input, Places& places, View& view) {
  disturb(input, view.extents);
  set_strides(view, decode_strides(input, strided(view).counts, Features::adjacent));
  if (input.once_in(64)) view.strides.feature = input.number(-1, 2);
  return place_view(input, places, view);
}

DType stored_dtype(Bytes& input, DType from) {
  if (input.once_in(32)) return decode_dtype(input);
  if (from != DType::f32) return from;
  return static_cast<DType>(input.number(1, 3));
}

// A contiguous cache has at least as many slots as tokens. A page has 1 to 4.
Extents decode_cache_extents(Bytes& input, const Extents& k, NumberKind kind) {
  Extents n{.heads = k.heads, .features = k.features};
  const bool in_pages = kind != NumberKind::consecutive && input.once_in(2);
  n.tokens = in_pages ? input.number(1, 4) : k.tokens + input.number(0, 3);
  n.batch = k.batch + input.number(0, 1);
  if (in_pages && n.tokens > 0) n.batch = k.batch * k.tokens / n.tokens + input.number(1, 2);
  return n;
}

bool decode_pair(Bytes& input, Places& places, HeadsView& cache, ConstHeadsView& heads) {
  return finish_view(input, places, heads) && finish_view(input, places, cache);
}

bool decode_v(Bytes& input, Places& places, AppendCase& append) {
  const std::int64_t who = input.number(0, 15);  // usually heads and cache both have v, or neither
  if (who >= 8 && who != 15) return true;
  const Extents& k = append.heads.k.extents;
  ConstHeadsView v{.dtype = decode_dtype(input),
                   .extents = {.batch = k.batch,
                               .tokens = k.tokens,
                               .heads = input.number(1, 2),
                               .features = input.number(1, 5)}};
  HeadsView cached{.dtype = stored_dtype(input, v.dtype), .extents = append.cache.k.extents};
  cached.extents.heads = v.extents.heads;
  cached.extents.features = v.extents.features;
  if (!decode_pair(input, places, cached, v)) return false;
  if (who != 7) append.heads.v = v;
  if (who != 15) append.cache.v = cached;
  return true;
}

// Slots in steps of 1, or of -3 to 3. Up to three of them become negative, repeated or too large.
std::vector<long double> decode_slot_numbers(Bytes& input, const Extents& k, const Extents& cache) {
  const auto small = [](std::int64_t extent) { return clamped(extent, 128); };
  const auto count = static_cast<std::size_t>(small(k.batch) * small(k.tokens));
  const std::int64_t slots = std::max<std::int64_t>(small(cache.batch) * small(cache.tokens), 1);
  const std::int64_t first = input.number(0, 255);
  const std::int64_t step = input.once_in(2) ? input.number(-3, 3) : 1;
  std::vector<long double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t at = (first + static_cast<std::int64_t>(i) * step) % slots;
    numbers[i] = static_cast<long double>(at < 0 ? at + slots : at);
  }
  for (int flaws = static_cast<int>(input.number(0, 3)); flaws > 0 && count > 0; --flaws) {
    const auto at = static_cast<std::size_t>(input.byte()) % count;
    const std::int64_t kind = input.number(0, 15);
    const auto other = static_cast<std::size_t>(input.byte()) % count;
    if (kind == 0) numbers[at] = numbers[other];
    if (kind == 1) numbers[at] = static_cast<long double>(slots);
    if (kind == 2) numbers[at] = static_cast<long double>(input.integer());
    if (kind >= 3) numbers[at] = -1 - static_cast<long double>(kind % 2 * 1000);
  }
  return numbers;
}

bool decode_slots(Bytes& input, Places& places, NumberKind kind, AppendCase& append) {
  const Extents& k = append.heads.k.extents;
  const auto slots = decode_numbers(input, places, kind, {.batch = k.batch, .tokens = k.tokens});
  if (!slots) return false;
  append.slots = *slots;
  append.slots.first = input.once_in(16) ? input.integer() : input.number(0, 3);
  append.slot_numbers = decode_slot_numbers(input, k, append.cache.k.extents);
  return true;
}

// How to make rotations for these keys, by make_rotations or make_shift. append() may refuse the
// rotations.
AppendRotations decode_rotations(Bytes& input, const ConstHeadsView& k, std::int64_t head_dim) {
  AppendRotations made{.window = decode_window(input, head_dim)};
  const bool is_wide = (k.dtype == DType::f64) != input.once_in(64);
  made.options.rows = is_wide ? RowDType::f64 : RowDType::f32;
  made.spec_kind = input.number(0, (is_wide ? spec_kinds : all_spec_kinds) - 1);
  const bool is_exact = made.spec_kind < spec_kinds;
  made.moved = is_exact && input.once_in(4);
  made.first_position = is_exact ? input.integer() : input.number(0, 255) * 16;
  const std::int64_t last = std::numeric_limits<std::int64_t>::max() - 256;
  made.first_position = std::min(made.first_position, last);
  const bool is_narrow_dtype = k.dtype == DType::bf16 || k.dtype == DType::f16;
  const DType narrow = is_narrow_dtype ? k.dtype : DType::f32;
  if (!is_exact || input.once_in(8)) made.options.tensors = is_wide ? DType::f64 : narrow;
  if (!is_wide && input.once_in(32)) {
    made.options.tensors = static_cast<DType>(input.number(1, 3));
  }
  if (made.spec_kind == xpos_kind) made.options.role = input.once_in(4) ? Role::query : Role::key;
  made.tokens = clamped(k.extents.tokens, 80);
  if (input.once_in(64)) made.tokens += 1;
  if (input.once_in(3)) made.batch = std::clamp<std::int64_t>(k.extents.batch, 1, 3);
  return made;
}

std::int64_t weight_count(Bytes& input, const HeadNorm& norm, const Extents& k) {
  std::int64_t count = clamped(k.features, 64);
  if (norm.over == NormOver::all_heads) count *= clamped(k.heads, 8);
  if (input.once_in(32)) count += input.number(0, 2);
  return count;
}

bool decode_norm(Bytes& input, Places& places, AppendCase& append) {
  if (!input.once_in(3)) return true;
  KeyNorm norm{.norm = {.epsilon = 1e-6}};
  norm.order = static_cast<NormOrder>(input.once_in(32) ? 3 : input.number(1, 2));
  norm.norm.over = static_cast<NormOver>(input.once_in(32) ? 0 : input.number(1, 2));
  constexpr std::array epsilons = {0.0,
                                   0x1p-126,
                                   0x1p-127,
                                   1.0,
                                   0x1p100,
                                   -1.0,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
  if (input.once_in(8)) norm.norm.epsilon = epsilons[input.byte() % epsilons.size()];
  constexpr std::array offsets = {1.0,       0x1.1p-30, 0x1p126,
                                  0x1.8p126, -1.0,      std::numeric_limits<double>::quiet_NaN()};
  if (input.once_in(2)) {
    const auto weight = decode_array<const float>(
        input, places, weight_count(input, norm.norm, append.heads.k.extents));
    if (!weight) return false;
    norm.norm.weight = *weight;
  }
  if (input.once_in(4)) norm.norm.weight_offset = offsets[input.byte() % offsets.size()];
  append.k_norm = norm;
  return true;
}

// Adds an int8 cache with append.cache's extents, or changed ones. Returns false if it does not
// fit.
bool decode_in_8_bits(Bytes& input, Places& places, AppendCase& append) {
  const auto of = [&](Extents n) {
    disturb(input, n);
    return decode_quantized(input, places, n);
  };
  const auto k = of(append.cache.k.extents);
  if (!k) return false;
  append.quantized = QuantizedKvCache{.k = *k};
  if (!append.cache.v) return true;
  append.quantized->v = of(append.cache.v->extents);
  return append.quantized->v.has_value();
}

void add_views(const QuantizedHeadsView& heads, std::vector<Strided>& to) {
  to.push_back(elements_of(heads));
  if (!is_empty(to.back())) to.push_back(scales_of(heads));
}

}  // namespace

std::optional<AppendCase> decode_append(Bytes& input, std::span<std::byte> buffer) {
  Places places(buffer);
  AppendCase append;
  append.seed = input.bits();
  append.noise = decode_noise(input);
  append.has_executor = input.once_in(2);
  const auto kind = static_cast<NumberKind>(input.number(0, 2));
  ConstHeadsView& k = append.heads.k;
  k.dtype = decode_dtype(input);
  k.extents = decode_extents(input);
  append.cache.k.dtype = stored_dtype(input, k.dtype);
  append.cache.k.extents = decode_cache_extents(input, k.extents, kind);
  const std::int64_t head_dim = k.extents.features;
  if (!decode_pair(input, places, append.cache.k, k)) return {};
  if (!input.once_in(4)) append.rotations = decode_rotations(input, k, head_dim);
  if (!decode_slots(input, places, kind, append)) return {};
  if (!decode_v(input, places, append) || !decode_norm(input, places, append)) return {};
  if (input.once_in(3) && !decode_in_8_bits(input, places, append)) return {};
  for (const Strided& view : views_of(append).read) {
    if (!is_empty(view) && !is_small(view)) return {};
  }
  return append;
}

const Extents& cache_extents(const AppendCase& append) {
  return append.quantized ? append.quantized->k.extents : append.cache.k.extents;
}

AppendViews views_of(const AppendCase& append) {
  AppendViews views{.written = {}, .read = {strided(append.heads.k)}};
  if (append.quantized) {
    add_views(append.quantized->k, views.written);
    if (append.quantized->v) add_views(*append.quantized->v, views.written);
  } else {
    views.written.push_back(strided(append.cache.k));
    if (append.cache.v) views.written.push_back(strided(*append.cache.v));
  }
  if (append.heads.v) views.read.push_back(strided(*append.heads.v));
  views.read.push_back(strided(append.slots));
  if (append.k_norm) views.read.push_back(strided(append.k_norm->norm.weight));
  return views;
}

}  // namespace rotary::fuzz
