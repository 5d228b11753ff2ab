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
    "       forebay-emufs replay [--cut N] [--unsynced all|none|random] [--seed N] RECORD FOLDER\n"
    "Each prints one JSON document.\n";

namespace {

constexpr std::uint32_t kClientsMax = 1024;
constexpr unsigned kThreadsMax = 256;

Error complaint(const std::string& text) {
  return Error(
      {.kind = ErrorClass::kInvalidArgument, .operation = "read the command line", .cause = text});
}

struct Bounds {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
};

std::optional<std::uint64_t> number(const std::string& text, Bounds bounds) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < bounds.least || value > bounds.most) return std::nullopt;
  return value;
}

/// Options by name: flags are called with "", the others with the word that follows. False: it
/// cannot mean that.
struct Options {
  std::map<std::string, std::function<void()>> flags;
  std::map<std::string, std::function<bool(const std::string&)>> values;
};

/// How many words an option at the beginning takes; 0 if there is none.
Result<std::size_t> take_option(std::span<char* const> words, const Options& options) {
  const std::string word = words.front();
  if (const auto flag = options.flags.find(word); flag != options.flags.end()) {
    flag->second();
    return 1;
  }
  const auto option = options.values.find(word);
  if (option == options.values.end()) {
    if (!word.starts_with("--")) return 0;
    return failure(complaint("unknown option " + word));
  }
  if (words.size() < 2 || !option->second(words[1])) {
    return failure(complaint("a wrong or missing value for " + word));
  }
  return 2;
}

/// Takes options from the words, and leaves the others.
Result<std::vector<std::string>> take(std::span<char* const> words, const Options& options) {
  std::vector<std::string> others;
  while (!words.empty()) {
    const auto taken = take_option(words, options);
    if (!taken) return failure(taken.error());
    if (*taken == 0) others.emplace_back(words.front());
    words = words.subspan(std::max<std::size_t>(*taken, 1));
  }
  return others;
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

tl::unexpected<Error> wants(const std::string& what) { return failure(complaint(what)); }

Result<Command> parse_mount(std::span<char* const> words) {
  MountCommand command;
  Options options;
  options.flags["--no-delay"] = [&] { command.delays = Delays::kNone; };
  options.flags["--no-sync"] = [&] { command.syncing = Syncing::kNone; };
  options.flags["--punctual"] = [&] { command.idling = Idling::kStayAwake; };
  options.flags["--foreground"] = [&] { command.stay = Stay::kForeground; };
  options.values["--machine"] = into(command.machine);
  options.values["--record"] = into(command.record);
  options.values["--clients"] = into(command.clients, {1, kClientsMax});
  options.values["--threads"] = into(command.threads, {1, kThreadsMax});
  const auto others = take(words, options);
  if (!others) return failure(others.error());
  if (others->size() != 2) return wants("mount needs BACKING and MOUNT_POINT");
  command.backing = others->at(0);
  command.mount_point = others->at(1);
  return command;
}

Result<Command> parse_unmount(std::span<char* const> words) {
  UnmountCommand command;
  Options options;
  options.flags["--lazy"] = [&] { command.how = Unmounting::kLazy; };
  const auto others = take(words, options);
  if (!others) return failure(others.error());
  if (others->size() != 1) return wants("unmount needs MOUNT_POINT");
  command.mount_point = others->at(0);
  return command;
}

Result<Command> parse_record_info(std::span<char* const> words) {
  const auto others = take(words, {});
  if (!others) return failure(others.error());
  if (others->size() != 1) return wants("record-info needs RECORD");
  return RecordInfoCommand{others->at(0)};
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
  const auto others = take(words, options);
  if (!others) return failure(others.error());
  if (others->size() != 2) return wants("replay needs RECORD and FOLDER");
  command.record = others->at(0);
  command.folder = others->at(1);
  return command;
}

}  // namespace

Result<Command> parse_command(std::span<char* const> words) {
  if (words.empty()) return wants("name a command; --help has them");
  const std::string name = words.front();
  const auto rest = words.subspan(1);
  if (name == "--help") return HelpCommand{};
  if (name == "mount") return parse_mount(rest);
  if (name == "unmount") return parse_unmount(rest);
  if (name == "record-info") return parse_record_info(rest);
  if (name == "replay") return parse_replay(rest);
  return wants("unknown command " + name + "; --help has them");
}

}  // namespace forebay::emufs
