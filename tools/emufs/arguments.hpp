// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-emufs as values.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "tools/emufs/file_system.hpp"
#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

enum class Stay : std::uint8_t { kBackground, kForeground };

struct MountCommand {
  std::string backing;
  std::string mount_point;
  std::string machine = "local";
  std::uint32_t clients = 1;
  unsigned threads = 8;
  Delays delays = Delays::kKept;
  Syncing syncing = Syncing::kKept;
  Idling idling = Idling::kHalt;
  Stay stay = Stay::kBackground;
  std::string record;
};

struct UnmountCommand {
  std::string mount_point;
  Unmounting how = Unmounting::kWhenFree;
};

struct RecordInfoCommand {
  std::string record;
};

enum class Unsynced : std::uint8_t { kAll, kNone, kRandom };

struct ReplayCommand {
  std::string record;
  std::string folder;
  std::uint64_t cut = UINT64_MAX;  ///< records that there were before the power went
  Unsynced unsynced = Unsynced::kAll;
  std::uint64_t seed = 1;
};

struct HelpCommand {};

using Command =
    std::variant<HelpCommand, MountCommand, UnmountCommand, RecordInfoCommand, ReplayCommand>;

/// What the words after the program's name ask for. The Error's cause is the complaint.
Result<Command> parse_command(std::span<char* const> words);

/// What there is to ask for.
extern const char* const kUsage;

}  // namespace forebay::emufs
