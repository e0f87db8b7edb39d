// SPDX-License-Identifier: Apache-2.0
#include "support/attention/quantized_attended.hpp"

#include <cstddef>

namespace rotary::test {
namespace {

AttendCase of_8_bits(AttendCase made_of) {
  made_of.k.dtype = made_of.v.dtype = DType::f64;
  made_of.quantized = true;
  return made_of;
}

// Token `from` of one set of heads to token `to` of another.
void copy_token(const Int8Heads& from, const HeadIndex& from_at, const Int8Heads& to,
                const HeadIndex& to_at) {
  for (std::int64_t head = 0; head < from.view().extents.heads; ++head) {
    const HeadIndex source{from_at.batch, from_at.token, head};
    const HeadIndex place{to_at.batch, to_at.token, head};
    to.scale(place) = from.scale(source);
    for (std::int64_t f = 0; f < from.view().extents.features; ++f)
      to.element(place, f) = from.element(source, f);
  }
}

Tensor float32_of(const Tensor& numbers) {
  Tensor floats({.dtype = DType::f32, .extents = numbers.extents()});
  for_each_element(numbers.extents(), [&](const HeadIndex& at, std::int64_t f) {
    floats.set(at, f, numbers.at(at, f));
  });
  return floats;
}

}  // namespace

QuantizedKeys QuantizedPages::keys() const {
  const std::int64_t of_sequence = static_cast<std::int64_t>(blocks.size()) / sequences;
  return {.k = k.view(),
          .v = v.view(),
          .table = BlockTable{.blocks = blocks.data(),
                              .sequences = sequences,
                              .blocks_of_sequence = of_sequence,
                              .stride = of_sequence}};
}

QuantizedAttended::QuantizedAttended(const AttendCase& made_of, Lying lying)
    : Attended(of_8_bits(made_of)), int8_k(k.extents(), lying), int8_v(v.extents(), lying) {
  int8_k.fill(made_of.seed + 1, -7, -5);
  int8_v.fill(made_of.seed + 2, -7, -5);
  read_numbers();
}

void QuantizedAttended::read_numbers() {
  k = int8_k.values();
  v = int8_v.values();
}

QuantizedPages QuantizedAttended::pages(std::int64_t slots, Lying lying) const {
  const AttentionShape& s = made_of().shape;
  const auto count = static_cast<std::int64_t>(made_of().sequences.size());
  const std::int64_t per_sequence = (s.keys + slots - 1) / slots;
  const auto extents = [&](std::int64_t features) {
    return Extents{.batch = 2 * count * per_sequence + 1,
                   .tokens = slots,
                   .heads = s.key_heads,
                   .features = features};
  };
  QuantizedPages pages{.k = Int8Heads(extents(s.features), lying),
                       .v = Int8Heads(extents(s.value_features), lying),
                       .blocks = {},
                       .sequences = count};
  pages.k.fill(77, -7, -5);
  pages.v.fill(78, -7, -5);
  for (std::int64_t sequence = 0; sequence < count; ++sequence) {
    const AttentionSequence& of = made_of().sequences[static_cast<std::size_t>(sequence)];
    for (std::int64_t block = 0; block < per_sequence; ++block) {
      const std::int64_t number = 2 * (count * per_sequence - 1 - (sequence + block * count)) + 1;
      pages.blocks.push_back(static_cast<std::int32_t>(number));
      for (std::int64_t slot = 0; slot < slots && block * slots + slot < s.keys; ++slot) {
        const HeadIndex from{of.batch, block * slots + slot, 0};
        copy_token(int8_k, from, pages.k, {number, slot, 0});
        copy_token(int8_v, from, pages.v, {number, slot, 0});
      }
    }
  }
  return pages;
}

Status QuantizedAttended::run() { return attend(out.view(), q.view(), keys(), options()); }

Status QuantizedAttended::run(const QuantizedPages& pages) {
  return attend(out.view(), q.view(), pages.keys(), options());
}

Status QuantizedAttended::run_on_floats() {
  const Tensor floats_k = float32_of(k);
  const Tensor floats_v = float32_of(v);
  return attend(out.view(), q.view(), floats_k.view(), floats_v.view(), options());
}

testing::AssertionResult is_right(QuantizedAttended& call) {
  const Status status = call.run();
  if (!status) return testing::AssertionFailure() << status.error().message;
  return call.is_right();
}

}  // namespace rotary::test
