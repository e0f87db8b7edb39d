// SPDX-License-Identifier: Apache-2.0
#include "bench/roofline.hpp"

#include <cstring>

namespace rotary::bench {
namespace {

// volatile, so the compiler keeps the multiplication. Two 16-bit elements are read as one float.
const volatile float one = 1;

constexpr std::size_t cache_line = 64;

std::size_t bytes_of(const ConstHeadsView& view) {
  const Extents& n = view.extents;
  return static_cast<std::size_t>(n.batch * n.tokens * n.heads * n.features *
                                  size_in_bytes(view.dtype));
}

struct Bytes {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Splits bytes [0, count) into parts of whole units. The last part has the rest.
Bytes part_of(std::size_t count, std::size_t unit, std::size_t part, std::size_t parts) {
  const std::size_t units = unit > 0 ? count / unit : 0;
  const std::size_t first = units * part / parts * unit;
  const std::size_t end = part + 1 == parts ? count : units * (part + 1) / parts * unit;
  return {.first = first, .count = end - first};
}

}  // namespace

Roofline::Roofline(Executor executor) : executor_(executor) {
  const bool alone = executor.run == nullptr || executor.concurrency < 2;
  parts_.resize(alone ? 1 : static_cast<std::size_t>(executor.concurrency));
}

void Roofline::add_scale(const HeadsView& view, const HeadWindow& window) {
  const auto element = static_cast<std::size_t>(size_in_bytes(view.dtype));
  const auto head = static_cast<std::size_t>(window.head_dim) * element;
  const auto turning = static_cast<std::size_t>(window.rotary_dim) * element;
  const auto before_window = static_cast<std::size_t>(window.first_feature) * element;
  const bool all_turn = head == turning;
  auto* const data = static_cast<std::byte*>(view.data) + before_window;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const auto [first, count] =
        part_of(bytes_of(view), all_turn ? cache_line : head, part, parts_.size());
    if (count == 0) continue;
    parts_[part].push_back({.scaled = {.data = reinterpret_cast<float*>(data + first),
                                       .runs = all_turn ? 1 : count / head,
                                       .floats = (all_turn ? count : turning) / sizeof(float),
                                       .stride = head / sizeof(float)}});
  }
}

void Roofline::add_copy(const HeadsView& destination, const ConstHeadsView& source) {
  const Extents& n = source.extents;
  const std::int64_t element = size_in_bytes(source.dtype);
  const bool same_order = destination.strides == source.strides;
  const auto head = static_cast<std::size_t>(n.features * element);
  const auto token = static_cast<std::size_t>(n.heads) * head;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const auto [first, count] =
        part_of(bytes_of(source), same_order ? cache_line : token, part, parts_.size());
    if (count == 0) continue;
    auto* const to = static_cast<std::byte*>(destination.data);
    const auto* const from = static_cast<const std::byte*>(source.data);
    if (same_order) {
      parts_[part].push_back({.copied = {.destination = to + first,
                                         .source = from + first,
                                         .tokens = 1,
                                         .heads = 1,
                                         .bytes = static_cast<std::int64_t>(count)}});
      continue;
    }
    const auto first_token = static_cast<std::int64_t>(first / token);
    const Strides& d = destination.strides;
    const Strides& s = source.strides;
    parts_[part].push_back(
        {.copied = {.destination = to + first_token * d.token * element,
                    .source = from + first_token * s.token * element,
                    .tokens = static_cast<std::int64_t>(count / token),
                    .heads = n.heads,
                    .bytes = static_cast<std::int64_t>(head),
                    .destination_strides = {.token = d.token * element, .head = d.head * element},
                    .source_strides = {.token = s.token * element, .head = s.head * element}}});
  }
}

void Roofline::copy(const CopiedHeads& copied) {
  for (std::int64_t t = 0; t < copied.tokens; ++t) {
    for (std::int64_t h = 0; h < copied.heads; ++h) {
      const Strides& d = copied.destination_strides;
      const Strides& s = copied.source_strides;
      std::memcpy(copied.destination + t * d.token + h * d.head,
                  copied.source + t * s.token + h * s.head, static_cast<std::size_t>(copied.bytes));
    }
  }
}

void Roofline::run_part(std::size_t part) const {
  for (const Piece& piece : parts_[part]) {
    if (piece.scaled.runs == 1) {
      scale_in_place(piece.scaled.data, piece.scaled.floats, one);
    } else if (piece.scaled.runs > 1) {
      scale_runs_in_place(piece.scaled, one);
    } else {
      copy(piece.copied);
    }
  }
}

void Roofline::run(std::int64_t calls) const {
  for (std::int64_t call = 0; call < calls; ++call) {
    if (parts_.size() == 1) {
      run_part(0);
      continue;
    }
    const Roofline* self = this;
    const auto task = [](void* state, std::int64_t part) {
      (*static_cast<const Roofline**>(state))->run_part(static_cast<std::size_t>(part));
    };
    executor_.run(executor_.context, static_cast<std::int64_t>(parts_.size()), task, &self);
  }
}

}  // namespace rotary::bench
