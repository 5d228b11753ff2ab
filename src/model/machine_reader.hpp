// SPDX-License-Identifier: Apache-2.0
// TableReader: reads one table of a TOML file, such as a machine: finds keys, checks type and
// range, and reports errors by line. Only the first error of a file is reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "model/machine_fields.hpp"

namespace forebay::model {

/// The first error of a file.
class ParseErrors {
 public:
  explicit ParseErrors(std::string path, std::string operation = "read machine")
      : path_(std::move(path)), operation_(std::move(operation)) {}

  void add(const toml::source_region& place, const std::string& what);
  const std::optional<Error>& first() const noexcept { return first_; }

 private:
  std::string path_;
  std::string operation_;
  std::optional<Error> first_;
};

/// Parses a file whose keys have a bounded depth. Fails with kInvalidArgument; the Error names path
/// and line.
Result<toml::table> parse_toml(std::string_view text,
                               const std::string& path,
                               std::string_view operation);

/// Reports a file whose key `format` is not `format`.
void check_format(const toml::table& root, std::int64_t format, ParseErrors& errors);

/// The tables [[name]] of a file, as `read_one(const toml::table&, errors)` returns them. Other
/// types are reported.
template <class ReadOne>
auto read_tables(const toml::table& root,
                 const std::string& name,
                 ReadOne read_one,
                 ParseErrors& errors) {
  std::vector<std::invoke_result_t<ReadOne, const toml::table&, ParseErrors&>> values;
  const toml::node* const node = root.get(name);
  if (node == nullptr) return values;
  const auto* const entries = node->as_array();
  for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
    const auto* const table = entries->get(i)->as_table();
    if (table != nullptr) values.push_back(read_one(*table, errors));
  }
  const bool are_tables = entries != nullptr && values.size() == entries->size();
  if (!are_tables)
    errors.add(node->source(),
               name + " is not an array of tables: write [[" + name + "]] for each");
  return values;
}

/// Reports the keys of `table` that are not in `known`. `prefix` is "client." or empty.
void reject_unknown_keys(const toml::table& table,
                         std::string_view prefix,
                         const std::vector<std::string>& known,
                         ParseErrors& errors);

/// A visitor of machine_fields.hpp that stores the values of the table.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string prefix, ParseErrors& errors)
      : table_(table), prefix_(std::move(prefix)), errors_(errors) {}

  void count(std::string_view key,
             std::uint32_t& value,
             Range<std::uint64_t> range,
             FieldPresence field_presence);
  void count(std::string_view key,
             std::uint64_t& value,
             Range<std::uint64_t> range,
             FieldPresence field_presence);
  void flag(std::string_view key, bool& value);
  void text(std::string_view key,
            std::string& value,
            FieldPresence field_presence = FieldPresence::kOptional);
  void size(std::string_view key, std::uint64_t& value, Range<std::uint64_t> range, SizeRule rule);
  void real(std::string_view key,
            double& value,
            RealRule rule,
            FieldPresence field_presence = FieldPresence::kOptional);
  void keyword(std::string_view key, std::optional<std::uint32_t>& first_server);
  void keyword(std::string_view key, NameSpread& spread);
  void keyword(std::string_view key, Locks& locks);
  /// The caller reads this key, which is optional.
  void other(std::string_view key) { known_.emplace_back(key); }
  /// Sets the default of the next value.
  void default_to(double& value, double fallback) { value = fallback; }

  /// Call it after the last field: reports keys that were not read.
  void finish() const { reject_unknown_keys(table_, prefix_, known_, errors_); }

 private:
  const toml::node* find(std::string_view key, FieldPresence field_presence);
  void add_error(const toml::node& node, std::string_view key, const std::string& what);
  std::optional<std::uint64_t> size_of(const toml::node& node, std::string_view key);
  void check_size(const toml::node& node,
                  std::string_view key,
                  std::uint64_t value,
                  Range<std::uint64_t> range);
  void check_power_of_two(const toml::node& node, std::string_view key, std::uint64_t value);

  const toml::table& table_;
  std::string prefix_;
  ParseErrors& errors_;
  std::vector<std::string> known_;
};

}  // namespace forebay::model
