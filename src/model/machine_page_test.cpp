// SPDX-License-Identifier: Apache-2.0
// The page of machine files compared with the code: its example, and range and default of every
// key.
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine.hpp"
#include "model/machine_fields.hpp"
#include "model/machine_text.hpp"

namespace forebay::model {
namespace {

using ::testing::HasSubstr;

std::string page() {
  std::ifstream file(FOREBAY_SOURCE_DIR "/docs/formats/machine.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MachinePage, example_is_read_as_documented) {
  const std::string text = page();
  const std::size_t begin = text.find("```toml\n") + 8;
  const auto read = parse_machine(text.substr(begin, text.find("```", begin) - begin), "page");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  const Machine& machine = *read;
  EXPECT_EQ(machine.name, "lustre-small");
  EXPECT_EQ(machine.client.count, 4U);
  EXPECT_EQ(machine.server_count(), 4U);
  EXPECT_EQ(machine.layout.stripe_count, 4U);
  EXPECT_EQ(machine.metadata.create_us, 500);
  EXPECT_EQ(machine.locks, (Locks{.unit = LockUnit::kObject, .change_us = 1000}));
  EXPECT_THAT(machine.source_of("servers.0.latency_us").value_or(""), HasSubstr("7200 rpm"));
}

/// The text between the first two of these marks.
std::string between(const std::string& text, char open, char close) {
  const std::size_t begin = text.find_first_not_of(open, text.find(open));
  return text.substr(begin, text.find(close, begin) - begin);
}

/// The cells of a table row, without spaces and quotes.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream rest(row);
  for (std::string cell; std::getline(rest, cell, '|');) {
    std::erase(cell, '`');
    const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
    cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
  }
  return cells;
}

/// Range and default of a key in the page.
struct DocumentedField {
  std::string range;
  std::string fallback;

  friend bool operator==(const DocumentedField&, const DocumentedField&) = default;
  friend std::ostream& operator<<(std::ostream& out, const DocumentedField& documented) {
    return out << documented.range << ", by default " << documented.fallback;
  }
};

using Keys = std::map<std::string, DocumentedField>;

Keys documented_keys() {
  Keys keys;
  std::string table;
  std::string above;
  std::istringstream lines(page());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("`[")) table = between(line, '[', ']') + ".";
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.at(2) != "as above") above = cells.at(2);
    keys[table + cells.at(1)] = {above, cells.at(3)};
  }
  return keys;
}

/// A visitor of machine_fields.hpp that records what the page should contain.
class FieldDocumenter {
 public:
  FieldDocumenter(std::string table, Keys& keys) : table_(std::move(table)), keys_(keys) {}

  void count(std::string_view key,
             std::uint32_t value,
             Range<std::uint64_t> range,
             FieldPresence field_presence) {
    const std::string max = key == "stripe_count" ? "servers" : std::to_string(range.max);
    add(key, std::to_string(range.min) + " … " + max, std::to_string(value), field_presence);
  }
  void flag(std::string_view key, const bool& value) {
    add(key, "boolean", value ? "true" : "false");
  }
  void size(std::string_view key, std::uint64_t value, Range<std::uint64_t> range, SizeRule rule) {
    const std::string suffix = rule == SizeRule::kPowerOfTwo ? ", power of two" : "";
    const std::string between = size_text(range.min) + " … " + size_text(range.max);
    add(key, between + suffix, size_text(value));
  }
  void real(std::string_view key,
            double value,
            RealRule rule,
            FieldPresence field_presence = FieldPresence::kOptional) {
    static_assert(kMicrosecondsRange.max == 1e7);
    static_assert(kMegabytesPerSecondMin == 0.001);
    static_assert(kMegabytesPerSecondRange.max == 1e9);
    static_assert(kPowerRange.max == 64);
    const bool is_time = rule == RealRule::kMicroseconds;
    const bool is_power = rule == RealRule::kPower;
    const std::string fallback = has_fallback_ ? std::string(key.substr(6)) : number_text(value);
    const char* const rate_or_power = is_power ? "0, 1 … 64" : "0, 0.001 … 10⁹";
    add(key, is_time ? "0 … 10⁷" : rate_or_power, fallback, field_presence);
    has_fallback_ = false;
  }
  void keyword(std::string_view key, const std::optional<std::uint32_t>&) {
    add(key, "\"rotate\" or 0 … servers − 1", "\"rotate\"");
  }
  void keyword(std::string_view key, NameSpread) { add(key, "\"folder\", \"file\"", "\"folder\""); }
  void keyword(std::string_view key, const Locks&) {
    const std::string between =
        size_text(kLockBytesRange.min) + " … " + size_text(kLockBytesRange.max);
    add(key, "\"none\", \"stripe\", \"object\", \"file\", or " + between + ", power of two",
        "\"none\"");
  }
  void default_to(double, double) { has_fallback_ = true; }

 private:
  void add(std::string_view key,
           std::string range,
           std::string fallback,
           FieldPresence field_presence = FieldPresence::kOptional) {
    if (field_presence == FieldPresence::kRequired) fallback = "–";
    keys_[table_ + "." + std::string(key)] = {std::move(range), std::move(fallback)};
  }
  std::string table_;
  Keys& keys_;
  bool has_fallback_ = false;  ///< the default of the next number is another key: without "write_"
};

template <class Table>
void document_fields(const char* table,
                     void (*visit_fields)(FieldDocumenter&, Table&),
                     Keys& keys) {
  Table defaults;
  FieldDocumenter documenter(table, keys);
  visit_fields(documenter, defaults);
}

TEST(MachinePage, has_every_key_with_its_range_and_default) {
  Keys known;
  document_fields<Clients>("client", visit_client, known);
  document_fields<DefaultLayout>("layout", visit_layout, known);
  document_fields<ServerGroup>("servers", visit_servers, known);
  document_fields<MetadataServers>("metadata", visit_metadata, known);
  document_fields<Locks>("locks", visit_locks, known);
  document_fields<Network>("network", visit_network, known);
  document_fields<IoNodes>("io_nodes", visit_io_nodes, known);
  document_fields<Sharing>("sharing", visit_sharing, known);
  document_fields<StorageLimits>("storage", visit_storage, known);
  Keys documented = documented_keys();
  EXPECT_EQ(documented.erase("format") + documented.erase("name") + documented.erase("about"), 3U);
  for (const auto& [key, range_and_default] : known) {
    EXPECT_EQ(documented[key], range_and_default) << key;
    documented.erase(key);
  }
  for (const auto& [key, range_and_default] : documented)
    ADD_FAILURE() << key << " is on the page but not in the code";
}

}  // namespace
}  // namespace forebay::model
