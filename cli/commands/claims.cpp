// SPDX-License-Identifier: Apache-2.0
// rotary claims: tests common claims about position encodings by computation. Exits with 1 if a
// number or a verdict is not as expected.
#include "cli/claims/claims.hpp"

#include "apps/progress.hpp"
#include "cli/commands/commands.hpp"

namespace rotary::cli {
namespace claims_call {
namespace {

const claims::Claim& claim_called(std::string_view text) {
  const auto all = claims::all_claims();
  const auto found = std::ranges::find_if(all, [text](const claims::Claim& claim) {
    return claim.name == text || fmt::format_int(claim.number).c_str() == text;
  });
  require(found != all.end(),
          "a claim must be a number from 1 to {} or one of the names that `rotary claims` lists, "
          "got '{}'",
          all.size(), text);
  return *found;
}

std::string run_claims(const std::vector<std::string>& chosen, OutputForm form) {
  std::vector<claims::Claim> list;
  for (const std::string& text : chosen) list.push_back(claim_called(text));
  if (chosen.empty()) list.assign(claims::all_claims().begin(), claims::all_claims().end());
  std::vector<claims::Finding> findings;
  {
    Progress progress("rotary claims", static_cast<std::int64_t>(list.size()));
    for (const claims::Claim& claim : list) {
      findings.push_back(claims::examine(claim));
      progress.advance();
    }
  }
  claims::check(findings);
  if (form == OutputForm::json) return claims::findings_json(findings);
  return chosen.empty() ? claims::overview_text(findings) : claims::evidence_text(findings);
}

void declare(OptionParser& parser, std::vector<std::string>& chosen) {
  parser.add("CLAIM", chosen, "numbers or names whose evidence to print (the verdicts of all)");
}

}  // namespace
}  // namespace claims_call

constinit const Command claims_command{
    .name = "claims",
    .summary = "Judge common claims about position encodings by computing them",
    .examples =
        "  rotary claims\n"
        "  rotary claims 9 13\n"
        "  rotary claims high-dimension\n"
        "  rotary claims --json\n",
    .declare = declared<claims_call::declare, claims_call::run_claims>,
};

}  // namespace rotary::cli
