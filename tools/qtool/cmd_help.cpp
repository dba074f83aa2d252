#include <memory>
#include <string>
#include <vector>

#include "base/choices.h"
#include "base/text.h"
#include "checks.h"
#include "command.h"
#include "console.h"
#include "documents.h"
#include "help_page.h"
#include "help_topics.h"
#include "option_text.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

struct HelpCommand {
  std::string topic;
  bool man = false;
};

std::vector<std::string> topic_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const Command* command : commands_of(program)) names.push_back(command->get_name());
  for (const HelpTopic& topic : help_topics()) names.push_back(topic.name);
  return names;
}

std::string help_text(const CLI::App& program, const HelpCommand& options) {
  if (options.topic.empty()) {
    return options.man ? man_page(program)
                       : HelpPage().make_help(&program, "", CLI::AppFormatMode::Normal);
  }
  for (const Command* command : commands_of(program)) {
    if (command->get_name() != options.topic) continue;
    return options.man ? man_page(*command)
                       : HelpPage().make_help(command, "", CLI::AppFormatMode::Normal);
  }
  for (const HelpTopic& topic : help_topics()) {
    if (topic.name != options.topic) continue;
    if (!options.man) return topic.text();
    throw Error(ErrorCode::kUsage,
                concat("help --man: found the topic '", topic.name, "', expected a command"));
  }
  throw Error(ErrorCode::kUsage, concat("help: there is no page '", options.topic, "'",
                                        expected_text(options.topic, topic_names(program))));
}

}  // namespace

void add_help(CLI::App& app, Session& session) {
  const auto options = std::make_shared<HelpCommand>();
  Command* command = add_command(app, "help", "Explain a command or a topic",
                                 {"qtool help calibrate", "qtool help presets"});
  CLI::Option* topic =
      command
          ->add_option("topic", options->topic,
                       "A command, or targets, presets, detectors, methods, formats, lists, inputs")
          ->type_name("TOPIC");
  command->add_flag("--man", options->man, "Print the manual page, in troff's man macros");
  command->show_first({"topic", "--man", "--help"});
  command->offer(topic, topic_names(app));
  command->callback([options, &app, &session] {
    session.run = [options, &app] { print_result(help_text(app, *options)); };
  });
}

void add_completion(CLI::App& app, Session& session) {
  const auto shell = std::make_shared<std::string>();
  Command* command = add_command(app, "completion", "Print a completion script for a shell",
                                 {"source <(qtool completion bash)"});
  take_words(
      *command,
      *command->add_option("shell", *shell, "bash, zsh or fish")->required()->type_name("SHELL"),
      {"bash", "zsh", "fish"});
  command->show_first({"shell", "--help"});
  command->callback([shell, &app, &session] {
    session.run = [shell, &app] { print_result(completion(app, *shell)); };
  });
}

}  // namespace qtool::tool
