// SPDX-License-Identifier: Apache-2.0
#include "support/attend_masks.hpp"

#include <utility>

namespace rotary::test {

std::vector<NamedMask> attend_masks() {
  const auto [order, both] = std::pair(AttentionOrder::causal, AttentionOrder::bidirectional);
  const std::vector<AttentionSequence> packed = {{0, 0, 3, 0, 5, 2, 0},
                                                 {0, 3, 1, 5, 7, 0, 0},
                                                 {0, 5, 4, 12, 11, 7, 0},
                                                 {1, 2, 7, 3, 17, 10, 0}};
  const std::vector<AttentionSequence> padded = {{0, 4, 5, 6, 17, 12, 0}, {1, 0, 6, 0, 14, 8, 0}};
  constexpr AttentionMask causal{.order = AttentionOrder::causal};
  return {{"bidirectional", {.order = both}},
          {"causal", causal},
          {"causal window", {.order = order, .left = 5}},
          {"window of itself", {.order = order, .left = 0}},
          {"window to both sides", {.order = both, .left = 3, .right = 2}},
          {"sinks and window", {.order = order, .left = 4, .sinks = 3}},
          {"sinks and window to both sides", {.order = both, .left = 2, .right = 1, .sinks = 2}},
          {"keys well before the query", {.order = both, .right = -6}},
          {"an older window, and sinks", {.order = order, .left = 12, .right = -7, .sinks = 1}},
          {"everything is a sink", {.order = order, .left = 1, .sinks = 1000}},
          {"packed", causal, packed},
          {"packed, window and sinks", {.order = both, .left = 4, .right = 1, .sinks = 1}, packed},
          {"padded left, and right", causal, padded},
          {"no keys in common", {.order = order, .left = 2}, {{1, 1, 4, 2, 9, 40, 0}}},
          {"positions beyond 8k", causal, {{0, 0, 9, 0, 23, 99'990, 99'976}}},
          {"negative positions", causal, {{0, 0, 9, 0, 23, -9, -23}}},
          {"temperature", causal, {}, StepTemperature{.scale = 0.5, .interval_tokens = 5}},
          {"logn", causal, padded, LognTemperature{.trained_tokens = 4}}};
}

testing::AssertionResult is_right(const AttendCase& made_of) {
  Attended call(made_of);
  const Status status = call.run();
  if (!status) return testing::AssertionFailure() << status.error().message;
  return call.is_right();
}

}  // namespace rotary::test
