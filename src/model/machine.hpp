// SPDX-License-Identifier: Apache-2.0
// A parallel storage and the nodes that use it, as docs/formats/machine.md describes them: plain
// values. One parser for emufs, the model and the simulator, so that what one says can be measured
// by the other.
#pragma once

#include <forebay/config.hpp>
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

namespace forebay::model {

/// A node that uses the storage; all are equal.
struct Clients {
  std::uint32_t count = 1;
  bool page_cache = true;
  std::uint64_t read_ahead_bytes = 128_KiB;
  std::uint64_t request_bytes_max = 1_MiB;
  double link_latency_us = 0;
  double link_bandwidth_mb_per_s = 0;  ///< of one client, in each direction; 0: not limited

  friend bool operator==(const Clients&, const Clients&) = default;
};

/// How a new file is cut.
struct DefaultLayout {
  std::uint64_t stripe_bytes = 1_MiB;
  std::uint32_t stripe_count = 0;                  ///< servers that a file lies on; 0: all
  std::optional<std::uint32_t> first_server = {};  ///< none: each new file one server further

  friend bool operator==(const DefaultLayout&, const DefaultLayout&) = default;
};

/// Data servers of one kind.
struct ServerGroup {
  std::uint32_t count = 1;
  double latency_us = 0;
  std::uint32_t concurrency = 1;
  double bandwidth_mb_per_s = 0;  ///< 10^6 bytes a second of one server; 0: not limited
  bool latency_overlaps = true;
  double write_latency_us = 0;
  double write_bandwidth_mb_per_s = 0;

  friend bool operator==(const ServerGroup&, const ServerGroup&) = default;
};

/// Which names belong to one metadata server.
enum class NameSpread : std::uint8_t { kFolder, kFile };

struct MetadataServers {
  std::uint32_t servers = 1;
  std::uint32_t concurrency = 1;
  NameSpread spread = NameSpread::kFolder;
  double create_us = 0;
  double open_us = 0;
  double stat_us = 0;
  double unlink_us = 0;

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
  DefaultLayout layout;
  std::vector<ServerGroup> servers;  ///< never empty after parsing
  MetadataServers metadata;          ///< absent in the file: operations on names cost nothing
  Locks locks;
  /// Where numbers come from, by the key of a number or of a table: "servers.latency_us", "client".
  std::map<std::string, std::string> sources;

  std::uint32_t server_count() const noexcept;
  /// The group that server `index` (below server_count()) belongs to.
  const ServerGroup& server(std::uint32_t index) const noexcept;
  /// What the file says about where the number `key` comes from, the nearest word of it:
  /// "servers.1.latency_us", else "servers.latency_us", else "servers.1", else "servers".
  std::optional<std::string> source_of(std::string_view key) const;

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// Servers, data or metadata, that a machine may have.
inline constexpr std::uint32_t kServersMax = 65'536;

/// The machine that a text describes. `path` is what errors call it; they name the line, and what
/// to write instead.
Result<Machine> parse_machine(std::string_view text, const std::string& path);

/// The file of a machine by its path, which need not exist, or by the name of one in `folders`, the
/// first that has it. A word with '/' in it, or that ends in ".toml", is a path.
Result<std::filesystem::path> find_machine(const std::string& name_or_path,
                                           std::span<const std::filesystem::path> folders);

/// The machine in the file that find_machine() finds.
Result<Machine> load_machine(const std::string& name_or_path,
                             std::span<const std::filesystem::path> folders);

/// The names that load_machine() knows in `folders`, sorted; each once.
std::vector<std::string> machine_names(std::span<const std::filesystem::path> folders);

/// Where machine files lie: the folders that FOREBAY_MACHINES names, separated by ':', after them
/// user_machine_folder(), and last the one that was installed, or built, beside this library.
std::vector<std::filesystem::path> machine_folders(const Environment& environment);

/// The machine file of a machine: parse_machine() of it gives an equal machine.
std::string to_toml(const Machine& machine);

/// A number, flag or word of a machine as text.
struct MachineValue {
  std::string key;    ///< as in the page: "client.count"; of groups of servers: "servers.0.count"
  std::string value;  ///< as TOML
  std::optional<std::string> source;
};

/// Every value that a machine file can set, except name and about, in the order of the page;
/// those that a file leaves out have their default.
std::vector<MachineValue> describe(const Machine& machine);

}  // namespace forebay::model
