// SPDX-License-Identifier: Apache-2.0
// Machine: a parallel storage and the nodes that use it, as docs/formats/machine.md defines them.
// Plain values. emufs, the model and the simulator share one parser, so predictions and
// measurements use the same machine.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"

namespace forebay::model {

/// The nodes that use the storage; all are equal.
struct Clients {
  std::uint32_t count = 1;
  bool page_cache = true;
  std::uint64_t read_ahead_bytes = 128_KiB;
  std::uint64_t request_bytes_max = 1_MiB;
  double link_latency_us = 0;
  double link_bandwidth_mb_per_s = 0;  ///< of one client, in each direction; 0: not limited
  std::uint32_t cores = 1;             ///< ranks that one client holds
  std::uint64_t memory_bytes = 0;      ///< of one client; 0: unknown
  double copy_mb_per_s = 4000;         ///< of one rank: to staging memory or to another rank

  friend bool operator==(const Clients&, const Clients&) = default;
};

/// The network between clients. Absent in the file: the links of the clients.
struct Network {
  double latency_us = 0;
  double bandwidth_mb_per_s = 0;  ///< of one client, in each direction; 0: not limited

  friend bool operator==(const Network&, const Network&) = default;
};

/// Nodes that pass the requests of clients on to the servers.
struct IoNodes {
  std::uint32_t count = 0;        ///< 0: clients reach the servers themselves
  double latency_us = 0;          ///< added to each request
  double bandwidth_mb_per_s = 0;  ///< of one I/O node; 0: not limited

  friend bool operator==(const IoNodes&, const IoNodes&) = default;
};

/// Limits of all servers together.
struct StorageLimits {
  double read_mb_per_s = 0;  ///< 0: the sum of the servers
  double write_mb_per_s = 0;
  /// How the stages of a step overlap: its time is the p-norm of their times. 0: the slowest stage.
  double stage_power = 0;

  friend bool operator==(const StorageLimits&, const StorageLimits&) = default;
};

/// Limits of files that several clients write; 0: none.
struct Sharing {
  double writer_mb_per_s = 0;  ///< of one writer of a shared file
  double file_mb_per_s = 0;    ///< of one shared file

  friend bool operator==(const Sharing&, const Sharing&) = default;
};

/// How new files are striped.
struct DefaultLayout {
  std::uint64_t stripe_bytes = 1_MiB;
  std::uint32_t stripe_count = 0;  ///< servers of a file; 0: all
  /// none: each new file begins one server further.
  std::optional<std::uint32_t> first_server = {};

  friend bool operator==(const DefaultLayout&, const DefaultLayout&) = default;
};

/// Data servers of one kind.
struct ServerGroup {
  std::uint32_t count = 1;
  double latency_us = 0;
  std::uint32_t concurrency = 1;
  double bandwidth_mb_per_s = 0;  ///< 10^6 bytes per second of one server; 0: not limited
  bool latency_overlaps = true;
  double write_latency_us = 0;
  double write_bandwidth_mb_per_s = 0;
  double sync_us = 0;  ///< of a commit

  friend bool operator==(const ServerGroup&, const ServerGroup&) = default;
};

/// Which names one metadata server has.
enum class NameSpread : std::uint8_t { kDirectory, kFile };

struct MetadataServers {
  std::uint32_t servers = 1;
  std::uint32_t concurrency = 1;
  NameSpread spread = NameSpread::kDirectory;
  double create_us = 0;
  double open_us = 0;
  double stat_us = 0;
  double unlink_us = 0;
  double sync_us = 0;  ///< of a directory

  friend bool operator==(const MetadataServers&, const MetadataServers&) = default;
};

enum class LockUnit : std::uint8_t { kNone, kStripe, kObject, kFile, kBytes };

struct Locks {
  LockUnit unit = LockUnit::kNone;
  std::uint64_t unit_bytes = 0;  ///< of kBytes; 0 otherwise
  double change_us = 0;

  friend bool operator==(const Locks&, const Locks&) = default;
};

struct Machine {
  std::string name;
  std::string about;
  Clients client;
  std::optional<Network> network;  ///< absent: the links of the clients
  IoNodes io_nodes;
  DefaultLayout layout;
  std::vector<ServerGroup> servers;  ///< never empty after parsing
  MetadataServers metadata;          ///< absent in the file: operations on names cost nothing
  Locks locks;
  Sharing sharing;
  StorageLimits storage;
  /// Sources of values, by the key of a value or of a table: "servers.latency_us", "client".
  std::map<std::string, std::string> sources;

  std::uint32_t server_count() const noexcept;
  /// The group of server `index`, which is below server_count().
  const ServerGroup& server(std::uint32_t index) const noexcept;
  /// I/O nodes that a job on this many clients reaches: its share of them, rounded up.
  std::uint32_t io_nodes_of(std::uint64_t clients) const noexcept;
  /// The source that the file gives for the value `key`, by the most specific key:
  /// "servers.1.latency_us", else "servers.latency_us", else "servers.1", else "servers".
  std::optional<std::string> source_of(std::string_view key) const;

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// Limit of the servers of a machine, for data and for metadata.
inline constexpr std::uint32_t kServersMax = 65'536;

/// Parses a machine. Errors name `path`, the line, and what to write instead.
Result<Machine> parse_machine(std::string_view text, const std::string& path);

/// The file of a machine. A string that contains '/' or ends in ".toml" is a path, and need not
/// exist. Any other is a name: the file of the first directory that has it.
Result<std::filesystem::path> find_machine(const std::string& name_or_path,
                                           std::span<const std::filesystem::path> directories);

/// The machine in the file that find_machine() finds.
Result<Machine> load_machine(const std::string& name_or_path,
                             std::span<const std::filesystem::path> directories);

/// The names that load_machine() finds in `directories`, sorted, without duplicates.
std::vector<std::string> machine_names(std::span<const std::filesystem::path> directories);

/// Directories of machine files, in order: those of FOREBAY_MACHINES, separated by ':';
/// user_machine_directory(); the one installed or built beside this library.
std::vector<std::filesystem::path> machine_directories(const Environment& environment);

/// Hash of all numbers of a machine as 16 hexadecimal digits, equal for machines that differ only
/// in name, description and sources. docs/formats/tuning-profile.md defines it.
std::string numbers_hash(const Machine& machine);

/// The machine file of a machine: parse_machine() of it returns an equal machine.
std::string to_toml(const Machine& machine);

/// A value of a machine as text.
struct MachineValue {
  std::string key;    ///< as in the page: "client.count"; for server groups: "servers.0.count"
  std::string value;  ///< as TOML
  std::optional<std::string> source;
};

/// All values that a machine file can set, except name and about, in the order of the page; absent
/// values have their default. Tables that only describe
/// [network], [io_nodes], [sharing] or [storage] are left out if they change nothing.
std::vector<MachineValue> describe(const Machine& machine);

}  // namespace forebay::model
