// SPDX-License-Identifier: Apache-2.0
// Records the bits that a test's calls return. ./dev record compares them with tests/recorded.
#pragma once

#include <cstddef>
#include <span>

namespace rotary::test {

// Appends the test's name and a hash of the bits to the file that ROTARY_RECORDED_BITS names. Does
// nothing if the variable is not set.
void record_bits(std::span<const std::byte> bits);

template <class Values>
void record_bits(const Values& values) {
  record_bits(std::as_bytes(std::span(values)));
}

}  // namespace rotary::test
