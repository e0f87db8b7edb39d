// SPDX-License-Identifier: Apache-2.0
#include "lab/data/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.hpp"
#include "lab/data/dataset.hpp"

namespace rotary::lab {

std::span<const DefaultData> default_data() {
  // Licences as the packages' debian/copyright state them.
  static const std::vector<DefaultData> defaults = {
      {.name = "prose",
       .what = "English prose with code in it: the documentation of Perl, 9 MB",
       .source = {.path = "deb:perl-doc", .suffix = ".pod", .licence = "GPL-1+ or Artistic"}},
      {.name = "pairs",
       .what = "English and German: the help of LibreOffice, 34,000 pairs, 7 MB",
       .source = {.path = "deb:libreoffice-help-en-us",
                  .suffix = "",
                  .licence = "MPL-2.0",
                  .translation = "deb:libreoffice-help-de"}},
      {.name = "pairs-from-german",
       .what = "the same pairs, from German into English",
       .source = {.path = "deb:libreoffice-help-de",
                  .suffix = "",
                  .licence = "MPL-2.0",
                  .translation = "deb:libreoffice-help-en-us"}},
      {.name = "pairs-into-french",
       .what = "English and French: the help of LibreOffice",
       .source = {.path = "deb:libreoffice-help-en-us",
                  .suffix = "",
                  .licence = "MPL-2.0",
                  .translation = "deb:libreoffice-help-fr"}},
      {.name = "manuals",
       .what = "manual pages of Linux, by section, 6 MB",
       .source = {.path = "deb:manpages,deb:manpages-dev",
                  .suffix = "",
                  .licence = "several free licences, each page's own",
                  .format = Format::manual}},
  };
  return defaults;
}

const DefaultData* find_default(std::string_view name) {
  const auto found = std::ranges::find(default_data(), name, &DefaultData::name);
  return found == default_data().end() ? nullptr : &*found;
}

bool has_dataset(const std::string& folder, const std::string& name) {
  return name == grammar_name || name == grammar_pairs_name ||
         std::filesystem::exists(std::filesystem::path(folder) / name / "manifest.json");
}

DataChoice choose_data(const std::string& folder, const std::string& asked,
                       const std::string& of_preset, DataUse use) {
  if (!asked.empty()) return {.name = asked};
  if (has_dataset(folder, of_preset)) return {.name = of_preset};
  const std::string command =
      fmt::format("rotary-lab data add {}{}", of_preset,
                  find_default(of_preset) == nullptr ? " --from FILE, FOLDER or deb:PACKAGE" : "");
  if (use == DataUse::language_model) {
    return {.name = std::string(grammar_name),
            .reason = fmt::format("no data set {} in {}: training on generated text, whose losses "
                                  "say less. To have it: {}",
                                  of_preset, folder, command)};
  }
  throw cli::Failure(cli::ExitCode::io, fmt::format("{} has no data set {}, which this experiment "
                                                    "needs: {}",
                                                    folder, of_preset, command));
}

}  // namespace rotary::lab
