// SPDX-License-Identifier: Apache-2.0
// The files of fuzz/corpus/npy: invalid NPY files, and valid ones that look invalid.
#include <gtest/gtest.h>

#include "npy_bytes.hpp"
#include "support/corpus.hpp"

namespace rotary::cli {
namespace {

TEST(NpyCorpus, ValidFilesStayTheSameWhenWrittenAgain) {
  for (const auto& file : rotary::test::corpus_files("npy", "y_")) {
    const auto array = test::read_text(file.bytes);
    ASSERT_TRUE(array) << file.name << ": " << array.error().message;
    const auto again = test::read_text(write_npy(array->type, array->shape, array->data));
    ASSERT_TRUE(again) << file.name;
    EXPECT_EQ(again->type, array->type) << file.name;
    EXPECT_EQ(again->shape, array->shape) << file.name;
    EXPECT_EQ(again->data, array->data) << file.name;
  }
}

TEST(NpyCorpus, InvalidFilesAreRefused) {
  for (const auto& file : rotary::test::corpus_files("npy", "n_")) {
    const auto array = test::read_text(file.bytes);
    ASSERT_FALSE(array) << file.name;
    EXPECT_FALSE(array.error().message.empty()) << file.name;
  }
}

}  // namespace
}  // namespace rotary::cli
