// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "apps/colour.hpp"
#include "apps/failure.hpp"
#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "cli/option_parser.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"
#include "src/base/spelling.hpp"

namespace rotary::cli {
namespace {

constexpr Command tool{
    .name = "rotary",
    .summary = "Position encodings for transformers: show, compute, explain, compare",
    .examples =
        "  rotary inspect llama-3.1-8b\n"
        "  rotary rotate --config config.json --layout bthd --q q.npy --out-q rotated.npy\n"
        "  rotary report llama-3.1-8b qwen2.5-7b -o page.html\n",
    .declare = nullptr,
    .commands = all_commands,
};

struct DeclaredCommand {
  const Command* command;
  CLI::App* app;
  std::unique_ptr<OptionParser> parser;
  Run run;
};

// Subcommands come first in `declared`: if one is called, its parent counts as called, too.
void declare(const Command& command, CLI::App& parent, std::vector<DeclaredCommand>& declared) {
  CLI::App* app = parent.add_subcommand(std::string(command.name), std::string(command.summary));
  for (const Command* inner : command.commands) declare(*inner, *app, declared);
  auto parser = std::make_unique<OptionParser>(*app);
  Run run = command.declare(*parser);
  app->add_flag("--json")->description("print one JSON object (docs/schema/)");
  const auto colour = one_named<ColourChoice>({{"auto", ColourChoice::automatic},
                                               {"always", ColourChoice::always},
                                               {"never", ColourChoice::never}});
  parser->add_stored("--color " + colour.name,
                     "colours of text; auto (the default): on a terminal, unless NO_COLOR is set",
                     OptionParser::Repeats::no,
                     [read = colour.read](const auto& name, const auto& text) {
                       choose_colour(read(name, text));
                     });
  declared.push_back({&command, app, std::move(parser), std::move(run)});
}

class Parser {
 public:
  Parser() : root_("Position encodings for transformers") {
    root_.set_help_flag("-h,--help", "print help, examples first");
    root_.set_version_flag("-V,--version", "")->description("print the version");
    root_.require_subcommand(1);
    for (const Command* command : all_commands) declare(*command, root_, declared_);
  }

  [[nodiscard]] CLI::App& root() { return root_; }
  [[nodiscard]] const std::vector<DeclaredCommand>& declared() const { return declared_; }

 private:
  CLI::App root_;
  std::vector<DeclaredCommand> declared_;
};

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts{.value = option.get_type_size() == 0 ? "" : option.get_type_name(),
                    .help = option.get_description(),
                    .required = option.get_required(),
                    .repeated = option.get_items_expected_max() > 1};
  if (option.get_positional()) facts.names.push_back(option.get_name(true, false));
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  return facts;
}

CommandFacts facts_of(const std::string& name, const CLI::App& app, const Command& command) {
  CommandFacts facts{.name = name,
                     .summary = command.summary,
                     .examples = command.examples,
                     .commands = {command.commands.begin(), command.commands.end()}};
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? facts.arguments : facts.options).push_back(facts_of(*option));
  }
  return facts;
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "rotary";
  return full_name(*app.get_parent()) + " " + app.get_name();
}

// CLI11's own message would only say that an argument was not expected.
void check_first_argument(Arguments arguments) {
  const bool given = arguments.size() > 1;
  std::vector<std::string_view> names = {"-h", "--help", "-V", "--version"};
  for (const Command* command : all_commands) names.push_back(command->name);
  if (given && std::ranges::find(names, arguments[1]) != names.end()) return;
  const std::string commands = names_text(all_commands, &Command::name);
  throw Failure(ExitCode::usage,
                given ? fmt::format("the command must be one of {}, got '{}'{}", commands,
                                    arguments[1], did_you_mean(arguments[1], names))
                      : fmt::format("a command is required: one of {}", commands));
}

const CLI::App& chosen_app(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_app(*chosen.front());
}

