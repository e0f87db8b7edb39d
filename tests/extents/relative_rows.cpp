// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/relative.hpp"

namespace rotary::test {
namespace {

constexpr Size width{.natural = 4, .held = Held::each};

// Biases by distance, by key and by pair for this number of heads, if such a bias can exist.
std::vector<RelativeBias> biases(std::int64_t heads) {
  const std::int64_t few = heads >= 1 && heads <= 8 ? heads : 1;
  const std::vector<double> each(static_cast<std::size_t>(few), 0.5);
  return {T5Bias{.buckets = {.buckets = 8, .max_distance = 20, .direction = T5Direction::causal},
                 .table = matrix(8, heads)},
          Alibi{.heads = few, .form = AlibiForm::key_position}, KerpleLog{.p = each, .a = each},
          Fire{.hidden_weight = {0.5},
               .hidden_bias = {0.1},
               .output_weight = each,
               .output_bias = each}};
}

template <class Use>
Status for_all_biases(std::int64_t heads, const Use& use) {
  Status last;
  for (const RelativeBias& each : biases(heads)) {
    if (Status status = use(each); !status) last = std::move(status);
  }
  return last;
}

BiasPositions positions_of_pairs(Sizes n) {
  return {.queries = numbers<const std::int64_t>(n[2]), .keys = numbers<const std::int64_t>(n[3])};
}

std::span<double> parameters_of(const RelativeBias& bias) {
  return numbers<double>(validate(bias) ? parameter_count(bias) : 1);
}

// Batch, heads, queries, keys.
Rows bias_rows() {
  const std::vector<Size> sizes = {{}, {}, {}, {}};
  const std::vector<Size> listed = {{}, {}, {.held = Held::each}, {.held = Held::each}};
  const auto extents = [](Sizes n) { return ScoresExtents{n[0], n[1], n[2], n[3]}; };
  return {
      {"rotary::fill_bias(*rotary::BiasRange", sizes,
       [=](Sizes n) {
         return for_all_biases(n[1], [&](const RelativeBias& bias) {
           return fill_bias(scores(extents(n)), bias, BiasRange{});
         });
       }},
      {"rotary::fill_bias(*rotary::BiasPositions", listed,
       [=](Sizes n) {
         return for_all_biases(n[1], [&](const RelativeBias& bias) {
           return fill_bias(scores(extents(n)), bias, positions_of_pairs(n));
         });
       }},
      {"rotary::fill_distances(", sizes,
       [=](Sizes n) {
         return for_all_biases(n[1], [&](const RelativeBias& bias) {
           return fill_distances(scores(extents(n)), bias, 0);
         });
       }},
      {"rotary::add_bias_gradient(*rotary::BiasRange", sizes,
       [=](Sizes n) {
         return for_all_biases(n[1], [&](const RelativeBias& bias) {
           return add_bias_gradient(parameters_of(bias), bias, scores(extents(n)), BiasRange{});
         });
       }},
      {"rotary::add_bias_gradient(*rotary::BiasPositions", listed,
       [=](Sizes n) {
         return for_all_biases(n[1], [&](const RelativeBias& bias) {
           return add_bias_gradient(parameters_of(bias), bias, scores(extents(n)),
                                    positions_of_pairs(n));
         });
       }},
  };
}

// Batch, heads, queries, keys, features, rows of the window beside the middle one.
const std::vector<Size> vector_sizes = {{}, {}, {}, {}, width, {}};

struct VectorCase {
  ScoresView scores;
  HeadsView heads;
  ShawWindow window;
  ConstTableView table;
};

VectorCase vector_case(Sizes n) {
  const ShawWindow window{.left = n[5]};
  return {.scores = scores({n[0], n[1], n[2], n[3]}),
          .heads = heads({n[0], n[2], n[1], n[4]}),
          .window = window,
          .table = matrix(window.rows(), n[4])};
}

Rows shaw_rows() {
  return {
      {"rotary::add_shaw_scores(", vector_sizes,
       [](Sizes n) {
         const VectorCase of = vector_case(n);
         return add_shaw_scores(of.scores, of.heads, {of.window, of.table}, {});
       }},
      {"rotary::add_shaw_values(", vector_sizes,
       [](Sizes n) {
         const VectorCase of = vector_case(n);
         return add_shaw_values(of.heads, of.scores, {of.window, of.table}, {});
       }},
      {"rotary::add_shaw_gradient(", vector_sizes,
       [](Sizes n) {
         const VectorCase of = vector_case(n);
         const bool fits = n[5] <= 8 && n[4] <= 8;
         return add_shaw_gradient({numbers<double>(fits ? of.window.rows() * n[4] : 1), of.window},
                                  of.scores, of.heads, {});
       }},
      {"rotary::shaw_row(",
       {{}, {}},
       [](Sizes n) { return status_of(shaw_row(0, {.left = n[0], .right = n[1]})); }},
  };
}

Rows cope_rows() {
  return {
      {"rotary::add_cope(", vector_sizes,
       [](Sizes n) {
         const VectorCase of = vector_case(n);
         return add_cope(of.scores, of.heads, {matrix(n[5], n[4])}, {});
       }},
      {"rotary::add_cope_gradient(", vector_sizes,
       [](Sizes n) {
         const VectorCase in = vector_case(n);
         const VectorCase out = vector_case(n);
         const bool fits = n[5] <= 8 && n[4] <= 8;
         return add_cope_gradient({out.scores, out.heads, numbers<double>(fits ? n[5] * n[4] : 1)},
                                  {in.scores, in.heads}, {matrix(n[5], n[4])},
                                  scores(in.scores.extents), {});
       }},
  };
}

}  // namespace

Rows relative_rows() {
  Rows all;
  for (Rows& rows : std::array{bias_rows(), shaw_rows(), cope_rows()})
    for (Row& row : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace rotary::test
