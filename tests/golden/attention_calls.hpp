// SPDX-License-Identifier: Apache-2.0
// Attention put together from the library's calls for each encoding, in f64, with plain sums and a
// plain softmax between them; and its gradients from the calls that make gradients.
#pragma once

#include "golden/attention_file.hpp"

namespace rotary::test {

[[nodiscard]] AttentionNumbers by_calls(const AttentionGolden& of);

// Of the bias, from the gradient of what is added to the scores, [batch][heads][queries][keys].
[[nodiscard]] Numbers parameter_gradients(const AttentionGolden& of, const Numbers& d_bias);

}  // namespace rotary::test
