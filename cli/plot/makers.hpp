// SPDX-License-Identifier: Apache-2.0
// The functions behind the rows of figures.cpp, by file.
#pragma once

#include "cli/plot/figures.hpp"

namespace rotary::cli::plot {

// rotation.cpp
[[nodiscard]] Figure rotation(const Request& request);
[[nodiscard]] Figure corkscrew(const Request& request);
[[nodiscard]] Figure fast_slow(const Request& request);

// speeds.cpp
[[nodiscard]] Figure wavelengths(const Request& request);
[[nodiscard]] Figure scaling(const Request& request);
[[nodiscard]] Figure numerics(const Request& request);

// windows.cpp
[[nodiscard]] Figure shaw(const Request& request);
[[nodiscard]] Figure t5(const Request& request);
[[nodiscard]] Figure alibi(const Request& request);
[[nodiscard]] Figure sinusoidal(const Request& request);

// scores.cpp
[[nodiscard]] Figure decay(const Request& request);
[[nodiscard]] Figure similarity(const Request& request);
[[nodiscard]] Figure clipped(const Request& request);
[[nodiscard]] Figure base(const Request& request);

// maps.cpp
[[nodiscard]] Figure tables(const Request& request);
[[nodiscard]] Figure attention(const Request& request);

}  // namespace rotary::cli::plot
