// SPDX-License-Identifier: Apache-2.0
// The entry point that libFuzzer calls for each input. A target ends the process on a fault.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
