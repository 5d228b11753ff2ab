// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace forebay::emufs {

const char* const kUsage =
    "usage: forebay-emufs mount [--machine NAME|FILE] [--clients N] [--threads N] [--no-delay]\n"
    "                           [--no-sync] [--punctual] [--record FILE] [--foreground]\n"
    "                           BACKING MOUNT_POINT\n"
    "       forebay-emufs unmount [--lazy] MOUNT_POINT\n"
    "       forebay-emufs record-info RECORD\n"
    "       forebay-emufs replay [--cut N] [--unsynced all|none|random] [--seed N] RECORD "
    "DIRECTORY\n"
    "Each prints one JSON document.\n";

namespace {

constexpr std::uint32_t kClientsMax = 1024;
constexpr unsigned kThreadsMax = 256;

Error usage_error(const std::string& text) {
  return Error(
      {.kind = ErrorClass::kInvalidArgument, .operation = "read the command line", .cause = text});
}

struct Bounds {
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
};

std::optional<std::uint64_t> number(const std::string& text, Bounds bounds) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < bounds.min || value > bounds.max) return std::nullopt;
  return value;
}

/// Options by name. Flags take no argument; the others receive the next word, and return false if
/// it is not a valid value.
struct Options {
  std::map<std::string, std::function<void()>> flags;
  std::map<std::string, std::function<bool(const std::string&)>> values;
};

/// Returns how many words an option at the beginning takes; 0 if the first word is not an option.
Result<std::size_t> parse_option(std::span<char* const> words, const Options& options) {
  const std::string word = words.front();
  if (const auto flag = options.flags.find(word); flag != options.flags.end()) {
    flag->second();
    return 1;
  }
  const auto option = options.values.find(word);
  if (option == options.values.end()) {
    if (!word.starts_with("--")) return 0;
    return failure(usage_error("unknown option " + word));
  }
  if (words.size() < 2 || !option->second(words[1])) {
    return failure(usage_error("a wrong or missing value for " + word));
  }
  return 2;
}

/// Removes options from the words, and returns the others.
Result<std::vector<std::string>> parse_options(std::span<char* const> words,
                                               const Options& options) {
  std::vector<std::string> positional;
  while (!words.empty()) {
    const auto parsed = parse_option(words, options);
    if (!parsed) return failure(parsed.error());
    if (*parsed == 0) positional.emplace_back(words.front());
    words = words.subspan(std::max<std::size_t>(*parsed, 1));
  }
  return positional;
}

template <class Number>
std::function<bool(const std::string&)> into(Number& target, Bounds bounds) {
  return [&target, bounds](const std::string& text) {
    const auto value = number(text, bounds);
    if (value) target = static_cast<Number>(*value);
    return value.has_value();
  };
}

std::function<bool(const std::string&)> into(std::string& target) {
  return [&target](const std::string& text) {
    target = text;
    return !text.empty();
  };
}

tl::unexpected<Error> usage_failure(const std::string& what) { return failure(usage_error(what)); }

Result<Command> parse_mount(std::span<char* const> words) {
  MountCommand command;
  Options options;
  options.flags["--no-delay"] = [&] { command.delay_mode = DelayMode::kDisabled; };
  options.flags["--no-sync"] = [&] { command.sync_mode = SyncMode::kDisabled; };
  options.flags["--punctual"] = [&] { command.idle_policy = IdlePolicy::kStayActive; };
  options.flags["--foreground"] = [&] { command.run_mode = RunMode::kForeground; };
  options.values["--machine"] = into(command.machine);
  options.values["--record"] = into(command.record);
  options.values["--clients"] = into(command.clients, {1, kClientsMax});
  options.values["--threads"] = into(command.threads, {1, kThreadsMax});
  const auto positional = parse_options(words, options);
  if (!positional) return failure(positional.error());
  if (positional->size() != 2) return usage_failure("mount needs BACKING and MOUNT_POINT");
  command.backing = positional->at(0);
  command.mount_point = positional->at(1);
  return command;
}

Result<Command> parse_unmount(std::span<char* const> words) {
  UnmountCommand command;
  Options options;
  options.flags["--lazy"] = [&] { command.mode = UnmountMode::kLazy; };
  const auto positional = parse_options(words, options);
  if (!positional) return failure(positional.error());
  if (positional->size() != 1) return usage_failure("unmount needs MOUNT_POINT");
  command.mount_point = positional->at(0);
  return command;
}

Result<Command> parse_record_info(std::span<char* const> words) {
  const auto positional = parse_options(words, {});
  if (!positional) return failure(positional.error());
  if (positional->size() != 1) return usage_failure("record-info needs RECORD");
  return RecordInfoCommand{positional->at(0)};
}

Result<Command> parse_replay(std::span<char* const> words) {
  ReplayCommand command;
  Options options;
  options.values["--cut"] = into(command.cut, {});
  options.values["--seed"] = into(command.seed, {});
  options.values["--unsynced"] = [&](const std::string& word) {
    if (word == "none") command.unsynced = Unsynced::kNone;
    if (word == "random") command.unsynced = Unsynced::kRandom;
    return word == "all" || word == "none" || word == "random";
  };
  const auto positional = parse_options(words, options);
  if (!positional) return failure(positional.error());
  if (positional->size() != 2) return usage_failure("replay needs RECORD and DIRECTORY");
  command.record = positional->at(0);
  command.directory = positional->at(1);
  return command;
}

}  // namespace

Result<Command> parse_command(std::span<char* const> words) {
  if (words.empty()) return usage_failure("no command; --help lists them");
  const std::string name = words.front();
  const auto remaining = words.subspan(1);
  if (name == "--help") return HelpCommand{};
  if (name == "mount") return parse_mount(remaining);
  if (name == "unmount") return parse_unmount(remaining);
  if (name == "record-info") return parse_record_info(remaining);
  if (name == "replay") return parse_replay(remaining);
  return usage_failure("unknown command " + name + "; --help lists the commands");
}

}  // namespace forebay::emufs
