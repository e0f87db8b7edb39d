// SPDX-License-Identifier: Apache-2.0
// Every public function when memory runs out: each of its allocations fails in turn, the first,
// then the second, until the call goes through.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "public_calls/cases.hpp"
#include "support/counted_new.hpp"

namespace rotary {
namespace {

using test::Case;

class FailingAllocation final : public test::Attempt {
 public:
  FailingAllocation(std::size_t index, test::Failing which) : index_(index), which_(which) {}

  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  void begin() noexcept override { failing_.emplace(index_, which_); }
  void end() noexcept override {
    has_failed_ = failing_->has_failed();
    failing_.reset();
  }

  std::size_t index_;
  test::Failing which_;
  std::optional<test::FailingNew> failing_;
  bool has_failed_ = false;
};

// terminate() prints it: a call that ends the process shows no other trace of which one it was.
std::array<char, 200> current{};

void say_which_call_ended() {
  std::fprintf(stderr, "the process was ended by %s\n", current.data());
  std::abort();
}

// Far more than any call here makes: a call that never goes through fails the test.
constexpr std::size_t most_allocations = 100'000;

void expect_out_of_memory(const Case& each, test::Failing which,
                          std::optional<ErrorCode> otherwise) {
  const std::vector<test::Bytes> before = test::copies_of(each.outputs);
  for (std::size_t index = 0; index < most_allocations; ++index) {
    FailingAllocation attempt(index, which);
    const std::int64_t live = test::live_allocations();
    const std::optional<ErrorCode> error = each.call(attempt).error;
    ASSERT_EQ(test::live_allocations(), live) << "leaked where allocation " << index << " fails";
    if (!attempt.has_failed()) {
      EXPECT_EQ(error, otherwise) << "after " << index << " failures";
      test::restore(each.outputs, before);
      return;
    }
    ASSERT_EQ(error, ErrorCode::out_of_memory) << "where allocation " << index << " fails";
    ASSERT_EQ(test::copies_of(each.outputs), before)
        << "written where allocation " << index << " fails";
  }
  FAIL() << "no end of allocations";
}

// Fails the test where an allocation that fails is not reported as out_of_memory, where outputs
// change all the same, where anything is leaked, or where the next call does not go through as if
// nothing had been. Ends the process, with the name of the case, where a call does.
void expect_out_of_memory(const Case& each) {
  const std::string name = each.name();
  SCOPED_TRACE(name);
  std::snprintf(current.data(), current.size(), "%s", name.c_str());
  const auto terminate = std::set_terminate(say_which_call_ended);
  const std::vector<test::Bytes> before = test::copies_of(each.outputs);
  // Without a failure: what it comes to, and tables that are made at first use.
  FailingAllocation undisturbed(most_allocations, test::Failing::one);
  const std::optional<ErrorCode> otherwise = each.call(undisturbed).error;
  EXPECT_NE(otherwise, ErrorCode::out_of_memory);
  test::restore(each.outputs, before);
  expect_out_of_memory(each, test::Failing::one, otherwise);
  expect_out_of_memory(each, test::Failing::it_and_all_later, otherwise);
  std::set_terminate(terminate);
}

void expect_out_of_memory(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    ASSERT_NO_FATAL_FAILURE(expect_out_of_memory(each));
  }
}

TEST(OutOfMemory, Models) { expect_out_of_memory(test::model_cases()); }
TEST(OutOfMemory, Rotations) { expect_out_of_memory(test::rotation_cases()); }
TEST(OutOfMemory, Caches) { expect_out_of_memory(test::cache_cases()); }
TEST(OutOfMemory, Attention) { expect_out_of_memory(test::attention_cases()); }
TEST(OutOfMemory, RelativeBiases) { expect_out_of_memory(test::relative_cases()); }
TEST(OutOfMemory, AbsoluteEncodings) { expect_out_of_memory(test::absolute_cases()); }
TEST(OutOfMemory, CFunctions) { expect_out_of_memory(test::c_cases()); }
TEST(OutOfMemory, Threads) { expect_out_of_memory(test::threads_cases()); }

}  // namespace
}  // namespace rotary
