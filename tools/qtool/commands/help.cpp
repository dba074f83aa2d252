#include <memory>
#include <string>
#include <vector>

#include "base/choices.h"
#include "base/text.h"
#include "cli/help_page.h"
#include "cli/help_topics.h"
#include "cli/program.h"
#include "console.h"
#include "documents.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

struct HelpCommand {
  std::string topic;
  bool man = false;
};

std::vector<std::string> topic_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& command : program.commands()) names.push_back(command->name());
  for (const HelpTopic& topic : help_topics()) names.push_back(topic.name);
  return names;
}

std::string help_text(const Program& program, const HelpCommand& options) {
  if (options.topic.empty()) {
    return options.man ? man_page(program) : help_page(program);
  }
  for (const auto& command : program.commands()) {
    if (command->name() != options.topic) continue;
    return options.man ? man_page(program, *command) : help_page(*command);
  }
  for (const HelpTopic& topic : help_topics()) {
    if (topic.name != options.topic) continue;
    if (!options.man) return topic.text();
    throw Error(ErrorCode::kUsage,
                to_text("help --man: found the topic '", topic.name, "', expected a command"));
  }
  throw Error(ErrorCode::kUsage, to_text("help: there is no page '", options.topic, "'",
                                         expected_text(options.topic, topic_names(program))));
}

}  // namespace

void add_help(Program& program, Session& session) {
  const auto options = std::make_shared<HelpCommand>();
  Command& command = program.add_command("help", "Explain a command or a topic",
                                         {"qtool help calibrate", "qtool help presets"});
  command
      .option("topic", options->topic,
              "A command, or targets, presets, detectors, methods, formats, lists, inputs")
      .placeholder("TOPIC")
      .offer(topic_names(program));
  command.flag("--man", options->man, "Print the manual page, in troff's man macros");
  command.show_first({"topic", "--man", "--help"});
  command.on_parsed([options, &program, &session] {
    session.run = [options, &program] { print_result(help_text(program, *options)); };
  });
}

void add_completion(Program& program, Session& session) {
  const auto shell = std::make_shared<std::string>();
  Command& command = program.add_command("completion", "Print a completion script for a shell",
                                         {"source <(qtool completion bash)"});
  command.option("shell", *shell, "bash, zsh or fish")
      .required()
      .placeholder("SHELL")
      .one_of({"bash", "zsh", "fish"});
  command.show_first({"shell", "--help"});
  command.on_parsed([shell, &program, &session] {
    session.run = [shell, &program] { print_result(completion(program, *shell)); };
  });
}

}  // namespace qtool::tool
