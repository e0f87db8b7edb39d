// SPDX-License-Identifier: Apache-2.0
// Calls every public function with its first allocation failing, then with its second, and so on,
// until the call succeeds.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "public_calls/call.hpp"
#include "support/counted_new.hpp"

namespace rotary {
namespace {

using test::Call;

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

// terminate() prints this name of the call, the only trace of a call that ends the process.
std::array<char, 200> current{};

void say_which_call_ended() {
  std::fprintf(stderr, "the process was ended by %s\n", current.data());
  std::abort();
}

// Far more than any call makes. A call that never succeeds fails the test.
constexpr std::size_t most_allocations = 100'000;

void expect_out_of_memory(const Call& call, test::Sizes sizes, test::Failing which,
                          std::optional<ErrorCode> otherwise) {
  for (std::size_t index = 0; index < most_allocations; ++index) {
    FailingAllocation attempt(index, which);
    test::begin_operands();
    const std::int64_t live = test::live_allocations();
    const std::optional<ErrorCode> error = call.make(attempt, sizes).error;
    ASSERT_EQ(test::live_allocations(), live) << "leaked where allocation " << index << " fails";
    if (!attempt.has_failed()) {
      EXPECT_EQ(error, otherwise) << "after " << index << " failures";
      return;
    }
    ASSERT_EQ(error, ErrorCode::out_of_memory) << "where allocation " << index << " fails";
    ASSERT_TRUE(test::operands_are_untouched()) << "written where allocation " << index << " fails";
  }
  FAIL() << "no end of allocations";
}

// Fails the test if a failing allocation is not reported as out_of_memory, changes operands,
// leaks memory, or makes the next call differ. If a call ends the process, prints its name.
void expect_out_of_memory(const Call& call, test::Sizes sizes) {
  const std::string name = call.name();
  SCOPED_TRACE(name + ", first size " + std::to_string(sizes.empty() ? 0 : sizes.front()));
  std::snprintf(current.data(), current.size(), "%s", name.c_str());
  const auto terminate = std::set_terminate(say_which_call_ended);
  // A call without failures gives the expected outcome, and makes tables that are never freed.
  FailingAllocation undisturbed(most_allocations, test::Failing::one);
  test::begin_operands();
  const std::optional<ErrorCode> otherwise = call.make(undisturbed, sizes).error;
  EXPECT_NE(otherwise, ErrorCode::out_of_memory);
  expect_out_of_memory(call, sizes, test::Failing::one, otherwise);
  expect_out_of_memory(call, sizes, test::Failing::it_and_all_later, otherwise);
  std::set_terminate(terminate);
}

void expect_out_of_memory(const test::Calls& calls) {
  for (const Call& call : calls) {
    for (const auto& sizes : sizes_to_try(call)) {
      ASSERT_NO_FATAL_FAILURE(expect_out_of_memory(call, sizes));
    }
  }
}

TEST(OutOfMemory, ModelsReportIt) { expect_out_of_memory(test::model_calls()); }
TEST(OutOfMemory, DialectsReportIt) { expect_out_of_memory(test::dialect_calls()); }
TEST(OutOfMemory, IdentificationReportsIt) { expect_out_of_memory(test::identify_calls()); }
TEST(OutOfMemory, RotationsReportIt) { expect_out_of_memory(test::rotation_calls()); }
TEST(OutOfMemory, CachesReportIt) { expect_out_of_memory(test::cache_calls()); }
TEST(OutOfMemory, AttentionReportsIt) { expect_out_of_memory(test::attention_calls()); }
TEST(OutOfMemory, AxisPositionsReportIt) { expect_out_of_memory(test::positions_calls()); }
TEST(OutOfMemory, RelativeBiasesReportIt) { expect_out_of_memory(test::relative_calls()); }
TEST(OutOfMemory, AbsoluteEncodingsReportIt) { expect_out_of_memory(test::absolute_calls()); }
TEST(OutOfMemory, ModelsInCReportIt) { expect_out_of_memory(test::c_model_calls()); }
TEST(OutOfMemory, TensorsInCReportIt) { expect_out_of_memory(test::c_calls()); }
TEST(OutOfMemory, ThreadsReportIt) { expect_out_of_memory(test::threads_calls()); }

}  // namespace
}  // namespace rotary
