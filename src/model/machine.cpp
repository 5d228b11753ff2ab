// SPDX-License-Identifier: Apache-2.0
// Converts the text of a machine file to a Machine: first each table, then checks across tables.
#include "model/machine.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <toml++/toml.h>

#include "base/assert.hpp"
#include "base/nearest.hpp"
#include "model/machine_fields.hpp"
#include "model/machine_reader.hpp"
#include "model/machine_text.hpp"

namespace forebay::model {

namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::string_view kServers = "servers";

/// The root table of a file, and its errors.
struct MachineDocument {
  const toml::table& root;
  ParseErrors& errors;

  /// The table of this name; null if absent, and an error as well if the name is not a table.
  const toml::table* table(std::string_view name) const {
    const toml::node* const node = root.get(name);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) {
      const std::string word(name);
      errors.add(node->source(), word + " is not a table: write [" + word + "]");
    }
    return node->as_table();
  }
};

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  });
}

void read_name_and_about(const MachineDocument& document, Machine& machine) {
  const toml::node* const name = document.root.get("name");
  if (name == nullptr) {
    document.errors.add(document.root.source(), "name is missing: add \"name = ...\" at the top");
  } else if (!is_name(name->value<std::string_view>().value_or(""))) {
    document.errors.add(name->source(), "name must be lower case letters, digits and '-'");
  } else {
    machine.name = *name->value<std::string>();
  }
  const toml::node* const about = document.root.get("about");
  if (about == nullptr) return;
  if (!about->is_string()) document.errors.add(about->source(), "about is not a string");
  machine.about = about->value<std::string>().value_or("");
}

template <class Table>
using VisitFields = void (*)(TableReader&, Table&);

template <class Table>
void read_table(const MachineDocument& document,
                std::string_view name,
                Table& values,
                VisitFields<Table> visit_fields) {
  const toml::table* const table = document.table(name);
  if (table == nullptr) return;
  TableReader reader(*table, std::string(name) + ".", document.errors);
  visit_fields(reader, values);
  reader.finish();
}

void read_group(const toml::node& node, ParseErrors& errors, ServerGroup& group) {
  if (!node.is_table()) {
    return errors.add(node.source(), "this is not a group of servers: write [[servers]]");
  }
  TableReader reader(*node.as_table(), "servers.", errors);
  visit_servers(reader, group);
  reader.finish();
}

void read_groups(const MachineDocument& document, Machine& machine) {
  const toml::node* const node = document.root.get(kServers);
  const toml::array* const groups = node == nullptr ? nullptr : node->as_array();
  if (groups == nullptr || groups->empty()) {
    const toml::source_region& place = node == nullptr ? document.root.source() : node->source();
    return document.errors.add(
        place,
        "no servers are defined: add [[servers]] with latency_us, concurrency "
        "and bandwidth_mb_per_s");
  }
  std::uint64_t count = 0;
  for (const toml::node& group : *groups) {
    read_group(group, document.errors, machine.servers.emplace_back());
    count += machine.servers.back().count;
    if (count > kServersMax) {
      return document.errors.add(group.source(),
                                 "there are " + std::to_string(count) +
                                     " servers up to this group; at most 65536 are allowed");
    }
  }
}

/// Location of `key` of [layout].
const toml::source_region& layout_source_region(const MachineDocument& document,
                                                std::string_view key) {
  return document.root["layout"][key].node()->source();
}

void check_layout(const MachineDocument& document, const Machine& machine) {
  const std::uint32_t servers = machine.server_count();
  const std::string server_count_text = ", and there are " + std::to_string(servers) + " servers";
  if (machine.layout.stripe_count > servers) {
    document.errors.add(layout_source_region(document, "stripe_count"),
                        "layout.stripe_count is " + std::to_string(machine.layout.stripe_count) +
                            server_count_text + ": write 0 for all of them");
  }
  if (machine.layout.first_server.value_or(0) >= servers) {
    document.errors.add(layout_source_region(document, "first_server"),
                        "layout.first_server is " + std::to_string(*machine.layout.first_server) +
                            server_count_text + ", numbered from 0: write \"rotate\", or less");
  }
}

