// SPDX-License-Identifier: Apache-2.0
#include "apps/failure.hpp"
#include "cli/difference/difference.hpp"
#include "cli/model_input.hpp"

namespace rotary::cli {

Comparison compare_engines(const ModelOptions& options, const std::string& names) {
  const std::size_t comma = names.find(',');
  require(comma != std::string::npos && names.find(',', comma + 1) == std::string::npos,
          "--between must name two engines, such as transformers@4.51,llama.cpp, got '{}'", names);
  const ResolveOptions& resolving = options.resolving;
  Comparison comparison{.sides = {names.substr(0, comma), names.substr(comma + 1)}};
  const ConfigFile config = read_config(options.config);
  for (const std::string& name : {comparison.sides.one, comparison.sides.other}) {
    const Dialect dialect = value_or_fail(parse_dialect(name), "--between");
    comparison.readings.push_back(
        {dialect, reading_of(config, options.config, resolving, dialect)});
  }
  ReadingsDifference found = value_or_fail(
      compare_readings(comparison.readings.front().reading, comparison.readings.back().reading,
                       {.context_tokens = resolving.context_tokens}));
  comparison.difference = std::move(found.difference);
  comparison.agreement = found.agreement;
  return comparison;
}

Comparison comparison_of(Sides sides, ModelDifference difference) {
  const Agreement agreement = difference.differs() ? Agreement::different : Agreement::same;
  return {.sides = std::move(sides), .difference = std::move(difference), .agreement = agreement};
}

}  // namespace rotary::cli
