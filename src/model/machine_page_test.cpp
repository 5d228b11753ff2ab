// SPDX-License-Identifier: Apache-2.0
// The page of machine files held against the code: its example, and of every key the range and the
// default.
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

TEST(Page, has_an_example_that_is_read_as_it_says) {
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

/// What stands between the first two of these marks.
std::string between(const std::string& text, char open, char close) {
  const std::size_t begin = text.find_first_not_of(open, text.find(open));
  return text.substr(begin, text.find(close, begin) - begin);
}

/// The cells of a row of a table, without blanks and quotes.
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

/// What the page says of a key: its range and its default.
struct ToldByPage {
  std::string range;
  std::string fallback;

  friend bool operator==(const ToldByPage&, const ToldByPage&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ToldByPage& told) {
    return out << told.range << ", by default " << told.fallback;
  }
};

using Keys = std::map<std::string, ToldByPage>;

Keys keys_of_the_page() {
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

/// A visitor of machine_fields.hpp that writes down what the page should say.
class Teller {
 public:
  Teller(std::string table, Keys& keys) : table_(std::move(table)), keys_(keys) {}

  void count(std::string_view key,
             std::uint32_t value,
             Range<std::uint64_t> range,
             Presence presence) {
    // The only count that may be 0 is one of servers that there are.
    const std::string max = range.min == 0 ? "servers" : std::to_string(range.max);
    add(key, std::to_string(range.min) + " … " + max, std::to_string(value), presence);
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
            Presence presence = Presence::kOptional) {
    static_assert(kMicrosecondsRange.max == 1e7);
    static_assert(kMegabytesPerSecondMin == 0.001);
    static_assert(kMegabytesPerSecondRange.max == 1e9);
    const bool is_time = rule == RealRule::kMicroseconds;
    const std::string fallback = follows_ ? std::string(key.substr(6)) : text_of(value);
    add(key, is_time ? "0 … 10⁷" : "0, 0.001 … 10⁹", fallback, presence);
    follows_ = false;
  }
  void word(std::string_view key, const std::optional<std::uint32_t>&) {
    add(key, "\"rotate\" or 0 … servers − 1", "\"rotate\"");
  }
  void word(std::string_view key, NameSpread) { add(key, "\"folder\", \"file\"", "\"folder\""); }
  void word(std::string_view key, const Locks&) {
    const std::string between = size_text(kLockBytes.min) + " … " + size_text(kLockBytes.max);
    add(key, "\"none\", \"stripe\", \"object\", \"file\", or " + between + ", power of two",
        "\"none\"");
  }
  void follow(double, double) { follows_ = true; }

 private:
  void add(std::string_view key,
           std::string range,
           std::string fallback,
           Presence presence = Presence::kOptional) {
    if (presence == Presence::kRequired) fallback = "–";
    keys_[table_ + "." + std::string(key)] = {std::move(range), std::move(fallback)};
  }
  std::string table_;
  Keys& keys_;
  bool follows_ = false;  ///< the default of the next number is another key: "write_" and its name
};

template <class Table>
void tell(const char* table, void (*visit_fields)(Teller&, Table&), Keys& keys) {
  Table defaults;
  Teller teller(table, keys);
  visit_fields(teller, defaults);
}

TEST(Page, has_every_key_with_its_range_and_default) {
  Keys known;
  tell<Clients>("client", visit_client, known);
  tell<DefaultLayout>("layout", visit_layout, known);
  tell<ServerGroup>("servers", visit_servers, known);
  tell<MetadataServers>("metadata", visit_metadata, known);
  tell<Locks>("locks", visit_locks, known);
  Keys told = keys_of_the_page();
  EXPECT_EQ(told.erase("format") + told.erase("name") + told.erase("about"), 3U);
  for (const auto& [key, range_and_default] : known) {
    EXPECT_EQ(told[key], range_and_default) << key;
    told.erase(key);
  }
  for (const auto& [key, range_and_default] : told)
    ADD_FAILURE() << key << " is on the page and not known";
}

}  // namespace
}  // namespace forebay::model
