// SPDX-License-Identifier: Apache-2.0
// Command line of forebay-emufs, parsed into values.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "tools/emufs/file_system.hpp"
#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

enum class RunMode : std::uint8_t { kBackground, kForeground };

struct MountCommand {
  std::string backing;
  std::string mount_point;
  std::string machine = "local";
  std::uint32_t clients = 1;
  unsigned threads = 8;
  DelayMode delay_mode = DelayMode::kEnabled;
  SyncMode sync_mode = SyncMode::kEnabled;
  IdlePolicy idle_policy = IdlePolicy::kHalt;
  RunMode run_mode = RunMode::kBackground;
  std::string record;
};

struct UnmountCommand {
  std::string mount_point;
  UnmountMode mode = UnmountMode::kIfUnused;
};

struct RecordInfoCommand {
  std::string record;
};

enum class Unsynced : std::uint8_t { kAll, kNone, kRandom };

struct ReplayCommand {
  std::string record;
  std::string directory;
  std::uint64_t cut = UINT64_MAX;  ///< replay only the first `cut` records
  Unsynced unsynced = Unsynced::kAll;
  std::uint64_t seed = 1;
};

struct HelpCommand {};

using Command =
    std::variant<HelpCommand, MountCommand, UnmountCommand, RecordInfoCommand, ReplayCommand>;

/// Parses the words after the program's name. The Error's `cause` is the message for the user.
Result<Command> parse_command(std::span<char* const> words);

/// Usage text of the program.
extern const char* const kUsage;

}  // namespace forebay::emufs
