// SPDX-License-Identifier: Apache-2.0
// Callers that were compiled with an earlier or a later header pass other values of struct_size.
// The fuzz target c_abi shows that the functions read and fill their structs in this way.
#include "c_api/structs.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/refusals.hpp"

namespace rotary {
namespace {

// A struct with its default values, before bytes that may belong to a later version.
template <class T>
struct Given {
  static constexpr std::size_t most_bytes = 8192;
  alignas(T) std::array<std::byte, most_bytes> bytes{};

  explicit Given(std::size_t struct_size) {
    std::memcpy(bytes.data(), &c_api::Versioned<T>::defaults, sizeof(T));
    std::memcpy(bytes.data(), &struct_size, sizeof struct_size);
  }
  T* pointer() { return reinterpret_cast<T*>(bytes.data()); }
  Result<T> read() { return c_api::read_struct("it", pointer()); }
  Result<T> read_with(std::size_t changed) {
    bytes[changed] = std::byte{1};
    return read();
  }
};

// version_1: the size of the struct's first version on 64-bit machines, which stays the same.
template <class T>
void expect_read_as_far_as_known(std::size_t version_1) {
  const auto& [name, first_bytes, size] = c_api::Versioned<T>::layout;
  SCOPED_TRACE(name);
  EXPECT_TRUE(sizeof(void*) != 8 || first_bytes == version_1) << first_bytes;
  EXPECT_GE(sizeof(T), first_bytes);
  EXPECT_EQ(sizeof(T), size);
  EXPECT_EQ(sizeof(T), c_api::Versioned<T>::defaults.struct_size);
  EXPECT_EQ(offsetof(T, struct_size), 0U);
  for (const std::size_t wrong : {std::size_t{0}, first_bytes - 1, std::size_t{4097}, SIZE_MAX})
    test::refused(Given<T>(wrong).read(), {"it.struct_size", name});
  for (const std::size_t known : {first_bytes, size, size + 24, std::size_t{4096}})
    EXPECT_TRUE(Given<T>(known).read()) << known;
  EXPECT_TRUE(Given<T>(size + 24).read_with(size + 24)) << "beyond struct_size";
  test::refused(Given<T>(size + 24).read_with(size + 23), {name}, ErrorCode::unsupported);
  test::refused(Given<T>(size + 1).read_with(size), {name}, ErrorCode::unsupported);
  if constexpr (requires(T value) { value.reserved; })
    test::refused(Given<T>(size).read_with(offsetof(T, reserved)), {"it.reserved must be 0"});
  Given<T> earlier(first_bytes);
  std::fill(earlier.bytes.begin() + static_cast<std::ptrdiff_t>(first_bytes), earlier.bytes.end(),
            std::byte{1});
  T expected = c_api::Versioned<T>::defaults;
  expected.struct_size = first_bytes;
  const auto read = earlier.read();
  EXPECT_TRUE(read && std::memcmp(&*read, &expected, sizeof expected) == 0) << "not the defaults";
}

// Filling reads only struct_size, and leaves it and the bytes that it excludes unchanged.
template <class T>
void expect_filled_as_far_as_known() {
  for (const std::size_t struct_size : {c_api::Versioned<T>::layout.first_bytes, sizeof(T) + 8}) {
    SCOPED_TRACE(struct_size);
    Given<T> given(struct_size);
    std::fill(given.bytes.begin() + sizeof struct_size, given.bytes.end(), std::byte{0xA5});
    auto expected = given.bytes;
    std::fill_n(expected.begin() + sizeof struct_size,
                std::min(struct_size, sizeof(T)) - sizeof struct_size, std::byte{0});
    ASSERT_TRUE(c_api::write_struct("it", given.pointer(), T{}));
    EXPECT_EQ(given.bytes, expected);
  }
}

TEST(CStructs, AreReadAsFarAsCallerAndLibraryKnowThem) {
  expect_read_as_far_as_known<rotary_heads_view>(88);
  expect_read_as_far_as_known<rotary_positions>(64);
  expect_read_as_far_as_known<rotary_rotated_at>(24);
  expect_read_as_far_as_known<rotary_int8_view>(112);
  expect_read_as_far_as_known<rotary_resolve_options>(24);
  expect_read_as_far_as_known<rotary_byte_source>(32);
  expect_read_as_far_as_known<rotary_window>(40);
  expect_read_as_far_as_known<rotary_axis_frequencies>(48);
  expect_read_as_far_as_known<rotary_rotations_options>(32);
  expect_read_as_far_as_known<rotary_cos_sin>(80);
  expect_read_as_far_as_known<rotary_executor>(32);
  expect_read_as_far_as_known<rotary_rotate_options>(24);
  expect_read_as_far_as_known<rotary_kv>(24);
  expect_read_as_far_as_known<rotary_int8_kv>(24);
  expect_read_as_far_as_known<rotary_slots>(64);
  expect_read_as_far_as_known<rotary_head_norm>(48);
  expect_read_as_far_as_known<rotary_append_options>(32);
}

TEST(CStructs, AreFilledAsFarAsTheCallerKnowsThem) {
  expect_filled_as_far_as_known<rotary_window>();
  expect_filled_as_far_as_known<rotary_cos_sin>();
}

}  // namespace
}  // namespace rotary
