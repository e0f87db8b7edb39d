// SPDX-License-Identifier: Apache-2.0
// The relative attention bias of T5: distances fall into buckets, one each while they are small,
// logarithmically wider beyond, and each bucket has a learned number for each head. Raffel et al.
// 2020 (arXiv 1910.10683), §2.1, as _relative_position_bucket of Transformers computes it.
//
//   const RelativeBias bias = T5Bias{.buckets = buckets, .table = weights};
//   t5_bucket(-9, buckets);  // of a key nine tokens back
#pragma once

#include <cstdint>
#include <string_view>

#include "rotary/describe.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary {

// Encoders are bidirectional (half of the buckets for keys after the query), decoders causal (every
// key after the query is in bucket 0).
enum class T5Direction : std::int32_t { bidirectional = 1, causal = 2 };

// Which float32 operations place a distance beyond the exact buckets; where the logarithm meets the
// edge of a bucket this decides. transformers: also Mesh TensorFlow. ggml: llama.cpp, which has a
// max_distance of 128 only.
enum class T5Rounding : std::int32_t { transformers = 1, ggml = 2 };

struct T5Buckets {
  // relative_attention_num_buckets, 32 in T5. causal: >= 2; bidirectional: >= 4 and even; <= 2^24.
  std::int64_t buckets = 0;
  // relative_attention_max_distance, 128 in T5: from here on all distances share the last bucket.
  // More than the buckets of a single distance: buckets / 2, of bidirectional buckets / 4.
  std::int64_t max_distance = 0;
  T5Direction direction = {};  // no default: none of the enumerators, which every call refuses
  T5Rounding rounding = T5Rounding::transformers;

  friend bool operator==(const T5Buckets&, const T5Buckets&) = default;
};

// In [0, buckets), of any relative position: where the key stands minus where the query stands.
[[nodiscard]] ROTARY_API Result<std::int64_t> t5_bucket(std::int64_t relative_position,
                                                        const T5Buckets& buckets) noexcept;

// table[bucket][head]. T5 adds it to scores that are not divided by sqrt(head_dim).
struct T5Bias {
  T5Buckets buckets;
  ConstTableView table;  // [buckets, heads]; must live until the call that it is passed to returns
};

template <>
struct Describe<T5Bias> {
  static constexpr std::string_view name = "t5";
  static std::int64_t heads(const T5Bias& of) noexcept { return of.table.features; }
  static std::int64_t units(const T5Bias&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    constexpr auto setting = ParameterKind::setting;
    visit(ParameterFacts{.name = "buckets", .kind = setting, .meaning = "rows of the table"},
          self.buckets.buckets);
    visit(ParameterFacts{.name = "max_distance",
                         .kind = setting,
                         .meaning = "from here on all distances share the last bucket"},
          self.buckets.max_distance);
    visit(ParameterFacts{.name = "direction", .kind = setting, .meaning = "encoder or decoder"},
          self.buckets.direction);
    visit(ParameterFacts{.name = "rounding", .kind = setting, .meaning = "whose float32 edges"},
          self.buckets.rounding);
    visit(ParameterFacts{.name = "table",
                         .shape = ParameterShape::rows_by_heads,
                         .meaning = "the bias of each bucket and head"},
          self.table);
  }
};

}  // namespace rotary
