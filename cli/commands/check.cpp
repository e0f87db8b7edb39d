// SPDX-License-Identifier: Apache-2.0
// rotary check, for CI: prints each warning and refusal of configs and GGUF files on a line.
#include <filesystem>

#include "cli/commands/commands.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {
namespace check_call {
namespace {

std::string_view name_of(Severity severity) {
  if (severity == Severity::warning) return "warning";
  return severity == Severity::error ? "error" : "unsupported";
}

struct Finding {
  Severity severity = Severity::error;
  std::string message;
};

struct CheckedFile {
  std::string path;
  std::vector<Finding> findings;
  bool readable = true;

  void add(Severity severity, std::string message) {
    findings.push_back({severity, std::move(message)});
  }
};

struct CheckOptions {
  std::vector<std::string> files;
  bool strict = false;
  bool skip_unsupported = false;

  [[nodiscard]] bool fails(const Finding& finding) const {
    if (finding.severity == Severity::warning) return strict;
    return finding.severity == Severity::error || !skip_unsupported;
  }
};

// An unsupported tower is not reported, because it is no fault of the config.
void check_part(const std::string& config, const PartInfo& part, CheckedFile& checked) {
  const auto model = resolve(config, {.part = part.part});
  const auto said = [&](const std::string& message) {
    return fmt::format("{}: {}", part.config_part, message);
  };
  if (!model && model.error().code == ErrorCode::malformed_input)
    checked.add(Severity::error, said(model.error().message));
  if (!model) return;
  for (const std::string& warning : model->warnings) checked.add(Severity::warning, said(warning));
}

void check_config(const ConfigFile& config, CheckedFile& checked) {
  const auto model = config.gguf ? resolve_gguf(*config.gguf) : resolve(config.json);
  if (!model) {
    const bool is_known = model.error().code != ErrorCode::unsupported;
    return checked.add(is_known ? Severity::error : Severity::unsupported, model.error().message);
  }
  for (const std::string& warning : model->warnings) checked.add(Severity::warning, warning);
  if (config.gguf) return;
  const auto parts = model_parts(config.json);
  for (std::size_t i = 1; parts && i < parts->size(); ++i)
    check_part(config.json, (*parts)[i], checked);
}

// A file that cannot be read gives a finding, so that the other files are still checked.
CheckedFile check(const std::string& path) {
  CheckedFile checked{.path = std::string(input_name(path)), .findings = {}};
  try {
    const ConfigFile config = read_config(path);
    check_config(config, checked);
    std::error_code error;
    const auto model = resolve(config.json);
    if (std::filesystem::is_directory(path, error) && model)
      check_folder(path, *model, [&](Severity severity, const std::string& message) {
        checked.add(severity, message);
      });
  } catch (const Failure& failure) {
    const bool is_unsupported = failure.exit_code() == ExitCode::unsupported;
    checked.readable = failure.exit_code() != ExitCode::io;
    std::string message = failure.what();
    if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
    checked.add(is_unsupported ? Severity::unsupported : Severity::error, std::move(message));
  }
  return checked;
}

Json json_of(const std::vector<CheckedFile>& files, const CheckOptions& options) {
  return {{"schema_version", 1},
          {"files", json_array(files, [&](const CheckedFile& file) -> Json {
             const auto fails = [&](const Finding& finding) { return options.fails(finding); };
             return {{"file", file.path},
                     {"passed", std::ranges::none_of(file.findings, fails)},
                     {"findings", json_array(file.findings, [&](const Finding& each) -> Json {
                        return {{"severity", name_of(each.severity)},
                                {"message", each.message},
                                {"fails", options.fails(each)}};
                      })}};
           })}};
}

std::string text_of(const std::vector<CheckedFile>& files, const CheckOptions& options) {
  std::string text;
  std::size_t findings = 0;
  std::ptrdiff_t failing = 0;
  for (const CheckedFile& file : files) {
    for (const Finding& each : file.findings)
      text += fmt::format("{}: {}: {}\n", printable(file.path), name_of(each.severity),
                          printable(each.message));
    findings += file.findings.size();
    failing += std::ranges::count_if(file.findings,
                                     [&](const Finding& each) { return options.fails(each); });
  }
  const auto count = [](std::size_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  text += findings == 0 ? fmt::format("{}, no findings\n", count(files.size(), "file"))
                        : fmt::format("{}, {}, {} failing\n", count(files.size(), "file"),
                                      count(findings, "finding"), failing);
  return text;
}

// An unreadable file gives ExitCode::io, even if other files have findings.
ExitCode code_of(const std::vector<CheckedFile>& files, const CheckOptions& options) {
  if (!std::ranges::all_of(files, &CheckedFile::readable)) return ExitCode::io;
  for (const CheckedFile& file : files)
    for (const Finding& each : file.findings)
      if (options.fails(each)) return ExitCode::check_failed;
  return ExitCode::ok;
}

Answer check_all(const CheckOptions& options, OutputForm form) {
  require(std::ranges::count(options.files, "-") <= 1, "standard input can be given once");
  std::vector<CheckedFile> files;
  for (const std::string& path : options.files) files.push_back(check(path));
  const ExitCode code = code_of(files, options);
  return {form == OutputForm::json ? printed(json_of(files, options)) : text_of(files, options),
          code};
}

void declare(OptionParser& parser, CheckOptions& options) {
  parser
      .add("FILE", options.files,
           "configs or GGUF files; folders with a config, whose weights, other configs and "
           "tokenizer are checked, too; '-' for standard input; names of model cards")
      .required();
  parser.add("--strict", options.strict, "warnings fail, too");
  parser.add("--skip-unsupported", options.skip_unsupported,
             "models that this version does not know do not fail");
}

}  // namespace
}  // namespace check_call

constinit const Command check_command{
    .name = "check",
    .summary = "Say what is wrong with configs and GGUF files",
    .examples =
        "  rotary check config.json\n"
        "  rotary check models/*/config.json *.gguf --strict\n"
        "  rotary check checkpoint/ --skip-unsupported\n"
        "  rotary check config.json --json | jq '.files[].findings'\n",
    .declare = declared<check_call::declare, check_call::check_all>,
};

}  // namespace rotary::cli
