// SPDX-License-Identifier: Apache-2.0
// Machines as text: a file that is read back as an equal machine, and the list of all values with
// their sources. Both list every key, including defaults.
#include "model/machine_text.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "base/fnv.hpp"
#include "model/machine_fields.hpp"

namespace forebay::model {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

/// A visitor of machine_fields.hpp that lists the values of fields.
class FieldLister {
 public:
  void count(std::string_view key, std::uint32_t value, Range<std::uint64_t>, FieldPresence) {
    add(key, std::to_string(value));
  }
  void flag(std::string_view key, const bool& value) { add(key, value ? "true" : "false"); }
  void size(std::string_view key, std::uint64_t value, Range<std::uint64_t>, SizeRule) {
    add(key, toml_string(size_text(value)));
  }
  void real(std::string_view key,
            double value,
            RealRule,
            FieldPresence = FieldPresence::kOptional) {
    add(key, number_text(value));
  }
  void keyword(std::string_view key, const std::optional<std::uint32_t>& first_server) {
    add(key, first_server ? std::to_string(*first_server) : toml_string("rotate"));
  }
  void keyword(std::string_view key, NameSpread spread) { add(key, toml_string(name_of(spread))); }
  void keyword(std::string_view key, const Locks& locks) {
    const bool has_size = locks.unit == LockUnit::kBytes;
    add(key,
        toml_string(has_size ? size_text(locks.unit_bytes) : std::string(name_of(locks.unit))));
  }
  void default_to(double, double) {}

  Values take() { return std::move(values_); }

 private:
  void add(std::string_view key, std::string value) { values_.emplace_back(key, std::move(value)); }
  Values values_;
};

template <class Table>
Values list(Table table, void (*visit_fields)(FieldLister&, Table&)) {
  FieldLister lister;
  visit_fields(lister, table);
  return lister.take();
}

/// A table of the file: its heading, its name in keys, its values.
struct ListedTable {
  std::string heading;
  std::string name;
  Values values;
};

std::vector<ListedTable> list_tables(const Machine& machine) {
  std::vector<ListedTable> tables;
  tables.push_back({"[client]", "client", list<Clients>(machine.client, visit_client)});
  if (machine.network)
    tables.push_back({"[network]", "network", list<Network>(*machine.network, visit_network)});
  if (machine.io_nodes != IoNodes{})
    tables.push_back({"[io_nodes]", "io_nodes", list<IoNodes>(machine.io_nodes, visit_io_nodes)});
  tables.push_back({"[layout]", "layout", list<DefaultLayout>(machine.layout, visit_layout)});
  for (std::size_t i = 0; i < machine.servers.size(); ++i) {
    tables.push_back({"[[servers]]", "servers." + std::to_string(i),
                      list<ServerGroup>(machine.servers[i], visit_servers)});
  }
  tables.push_back(
      {"[metadata]", "metadata", list<MetadataServers>(machine.metadata, visit_metadata)});
  tables.push_back({"[locks]", "locks", list<Locks>(machine.locks, visit_locks)});
  if (machine.sharing != Sharing{})
    tables.push_back({"[sharing]", "sharing", list<Sharing>(machine.sharing, visit_sharing)});
  if (machine.storage != StorageLimits{})
    tables.push_back({"[storage]", "storage", list<StorageLimits>(machine.storage, visit_storage)});
  return tables;
}

void append_line(std::string& text, std::string_view key, std::string_view value) {
  text.append(key).append(" = ").append(value).append("\n");
}

std::string escaped_control(unsigned char letter) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return std::string("\\u00") + kHex[letter >> 4U] + kHex[letter & 0xfU];
}

}  // namespace

std::string number_text(double number) {
  std::array<char, 64> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 3> kUnits{
      {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}}};
  for (const auto& [shift, unit] : kUnits) {
    const std::uint64_t whole = bytes >> shift;
    if (whole > 0 && whole << shift == bytes) return std::to_string(whole) + std::string(unit);
  }
  return std::to_string(bytes);
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') result += '\\';
    if (code < 0x20 || code == 0x7f) {
      result += escaped_control(code);
    } else {
      result += letter;
    }
  }
  return result + '"';
}

std::string_view name_of(NameSpread spread) noexcept {
  return spread == NameSpread::kDirectory ? "folder" : "file";
}

std::string_view name_of(LockUnit unit) noexcept {
  switch (unit) {
    case LockUnit::kNone:
      return "none";
    case LockUnit::kStripe:
      return "stripe";
    case LockUnit::kObject:
      return "object";
    case LockUnit::kFile:
      return "file";
    case LockUnit::kBytes:
      break;
  }
  return "bytes";
}

std::string to_toml(const Machine& machine) {
  std::string text = "format = 1\nname = " + toml_string(machine.name) + "\n";
  if (!machine.about.empty()) text += "about = " + toml_string(machine.about) + "\n";
  for (const ListedTable& table : list_tables(machine)) {
    text += "\n" + table.heading + "\n";
    for (const auto& [key, value] : table.values)
      append_line(text, key, value);
  }
  if (!machine.sources.empty()) text += "\n[sources]\n";
  for (const auto& [key, sentence] : machine.sources)
    append_line(text, toml_string(key), toml_string(sentence));
  return text;
}

std::string numbers_hash(const Machine& machine) {
  std::uint64_t hash = kFnv1aBasis;
  for (const MachineValue& one : describe(machine))
    for (const char letter : one.key + " = " + one.value + "\n")
      hash = fnv1a(hash, static_cast<unsigned char>(letter));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += kDigits[(hash >> shift) & 0xFU];
  return text;
}

std::vector<MachineValue> describe(const Machine& machine) {
  std::vector<MachineValue> values;
  for (const ListedTable& table : list_tables(machine)) {
    for (const auto& [name, value] : table.values) {
      const std::string key = table.name + "." + name;
      values.push_back({key, value, machine.source_of(key)});
    }
  }
  return values;
}

}  // namespace forebay::model
