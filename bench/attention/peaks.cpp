// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/attention/peaks.cpp"
#include <hwy/foreach_target.h>
// Include after foreach_target.h, as Highway requires.
#include <hwy/highway.h>

#include "bench/attention/peaks.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Every sum tends to 1, so no number becomes subnormal or infinite. The sums start from different
// numbers, because the compiler could merge equal sums.
double multiply_and_add_of(std::int64_t steps, float half, volatile float* sink) {
  const hn::ScalableTag<float> d;
  const auto by = hn::Set(d, half);
  auto a = by;
  auto b = hn::Add(a, by);
  auto c = hn::Add(b, by);
  auto e = hn::Add(c, by);
  auto f = hn::Add(e, by);
  auto g = hn::Add(f, by);
  auto h = hn::Add(g, by);
  auto i = hn::Add(h, by);
  auto j = hn::Add(i, by);
  auto k = hn::Add(j, by);
  for (std::int64_t step = 0; step < steps; ++step) {
    a = hn::MulAdd(a, by, by);
    b = hn::MulAdd(b, by, by);
    c = hn::MulAdd(c, by, by);
    e = hn::MulAdd(e, by, by);
    f = hn::MulAdd(f, by, by);
    g = hn::MulAdd(g, by, by);
    h = hn::MulAdd(h, by, by);
    i = hn::MulAdd(i, by, by);
    j = hn::MulAdd(j, by, by);
    k = hn::MulAdd(k, by, by);
  }
  *sink = hn::GetLane(a);
  *sink = hn::GetLane(b);
  *sink = hn::GetLane(c);
  *sink = hn::GetLane(e);
  *sink = hn::GetLane(f);
  *sink = hn::GetLane(g);
  *sink = hn::GetLane(h);
  *sink = hn::GetLane(i);
  *sink = hn::GetLane(j);
  *sink = hn::GetLane(k);
  return 2.0 * 10 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(steps);
}

void read_into(const std::byte* data, std::size_t count, volatile std::uint8_t* sink) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(data);
  auto a = hn::Zero(d);
  auto b = a;
  auto c = a;
  auto e = a;
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Or(a, hn::LoadU(d, bytes + i));
    b = hn::Or(b, hn::LoadU(d, bytes + i + lanes));
    c = hn::Or(c, hn::LoadU(d, bytes + i + 2 * lanes));
    e = hn::Or(e, hn::LoadU(d, bytes + i + 3 * lanes));
  }
  std::uint8_t rest = 0;
  for (; i < count; ++i) rest = static_cast<std::uint8_t>(rest | bytes[i]);
  *sink = hn::GetLane(hn::Or(hn::Or(a, b), hn::Or(c, e)));
  *sink = rest;
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rotary::bench {
namespace {

// Storing the sum here keeps compilers from removing the work.
thread_local volatile float last_sum = 0;
thread_local volatile std::uint8_t last_byte = 0;

}  // namespace

HWY_EXPORT(multiply_and_add_of);
HWY_EXPORT(read_into);

double multiply_and_add(std::int64_t steps) {
  const volatile float half = 0.5F;  // read at run time
  return HWY_DYNAMIC_DISPATCH(multiply_and_add_of)(steps, half, &last_sum);
}

void read_bytes(const std::byte* data, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(read_into)(data, count, &last_byte);
}

}  // namespace rotary::bench
#endif  // HWY_ONCE
