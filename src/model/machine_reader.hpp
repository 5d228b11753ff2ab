// SPDX-License-Identifier: Apache-2.0
// Reads one table of a machine file: finds keys, holds them to type and range, and says in which
// line something is wrong. The first complaint of a file is the one that is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "model/machine_fields.hpp"

namespace forebay::model {

/// The first thing that is wrong with a file.
class Complaints {
 public:
  explicit Complaints(std::string path, std::string operation = "read machine")
      : path_(std::move(path)), operation_(std::move(operation)) {}

  void add(const toml::source_region& place, const std::string& what);
  const std::optional<Error>& first() const noexcept { return first_; }

 private:
  std::string path_;
  std::string operation_;
  std::optional<Error> first_;
};

/// Complains about the keys of `table` that are not in `known`. `prefix` is "client." or empty.
void reject_unknown_keys(const toml::table& table,
                         std::string_view prefix,
                         const std::vector<std::string>& known,
                         Complaints& complaints);

/// A visitor of machine_fields.hpp that fills in what the table holds.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string prefix, Complaints& complaints)
      : table_(table), prefix_(std::move(prefix)), complaints_(complaints) {}

  void count(std::string_view key,
             std::uint32_t& value,
             Range<std::uint64_t> range,
             Presence presence);
  void flag(std::string_view key, bool& value);
  void size(std::string_view key, std::uint64_t& value, Range<std::uint64_t> range, SizeRule rule);
  void real(std::string_view key,
            double& value,
            RealRule rule,
            Presence presence = Presence::kOptional);
  void word(std::string_view key, std::optional<std::uint32_t>& first_server);
  void word(std::string_view key, NameSpread& spread);
  void word(std::string_view key, Locks& locks);
  /// The default of what comes next.
  void follow(double& value, double leader) { value = leader; }

  /// After the last field: complains about keys that were not asked for.
  void finish() const { reject_unknown_keys(table_, prefix_, known_, complaints_); }

 private:
  const toml::node* find(std::string_view key, Presence presence);
  void complain(const toml::node& node, std::string_view key, const std::string& what);
  std::optional<std::uint64_t> size_of(const toml::node& node, std::string_view key);
  void check_size(const toml::node& node,
                  std::string_view key,
                  std::uint64_t value,
                  Range<std::uint64_t> range);
  void check_power_of_two(const toml::node& node, std::string_view key, std::uint64_t value);

  const toml::table& table_;
  std::string prefix_;
  Complaints& complaints_;
  std::vector<std::string> known_;
};

}  // namespace forebay::model
