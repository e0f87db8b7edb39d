// SPDX-License-Identifier: Apache-2.0
// The entry point that libFuzzer calls once for each input. A target ends the process when
// something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