// Names the first argument that the command does not accept.
std::string unexpected_text(const CLI::App& root) {
  const CLI::App& app = chosen_app(root);
  const std::vector<std::string> extra = root.remaining(true);
  const std::string_view first = extra.empty() ? std::string_view() : extra.front();
  const std::string_view name = first.substr(0, first.find('='));
  const CommandFacts facts = facts_named(full_name(app));
  std::vector<std::string_view> names;
  for (const OptionFacts& option : facts.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  for (const CLI::App* inner : app.get_subcommands({})) names.push_back(inner->get_name());
  const CLI::App* const parent = app.get_parent();
  const bool is_inner = parent != nullptr && parent->get_parent() != nullptr;
  // Suggests nothing for names of at most two characters, because one edit gives many names.
  std::string hint = name.size() > 2 ? did_you_mean(name, names) : "";
  if (hint.empty())
    hint = fmt::format("; an example: {}", facts.examples.substr(2, facts.examples.find('\n') - 2));
  return fmt::format("{}takes no {} '{}'{}", is_inner ? app.get_name() + " " : "",
                     name.starts_with('-') ? "option" : "further argument", name, hint);
}

// ": one of bthd, bhtd, thd": the values of the missing option; "" if any value is allowed.
std::string choices_text(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    std::string values = option->get_type_name();
    if (!option->get_required() || option->count() > 0) continue;
    if (values.find('|') == std::string::npos) return "";
    for (auto bar = values.find('|'); bar != std::string::npos; bar = values.find('|', bar))
      values.replace(bar, 1, ", ");
    return ": one of " + values;
  }
  return "";
}

}  // namespace

std::vector<CommandFacts> all_command_facts() {
  Parser table;
  std::vector<CommandFacts> all = {facts_of("rotary", table.root(), tool)};
  for (const auto& [command, app, parser, run] : table.declared()) {
    all.push_back(facts_of(full_name(*app), *app, *command));
  }
  std::ranges::stable_sort(all, {}, [](const CommandFacts& facts) {
    const auto begins = [&facts](const Command* command) {
      return facts.name.starts_with(fmt::format("rotary {}", command->name));
    };
    const auto place = std::ranges::find_if(all_commands, begins) - all_commands.begin();
    return std::pair(facts.name == "rotary" ? -1 : place, facts.name.size());
  });
  return all;
}

CommandFacts facts_named(std::string_view name) {
  std::vector<CommandFacts> all = all_command_facts();
  std::vector<std::string_view> names;
  for (CommandFacts& facts : all) {
    if (facts.name == name) return std::move(facts);
    names.push_back(facts.name);
  }
  fail_usage("there is no command '{}'{}", name, did_you_mean(name, names));
}

// All CLI11 failures have one exit code.
Call read_command_line(Arguments arguments) {
  check_first_argument(arguments);
  Parser table;
  try {
    table.root().parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    return {.run = [name = full_name(chosen_app(table.root()))](
                       OutputForm) { return help_text(facts_named(name)); },
            .form = OutputForm::text};
  } catch (const CLI::CallForVersion&) {
    const auto version = [](OutputForm) -> std::string {
      return fmt::format("rotary " ROTARY_VERSION_STRING
                         "\ninstruction sets here, best first: {}\n",
                         fmt::join(supported_instruction_sets(), ", "));
    };
    return {.run = version, .form = OutputForm::text};
  } catch (const CLI::ExtrasError&) {
    throw Failure(ExitCode::usage, unexpected_text(table.root()));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();
    const bool is_repeated = text.find("At Most") != std::string_view::npos;
    fail_usage("{} {}", text.substr(0, text.find(':')),
               is_repeated ? "must be given once" : "needs a value");
  } catch (const CLI::RequiredError& error) {
    throw Failure(ExitCode::usage, error.what() + choices_text(chosen_app(table.root())));
  } catch (const CLI::ParseError& error) {
    throw Failure(ExitCode::usage, error.what());
  }
  for (const auto& [command, app, parser, run] : table.declared()) {
    if (!app->parsed()) continue;
    // CLI11 would accept `rotary bench --tokens 1 attention` and lose the option.
    for (const CLI::Option* option : app->get_parent()->get_options())
      require(option->count() == 0, "options of {} must come after its name, got {} before it",
              app->get_name(), option->get_name());
    parser->read();
    return {.run = run, .form = app->count("--json") > 0 ? OutputForm::json : OutputForm::text};
  }
  fail(ExitCode::internal, "no command ran");
}

std::string title(Arguments arguments) {
  for (const Command* command : all_commands) {
    if (arguments.size() > 1 && command->name == arguments[1]) {
      return fmt::format("rotary {}", command->name);
    }
  }
  return "rotary";
}

}  // namespace rotary::cli
