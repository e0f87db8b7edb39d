// SPDX-License-Identifier: Apache-2.0
#include "support/bias_parameters.hpp"

#include <variant>

#include "reference/relative.hpp"

namespace rotary::test {
namespace {

void append(std::vector<double*>& to, std::vector<double>& values) {
  for (double& value : values) to.push_back(&value);
}

struct Parameters {
  std::vector<double>& table;
  std::vector<double*> all = {};

  void operator()(T5Bias& /*bias*/) { append(all, table); }
  void operator()(Alibi& alibi) {
    if (alibi.slopes.empty()) {
      for (const long double slope : reference::alibi_slopes(alibi))
        alibi.slopes.push_back(static_cast<double>(slope));
    }
    append(all, alibi.slopes);
  }
  void operator()(KerpleLog& kerple) {
    append(all, kerple.p);
    append(all, kerple.a);
  }
  void operator()(KerplePower& kerple) {
    append(all, kerple.a);
    append(all, kerple.p);
  }
  void operator()(Fire& fire) {
    all = {&fire.c, &fire.threshold};
    for (auto* part :
         {&fire.hidden_weight, &fire.hidden_bias, &fire.output_weight, &fire.output_bias})
      append(all, *part);
  }
  void operator()(Sandwich& /*sandwich*/) {}
};

}  // namespace

std::vector<double*> bias_parameters(RelativeBias& bias, std::vector<double>& table) {
  Parameters parameters{table};
  std::visit(parameters, bias);
  return parameters.all;
}

}  // namespace rotary::test
