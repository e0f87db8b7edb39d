// SPDX-License-Identifier: Apache-2.0
#include "public_calls/cases.hpp"

namespace rotary::test {

std::vector<Case> core_cases() {
  std::vector<Case> all;
  for (const auto& cases : {model_cases(), rotation_cases(), cache_cases(), attention_cases(),
                            relative_cases(), absolute_cases(), c_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace rotary::test