/// All valid keys of [sources].
std::vector<std::string> source_keys(const Machine& machine) {
  std::vector<std::string> words;
  const auto add = [&words](std::string word) {
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  };
  for (const MachineValue& value : describe(machine)) {
    const std::size_t first_dot = value.key.find('.');
    const std::size_t last_dot = value.key.rfind('.');
    add(value.key.substr(0, first_dot));
    if (first_dot != last_dot) {
      add(value.key.substr(0, first_dot) + value.key.substr(last_dot));
      add(value.key.substr(0, last_dot));
    }
    add(value.key);
  }
  return words;
}

void read_sources(const toml::table& table,
                  const std::string& prefix,
                  ParseErrors& errors,
                  Machine& machine) {
  const std::vector<std::string> words = source_keys(machine);
  for (const auto& [key, node] : table) {
    const std::string word = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      read_sources(*inner, word + ".", errors, machine);
    } else if (std::ranges::find(words, word) == words.end()) {
      errors.add(key.source(),
                 "\"" + word + "\" is not a key or table of a machine file; the nearest key is \"" +
                     nearest_word(word, words) + "\"");
    } else if (node.value<std::string_view>().value_or("").empty()) {
      errors.add(key.source(), "the source of " + word + " is not a string: write a sentence");
    } else {
      machine.sources[word] = *node.value<std::string>();
    }
  }
}

Machine read_machine(const MachineDocument& document) {
  Machine machine;
  check_format(document.root, kFormat, document.errors);
  read_name_and_about(document, machine);
  read_table<Clients>(document, "client", machine.client, visit_client);
  if (document.root.contains("network"))
    read_table<Network>(document, "network", machine.network.emplace(), visit_network);
  read_table<IoNodes>(document, "io_nodes", machine.io_nodes, visit_io_nodes);
  read_table<DefaultLayout>(document, "layout", machine.layout, visit_layout);
  read_groups(document, machine);
  read_table<MetadataServers>(document, "metadata", machine.metadata, visit_metadata);
  read_table<Locks>(document, "locks", machine.locks, visit_locks);
  read_table<Sharing>(document, "sharing", machine.sharing, visit_sharing);
  read_table<StorageLimits>(document, "storage", machine.storage, visit_storage);
  const toml::table* const sources = document.table("sources");
  if (sources != nullptr) read_sources(*sources, "", document.errors, machine);
  reject_unknown_keys(document.root, "",
                      {"format", "name", "about", "client", "network", "io_nodes", "layout",
                       "servers", "metadata", "locks", "sharing", "storage", "sources"},
                      document.errors);
  if (!document.errors.first()) check_layout(document, machine);
  return machine;
}

}  // namespace

std::uint32_t Machine::server_count() const noexcept {
  std::uint32_t count = 0;
  for (const ServerGroup& group : servers)
    count += group.count;
  return count;
}

const ServerGroup& Machine::server(std::uint32_t index) const noexcept {
  FOREBAY_ASSERT(index < server_count());
  auto group = servers.begin();
  for (; index >= group->count; ++group)
    index -= group->count;
  return *group;
}

std::uint32_t Machine::io_nodes_of(std::uint64_t clients) const noexcept {
  const std::uint64_t share = (clients * io_nodes.count + client.count - 1) / client.count;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(share, io_nodes.count));
}

std::optional<std::string> Machine::source_of(std::string_view key) const {
  const std::size_t first_dot = std::min(key.find('.'), key.size());
  const std::size_t last_dot = std::min(key.rfind('.'), key.size());
  const std::string table(key.substr(0, first_dot));
  const std::string of_all_groups = table + std::string(key.substr(last_dot));
  const std::string of_the_group(key.substr(0, last_dot));
  for (const std::string& word : {std::string(key), of_all_groups, of_the_group, table}) {
    if (const auto found = sources.find(word); found != sources.end()) return found->second;
  }
  return std::nullopt;
}

Result<Machine> parse_machine(std::string_view text, const std::string& path) {
  const Result<toml::table> root = parse_toml(text, path, "read machine");
  if (!root) return failure(root.error());
  ParseErrors errors(path);
  Machine machine = read_machine({*root, errors});
  if (errors.first()) return failure(*errors.first());
  return machine;
}

}  // namespace forebay::model
