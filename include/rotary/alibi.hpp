// SPDX-License-Identifier: Apache-2.0
// ALiBi: scores fall in proportion to the distance, each head with a slope m of its own. Press et
// al. 2022 (arXiv 2108.12409).
//
//   const RelativeBias bias = Alibi{.heads = 32};
//   fill_bias(scores, bias, {.first_query = 7});  // one row of a decode step
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rotary/describe.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// The bias of a query at i and a key at j.
// causal: -m (i - j), which grows where j > i and is masked there; symmetric: -m |i - j|;
// key_position: m j, which softmax cannot tell from causal (BLOOM, Falcon, MPT).
enum class AlibiForm : std::int32_t { causal = 1, symmetric = 2, key_position = 3 };

// The slope of head h of n, a power of two, is 2^(-bias_max (h + 1) / n). Of any other n those of
// the power of two below come first, then every second of the one above, from its first on: the
// recipe of Press et al. (BLOOM, Falcon, Baichuan), of MPT and of ggml, which differ in their
// roundings.
struct Alibi {
  std::int64_t heads = 0;  // those here, > 0
  // Tensor parallel: these are the heads from first_head on of a model of model_heads <= 2^20,
  // which the slopes depend on. Absent: those here are all.
  std::int64_t first_head = 0;
  std::optional<std::int64_t> model_heads = {};
  double bias_max = 8;  // MPT's alibi_bias_max; in (0, 64]
  AlibiForm form = AlibiForm::causal;
  // [heads], from -2^256 to 2^256: learned, in place of these.
  std::vector<double> slopes = {};

  friend bool operator==(const Alibi&, const Alibi&) = default;
};

template <>
struct Describe<Alibi> {
  static constexpr std::string_view name = "alibi";
  static std::int64_t heads(const Alibi& of) noexcept { return of.heads; }
  static std::int64_t units(const Alibi&) noexcept { return 0; }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    constexpr auto setting = ParameterKind::setting;
    visit(ParameterFacts{.name = "heads", .kind = setting, .meaning = "heads here"}, self.heads);
    visit(
        ParameterFacts{
            .name = "first_head", .kind = setting, .meaning = "the first of them in the model"},
        self.first_head);
    visit(ParameterFacts{.name = "model_heads", .kind = setting, .meaning = "heads of the model"},
          self.model_heads);
    visit(ParameterFacts{.name = "bias_max",
                         .kind = setting,
                         .bounds = {0x1p-1074, 64, "> 0 and <= 64"},
                         .meaning = "the last slope is 2^-bias_max"},
          self.bias_max);
    visit(ParameterFacts{.name = "form", .kind = setting, .meaning = "what a slope multiplies"},
          self.form);
    visit(ParameterFacts{.name = "slopes",
                         .shape = ParameterShape::heads,
                         .meaning = "the slope of each head, where it is learned"},
          self.slopes);
  }
};

// [heads], each within bias_error_bound of the exact power, relative.
[[nodiscard]] ROTARY_API Result<std::vector<double>> alibi_slopes(const Alibi& alibi) noexcept;

// Where the keys of a padded row stand for BLOOM and Falcon: cumsum(mask) - 1 where mask is not 0,
// 0 where it is. For AlibiForm::key_position; writes nothing when the sizes differ.
[[nodiscard]] ROTARY_API Status alibi_key_positions(std::span<std::int64_t> positions,
                                                    std::span<const std::uint8_t> mask) noexcept;

}  // namespace rotary
