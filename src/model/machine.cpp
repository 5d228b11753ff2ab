// SPDX-License-Identifier: Apache-2.0
// From the text of a machine file to a Machine: the tables one by one, then what must fit together.
#include "model/machine.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <toml++/toml.h>

#include "base/assert.hpp"
#include "base/nearest.hpp"
#include "base/toml_nesting.hpp"
#include "model/machine_fields.hpp"
#include "model/machine_reader.hpp"
#include "model/machine_text.hpp"

namespace forebay::model {

namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::string_view kServers = "servers";

/// The tables and values of a file, and where complaints go.
struct File {
  const toml::table& root;
  Complaints& complaints;

  /// The table of this name; nothing, and a complaint, if the name means something else.
  const toml::table* table(std::string_view name) const {
    const toml::node* const node = root.get(name);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) {
      const std::string word(name);
      complaints.add(node->source(), word + " is no table: write [" + word + "]");
    }
    return node->as_table();
  }
};

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  });
}

void read_format(const File& file) {
  const toml::node* const node = file.root.get("format");
  if (node == nullptr) {
    return file.complaints.add(file.root.source(),
                               "format is missing: add \"format = 1\" at the top");
  }
  const auto* const number = node->as_integer();
  if (number != nullptr && number->get() == kFormat) return;
  file.complaints.add(node->source(), "this is no format that is known here: write \"format = 1\"");
}

void read_names(const File& file, Machine& machine) {
  const toml::node* const name = file.root.get("name");
  if (name == nullptr) {
    file.complaints.add(file.root.source(), "name is missing: add \"name = ...\" at the top");
  } else if (!is_name(name->value<std::string_view>().value_or(""))) {
    file.complaints.add(name->source(), "name must be lower case letters, digits and '-'");
  } else {
    machine.name = *name->value<std::string>();
  }
  const toml::node* const about = file.root.get("about");
  if (about == nullptr) return;
  if (!about->is_string()) file.complaints.add(about->source(), "about is no text");
  machine.about = about->value<std::string>().value_or("");
}

template <class Table>
using VisitFields = void (*)(TableReader&, Table&);

template <class Table>
void read_table(const File& file,
                std::string_view name,
                Table& values,
                VisitFields<Table> visit_fields) {
  const toml::table* const table = file.table(name);
  if (table == nullptr) return;
  TableReader reader(*table, std::string(name) + ".", file.complaints);
  visit_fields(reader, values);
  reader.finish();
}

void read_group(const toml::node& node, Complaints& complaints, ServerGroup& group) {
  if (!node.is_table()) {
    return complaints.add(node.source(), "this is no group of servers: write [[servers]]");
  }
  TableReader reader(*node.as_table(), "servers.", complaints);
  visit_servers(reader, group);
  reader.finish();
}

void read_groups(const File& file, Machine& machine) {
  const toml::node* const node = file.root.get(kServers);
  const toml::array* const groups = node == nullptr ? nullptr : node->as_array();
  if (groups == nullptr || groups->empty()) {
    const toml::source_region& place = node == nullptr ? file.root.source() : node->source();
    return file.complaints.add(place,
                               "there are no servers: add [[servers]] with latency_us, concurrency "
                               "and bandwidth_mb_per_s");
  }
  std::uint64_t count = 0;
  for (const toml::node& group : *groups) {
    read_group(group, file.complaints, machine.servers.emplace_back());
    count += machine.servers.back().count;
    if (count > kServersMax) {
      return file.complaints.add(group.source(),
                                 "these are " + std::to_string(count) +
                                     " servers with those before: at most 65536 are possible");
    }
  }
}

/// Where `key` of [layout] stands.
const toml::source_region& place_in_layout(const File& file, std::string_view key) {
  return file.root["layout"][key].node()->source();
}

void check_layout(const File& file, const Machine& machine) {
  const std::uint32_t servers = machine.server_count();
  const std::string there_are = ", and there are " + std::to_string(servers) + " servers";
  if (machine.layout.stripe_count > servers) {
    file.complaints.add(place_in_layout(file, "stripe_count"),
                        "layout.stripe_count is " + std::to_string(machine.layout.stripe_count) +
                            there_are + ": write 0 for all of them");
  }
  if (machine.layout.first_server.value_or(0) >= servers) {
    file.complaints.add(place_in_layout(file, "first_server"),
                        "layout.first_server is " + std::to_string(*machine.layout.first_server) +
                            there_are + ", numbered from 0: write \"rotate\", or less");
  }
}

/// All words that may stand in [sources].
std::vector<std::string> source_words(const Machine& machine) {
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
                  Complaints& complaints,
                  Machine& machine) {
  const std::vector<std::string> words = source_words(machine);
  for (const auto& [key, node] : table) {
    const std::string word = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      read_sources(*inner, word + ".", complaints, machine);
    } else if (std::ranges::find(words, word) == words.end()) {
      complaints.add(key.source(), "there is nothing that \"" + word +
                                       "\" could be the source of; the nearest key is \"" +
                                       nearest_word(word, words) + "\"");
    } else if (node.value<std::string_view>().value_or("").empty()) {
      complaints.add(key.source(), "the source of " + word + " is no text: write a sentence");
    } else {
      machine.sources[word] = *node.value<std::string>();
    }
  }
}

Machine read_machine(const File& file) {
  Machine machine;
  read_format(file);
  read_names(file, machine);
  read_table<Clients>(file, "client", machine.client, visit_client);
  read_table<DefaultLayout>(file, "layout", machine.layout, visit_layout);
  read_groups(file, machine);
  read_table<MetadataServers>(file, "metadata", machine.metadata, visit_metadata);
  read_table<Locks>(file, "locks", machine.locks, visit_locks);
  const toml::table* const sources = file.table("sources");
  if (sources != nullptr) read_sources(*sources, "", file.complaints, machine);
  reject_unknown_keys(
      file.root, "",
      {"format", "name", "about", "client", "layout", "servers", "metadata", "locks", "sources"},
      file.complaints);
  if (!file.complaints.first()) check_layout(file, machine);
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
  if (const Status flat = check_toml_nesting(text, "read machine", path); !flat)
    return failure(flat.error());
  Complaints complaints(path);
  try {
    const toml::table root = toml::parse(text);
    Machine machine = read_machine({root, complaints});
    if (complaints.first()) return failure(*complaints.first());
    return machine;
  } catch (const toml::parse_error& error) {
    complaints.add(error.source(), std::string(error.description()));
    return failure(*complaints.first());
  }
}

}  // namespace forebay::model
