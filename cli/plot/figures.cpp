// SPDX-License-Identifier: Apache-2.0
#include "cli/plot/figures.hpp"

#include <algorithm>
#include <array>

#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"

namespace rotary::cli::plot {
namespace {

// Where points are taken here and there, however far.
constexpr std::int64_t far = 100'000'000;
constexpr std::int64_t most_rows = 4095;   // of heat maps
constexpr std::int64_t most_tokens = 511;  // squared, cells of a heat map
constexpr std::int64_t most_distance = 10'000;
constexpr std::int64_t most_context = 262'144;  // each distance is looked at: seconds

constexpr std::array makers = {
    FigureMaker{"rotation", "a pair of features turned by its position, of a fast and a slow pair",
                Subjects::one, Uses::nothing, 0, rotation},
    FigureMaker{"corkscrew", "the same in space, position upwards: a fast pair and slower ones",
                Subjects::one, Uses::nothing, far, corkscrew},
    FigureMaker{"fast_slow", "a fast pair and one feature of a slow pair in space", Subjects::one,
                Uses::nothing, far, fast_slow},
    FigureMaker{"wavelengths", "how many tokens a turn of each pair takes, against the context",
                Subjects::several, Uses::context, 0, wavelengths},
    FigureMaker{"scaling", "how each scaling rule slows each pair down, and its ramp",
                Subjects::several, Uses::nothing, 0, scaling},
    FigureMaker{"tables", "heat maps: sinusoidal, learned, and the cos and sin of rotary embedding",
                Subjects::one, Uses::dim | Uses::seed | Uses::learned, most_rows, tables},
    FigureMaker{"shaw", "which learned vector each distance takes: Shaw's clip window",
                Subjects::none, Uses::dim, most_tokens, shaw},
    FigureMaker{"t5", "which bucket each distance falls into", Subjects::none, Uses::nothing,
                most_distance, t5},
    FigureMaker{"alibi", "what ALiBi adds to scores, in each head", Subjects::none, Uses::dim,
                most_distance, alibi},
    FigureMaker{"sinusoidal", "waves of a sinusoidal encoding, and how alike positions are",
                Subjects::none, Uses::dim, most_distance, sinusoidal},
    FigureMaker{"decay", "the bound of RoFormer 3.4.3 on scores, against distance",
                Subjects::several, Uses::nothing, far, decay},
    FigureMaker{"similarity", "scores against distance: q = k, random and adversarial q and k",
                Subjects::one, Uses::dim | Uses::seed, far, similarity},
    FigureMaker{"clipped",
                "angles clipped at half a turn: what becomes monotone, and what does not",
                Subjects::one, Uses::seed, far, clipped},
    FigureMaker{"base", "which base a context asks for, by the sum of cosines", Subjects::several,
                Uses::dim, most_context, base},
    FigureMaker{"numerics", "error of cos and sin against position, for each numerics",
                Subjects::one, Uses::nothing, far, numerics},
    FigureMaker{"attention", "attention of your own words under each encoding", Subjects::one,
                Uses::words | Uses::seed, 0, attention},
};

}  // namespace

std::span<const FigureMaker> figure_makers() noexcept { return makers; }

const FigureMaker* find_figure(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(makers, name, &FigureMaker::name);
  return found == makers.end() ? nullptr : found;
}

Subject usual_subject() { return plain_subject(128, 10000); }

}  // namespace rotary::cli::plot
