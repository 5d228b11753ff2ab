// SPDX-License-Identifier: Apache-2.0
// The options of forebay-emufs as values.
#pragma once

#include <cstdint>
#include <string>

#include "command/cli.hpp"
#include "tools/emufs/file_system.hpp"
#include "tools/emufs/replay.hpp"

namespace forebay::emufs {

enum class RunMode : std::uint8_t { kBackground, kForeground };

struct MountCommand {
  std::string backing;
  std::string mount_point;
  std::string machine = "local";
  std::uint32_t clients = 1;
  unsigned threads = 8;
  std::uint64_t attribute_cache_s = 0;
  DelayMode delay_mode = DelayMode::kEnabled;
  SyncMode sync_mode = SyncMode::kEnabled;
  IdlePolicy idle_policy = IdlePolicy::kHalt;
  RunMode run_mode = RunMode::kBackground;
  std::string record;
};

void add_mount(CLI::App& app, MountCommand& mount);
void add_replay(CLI::App& app, ReplayCommand& replay);

}  // namespace forebay::emufs
