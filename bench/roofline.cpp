// SPDX-License-Identifier: Apache-2.0
#include "bench/roofline.hpp"

#include <cstring>

#include "bench/scale/scale_in_place.hpp"

namespace rotary::bench {
namespace {

// volatile, so the compiler keeps the multiplication by 1.
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

// Splits bytes [0, count) at multiples of unit. The last part also gets the remaining bytes.
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
    const Bytes bytes = part_of(bytes_of(view), all_turn ? cache_line : head, part, parts_.size());
    if (bytes.count == 0) continue;
    auto* const floats = reinterpret_cast<float*>(data + bytes.first);
    if (all_turn) {
      parts_[part].emplace_back([=] { scale_in_place(floats, bytes.count / sizeof(float), one); });
      continue;
    }
    const FloatRuns runs{.data = floats,
                         .runs = bytes.count / head,
                         .floats = turning / sizeof(float),
                         .stride = head / sizeof(float)};
    parts_[part].emplace_back([=] { scale_runs_in_place(runs, one); });
  }
}

void Roofline::add_copy(const HeadsView& destination, const ConstHeadsView& source) {
  const Extents n = source.extents;
  const Strides d = destination.strides;
  const Strides s = source.strides;
  const std::int64_t element = size_in_bytes(source.dtype);
  const auto head = static_cast<std::size_t>(n.features * element);
  const auto token = static_cast<std::size_t>(n.heads) * head;
  auto* const to = static_cast<std::byte*>(destination.data);
  const auto* const from = static_cast<const std::byte*>(source.data);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const Bytes bytes = part_of(bytes_of(source), d == s ? cache_line : token, part, parts_.size());
    if (bytes.count == 0) continue;
    if (d == s) {
      parts_[part].emplace_back(
          [=] { std::memcpy(to + bytes.first, from + bytes.first, bytes.count); });
      continue;
    }
    const auto begin = static_cast<std::int64_t>(bytes.first / token);
    const auto end = begin + static_cast<std::int64_t>(bytes.count / token);
    parts_[part].emplace_back([=] {
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t h = 0; h < n.heads; ++h)
          std::memcpy(to + (t * d.token + h * d.head) * element,
                      from + (t * s.token + h * s.head) * element, head);
      }
    });
  }
}

void Roofline::run_part(std::size_t part) const {
  for (const auto& piece : parts_[part]) piece();
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
