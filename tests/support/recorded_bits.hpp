// SPDX-License-Identifier: Apache-2.0
// For ./dev record: the bits that a test's calls return, which a change of structure must keep.
#pragma once

#include <cstddef>
#include <span>

namespace rotary::test {

// Appends the running test's name and a hash of the bits to the file that the environment variable
// ROTARY_RECORDED_BITS names; without it, does nothing.
void record_bits(std::span<const std::byte> bits);

template <class Values>
void record_bits(const Values& values) {
  record_bits(std::as_bytes(std::span(values)));
}

}  // namespace rotary::test
