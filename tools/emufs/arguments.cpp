// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/arguments.hpp"

namespace forebay::emufs {

using command::add_flag;
using command::add_number;
using command::add_path;
using command::add_text;

namespace {
constexpr command::Bounds kClients{1, 1024};
constexpr command::Bounds kThreads{1, 256};
constexpr command::Bounds kAttributeCache{0, 3600};
}  // namespace

void add_mount(CLI::App& app, MountCommand& mount) {
  add_path(app, "BACKING", mount.backing, "Directory that holds the files");
  add_path(app, "MOUNT_POINT", mount.mount_point, "Empty directory");
  add_text(app, "--machine", "NAME|FILE", mount.machine, "Storage to emulate [local]");
  add_number(app, "--clients", mount.clients, kClients, "Nodes to mount");
  add_number(app, "--threads", mount.threads, kThreads, "Threads for requests");
  add_flag(app, "--no-delay", mount.delay_mode, DelayMode::kDisabled, "Reply at once");
  add_flag(app, "--no-sync", mount.sync_mode, SyncMode::kDisabled, "Do not pass fsync to BACKING");
  add_flag(app, "--punctual", mount.idle_policy, IdlePolicy::kStayActive,
           "Do not let processors halt while requests wait");
  add_number(app, "--attribute-cache", mount.attribute_cache_s, kAttributeCache,
             "Seconds for which clients keep attributes of files");
  add_text(app, "--record", "FILE", mount.record, "Record all changes in FILE");
  add_flag(app, "--foreground", mount.run_mode, RunMode::kForeground,
           "Run in the foreground; end with the mount");
}

void add_replay(CLI::App& app, ReplayCommand& replay) {
  add_path(app, "RECORD", replay.record, "The recording");
  add_path(app, "DIRECTORY", replay.directory, "Copy of the directory when recording began");
  add_number(app, "--cut", replay.cut, {}, "Cut the power after record N [the last]")
      ->default_str("");
  command::add_choice<Unsynced>(
      app, "--unsynced", replay.unsynced,
      {{"all", Unsynced::kAll}, {"none", Unsynced::kNone}, {"random", Unsynced::kRandom}},
      "Unsynced changes that survive [all]");
  add_number(app, "--seed", replay.seed, {}, "Seed of the random choice");
}

}  // namespace forebay::emufs
