// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>
#include <vector>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

constexpr Size head{.natural = 4, .held = Held::each};

// Batch, tokens, heads, features.
Rows rotating_rows() {
  return {
      {"rotary::rotate(",
       {{}, {}, {}, head},
       [](Sizes n) -> Status {
         const auto by = rows_for(n[1]);
         if (!by) return by.error();
         const HeadsView dst = heads({n[0], n[1], n[2], n[3]});
         const Status in_place = rotate(dst, dst, *by);
         const Status apart = rotate(dst, heads(dst.extents), *by);
         return in_place ? apart : in_place;
       }},
      {"rotary::rotate_qk(",
       {{}, {}, {}, {}, head},
       [](Sizes n) -> Status {
         const auto by = rows_for(n[1]);
         if (!by) return by.error();
         return rotate_qk(heads({n[0], n[1], n[2], n[4]}), heads({n[0], n[1], n[3], n[4]}), *by);
       }},
      {"rotary::shift(rotary::HeadsView, rotary::Rotations",
       {{}, {}, {}, head},
       [](Sizes n) -> Status {
         const auto by = rows_for(n[1]);
         if (!by) return by.error();
         return shift(heads({n[0], n[1], n[2], n[3]}), *by);
       }},
      {"rotary::shift(rotary::HeadsView, rotary::RotatedAt",
       {{}, {}, {}, head},
       [](Sizes n) {
         const RotatedAt at{frequencies_of_4(), positions_for<std::int64_t>(n[0], n[1])};
         return shift(heads({n[0], n[1], n[2], n[3]}), at, at);
       }},
  };
}

QuantizedHeadsView quantized(const Extents& extents) {
  const HeadsView view = heads(extents);
  const Strides& s = view.strides;
  return {.data = static_cast<std::int8_t*>(view.data),
          .scales = static_cast<float*>(heads(extents).data),
          .extents = extents,
          .strides = s,
          .scale_strides = {s.batch, s.token, s.head}};
}

Rows quantized_rows() {
  return {
      {"rotary::shift(rotary::QuantizedHeadsView const&, rotary::Rotations",
       {{}, {}, {}, head},
       [](Sizes n) -> Status {
         const auto by = rows_for(n[1]);
         if (!by) return by.error();
         return shift(quantized({n[0], n[1], n[2], n[3]}), *by);
       }},
      {"rotary::shift(rotary::QuantizedHeadsView const&, rotary::RotatedAt",
       {{}, {}, {}, head},
       [](Sizes n) {
         const RotatedAt at{frequencies_of_4(), positions_for<std::int64_t>(n[0], n[1])};
         return shift(quantized({n[0], n[1], n[2], n[3]}), at, at);
       }},
  };
}

Frequencies with_numerics(Numerics numerics) {
  return value_of(make_frequencies(
      RotarySpec{.head_dim = 4, .base = 100.0, .pairing = Pairing::half, .numerics = numerics}));
}

// Calls make for every kind of array and returns the last error.
template <class Make>
Status for_all_arrays(std::int64_t batch, std::int64_t tokens, const Make& make) {
  Status last;
  for (const Positions& each : std::vector<Positions>{positions<std::int32_t>(batch, tokens),
                                                      positions<std::int64_t>(batch, tokens),
                                                      positions<double>(batch, tokens)}) {
    if (Status status = make(each); !status) last = std::move(status);
  }
  return last;
}

constexpr Size rows_of_batch{.natural = 2, .held = Held::each};

// Batch, tokens.
Row make_rotations_row(const Frequencies& frequencies, const RotationsOptions& options) {
  return {"rotary::make_rotations(rotary::Frequencies", {rows_of_batch, {}}, [=](Sizes n) {
            return for_all_arrays(n[0], n[1], [&](const Positions& each) {
              return status_of(make_rotations(frequencies, each, options));
            });
          }};
}

Rows position_rows() {
  Frequencies xpos = with_numerics(Numerics::exact);
  xpos.xpos = Xpos{};
  return {
      make_rotations_row(with_numerics(Numerics::exact), {}),
      make_rotations_row(with_numerics(Numerics::exact), {.rows = RowDType::f64}),
      make_rotations_row(with_numerics(Numerics::transformers), {.tensors = DType::bf16}),
      make_rotations_row(with_numerics(Numerics::ggml), {}),
      make_rotations_row(xpos, {.role = Role::key}),
      {"rotary::make_rotations(rotary::Frequencies",
       {{}},
       [](Sizes n) {
         return status_of(make_rotations(frequencies_of_4(), ConsecutivePositions{0, n[0]}));
       }},
      {"rotary::remake_rotations(",
       {rows_of_batch, {}},
       [](Sizes n) {
         auto made = rows_for(1);
         if (!made) return Status(made.error());
         return for_all_arrays(n[0], n[1], [&](const Positions& each) {
           return remake_rotations(*made, frequencies_of_4(), each);
         });
       }},
      {"rotary::make_rotations(rotary::HeadWindow",
       {{}, {}},
       [](Sizes n) {
         const HeadsView cos = heads({n[0], n[1], 1, 2});
         const CosSinView rows{.cos = cos.data,
                               .sin = heads(cos.extents).data,
                               .dtype = DType::f32,
                               .batch = n[0],
                               .tokens = n[1]};
         return status_of(make_rotations(window_of_4(), rows));
       }},
      {"rotary::row_bytes(",
       {{}, {}, head},
       [](Sizes n) {
         HeadWindow window = window_of_4();
         window.head_dim = window.rotary_dim = n[2];
         return status_of(row_bytes(window, n[0], n[1], RowDType::f32));
       }},
  };
}

// Batch of one side, of the other, tokens.
Rows shift_rows() {
  const std::vector<Size> sizes = {rows_of_batch, rows_of_batch, {}};
  return {
      {"rotary::make_shift(", sizes,
       [](Sizes n) {
         const RotatedAt from{frequencies_of_4(), positions<std::int64_t>(n[0], n[2])};
         return for_all_arrays(n[1], n[2], [&](const Positions& each) {
           return status_of(make_shift(from, {frequencies_of_4(), each}));
         });
       }},
      {"rotary::make_shift(",
       {{}},
       [](Sizes n) {
         const RotatedAt from{frequencies_of_4(), positions<double>(1, n[0])};
         const RotatedAt to{frequencies_of_4(), ConsecutivePositions{0, n[0]}};
         return status_of(make_shift(from, to));
       }},
      {"rotary::remake_shift(", sizes,
       [](Sizes n) {
         auto made = rows_for(1);
         if (!made) return Status(made.error());
         const Frequencies others = frequencies_of(window_of_4(), 2);
         const RotatedAt from{frequencies_of_4(), positions<std::int64_t>(n[0], n[2])};
         return for_all_arrays(n[1], n[2], [&](const Positions& each) {
           return remake_shift(*made, from, {others, each});
         });
       }},
  };
}

}  // namespace

Rows rotation_rows() {
  Rows all;
  for (Rows& rows : std::array{rotating_rows(), quantized_rows(), position_rows(), shift_rows()})
    for (Row& row : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace rotary::test
