// SPDX-License-Identifier: Apache-2.0
// Reads the tables of machine files. Every error states what to write instead, because most users
// have not written the file.
#include "model/machine_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <utility>

#include "base/nearest.hpp"
#include "base/toml_nesting.hpp"
#include "model/machine_text.hpp"

namespace forebay::model {

namespace {

constexpr std::string_view kRotate = "rotate";

std::string between(std::uint64_t min, std::uint64_t max) {
  return "between " + std::to_string(min) + " and " + std::to_string(max);
}

struct RealLimits {
  Range<double> range;
  std::string_view allowed;
};
/// In the order of RealRule.
constexpr std::array kRealLimits = {
    RealLimits{kMicrosecondsRange, "a number between 0 and 10000000 (microseconds)"},
    RealLimits{kMegabytesPerSecondRange,
               "0 for no limit, or a number between 0.001 and 1000000000 (10^6 bytes a second)"},
    RealLimits{kShareRange, "a number between 0 and 1"},
    RealLimits{kPowerRange, "0 for the slowest stage alone, or a number between 1 and 64"},
    RealLimits{kSecondsRange, "a number above 0, at most 1000000000 (seconds)"},
    RealLimits{kRatioRange, "a number between 1 and 1000000"},
    RealLimits{kDeviationRange, "a number between 0 and 10"}};

}  // namespace

void ParseErrors::add(const toml::source_region& place, const std::string& what) {
  if (first_) return;
  const std::uint32_t line = std::max<std::uint32_t>(place.begin.line, 1);
  first_.emplace(ErrorDetails{.kind = ErrorClass::kInvalidArgument,
                              .operation = operation_,
                              .path = path_,
                              .cause = "line " + std::to_string(line) + ": " + what});
}

Result<toml::table> parse_toml(std::string_view text,
                               const std::string& path,
                               std::string_view operation) {
  if (const Status flat = check_toml_nesting(text, operation, path); !flat)
    return failure(flat.error());
  try {
    return toml::parse(text, std::string_view(path));
  } catch (const toml::parse_error& error) {
    ParseErrors errors(path, std::string(operation));
    errors.add(error.source(), std::string(error.description()));
    return failure(*errors.first());
  }
}

void check_format(const toml::table& root, std::int64_t format, ParseErrors& errors) {
  const std::string wanted = "\"format = " + std::to_string(format) + "\"";
  const toml::node* const node = root.get("format");
  if (node == nullptr)
    return errors.add(root.source(), "format is missing: add " + wanted + " at the top");
  const auto* const number = node->as_integer();
  if (number == nullptr || number->get() != format)
    errors.add(node->source(), "this format is unknown: write " + wanted);
}

void reject_unknown_keys(const toml::table& table,
                         std::string_view prefix,
                         const std::vector<std::string>& known,
                         ParseErrors& errors) {
  for (const auto& [key, node] : table) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    const std::string name(key.str());
    errors.add(key.source(), "there is no key \"" + std::string(prefix) + name +
                                 "\"; the nearest one is \"" + std::string(prefix) +
                                 nearest_word(name, known) + "\"");
  }
}

const toml::node* TableReader::find(std::string_view key, FieldPresence field_presence) {
  known_.emplace_back(key);
  const toml::node* const node = table_.get(key);
  if (node == nullptr && field_presence == FieldPresence::kRequired) {
    errors_.add(table_.source(), prefix_ + std::string(key) + " is missing: add it");
  }
  return node;
}

void TableReader::add_error(const toml::node& node, std::string_view key, const std::string& what) {
  errors_.add(node.source(), prefix_ + std::string(key) + " " + what);
}

void TableReader::count(std::string_view key,
                        std::uint32_t& value,
                        Range<std::uint64_t> range,
                        FieldPresence field_presence) {
  std::uint64_t given = value;
  count(key, given, range, field_presence);
  value = static_cast<std::uint32_t>(given);
}

void TableReader::count(std::string_view key,
                        std::uint64_t& value,
                        Range<std::uint64_t> range,
                        FieldPresence field_presence) {
  const toml::node* const node = find(key, field_presence);
  if (node == nullptr) return;
  const auto* const number = node->as_integer();
  const std::string allowed = "a whole number " + between(range.min, range.max);
  if (number == nullptr) return add_error(*node, key, "is not a whole number: write " + allowed);
  const std::int64_t given = number->get();
  if (std::cmp_less(given, range.min) || std::cmp_greater(given, range.max)) {
    return add_error(*node, key, "is " + std::to_string(given) + ": write " + allowed);
  }
  value = static_cast<std::uint64_t>(given);
}

void TableReader::flag(std::string_view key, bool& value) {
  const toml::node* const node = find(key, FieldPresence::kOptional);
  if (node == nullptr) return;
  const auto* const given = node->as_boolean();
  if (given == nullptr)
    return add_error(*node, key, "is neither true nor false: write one of them");
  value = given->get();
}

void TableReader::text(std::string_view key, std::string& value, FieldPresence field_presence) {
  const toml::node* const node = find(key, field_presence);
  if (node == nullptr) return;
  const auto* const given = node->as_string();
  if (given == nullptr) return add_error(*node, key, "is not a string");
  value = given->get();
}

std::optional<std::uint64_t> TableReader::size_of(const toml::node& node, std::string_view key) {
  if (const auto* number = node.as_integer(); number != nullptr && number->get() >= 0) {
    return static_cast<std::uint64_t>(number->get());
  }
  if (const auto* text = node.as_string()) {
    const Result<std::uint64_t> bytes = parse_size(text->get());
    if (bytes) return *bytes;
    add_error(node, key, "is not a size: " + bytes.error().cause());
    return std::nullopt;
  }
  add_error(node, key, "is not a size: write bytes, or text like \"1 MiB\"");
  return std::nullopt;
}

void TableReader::check_size(const toml::node& node,
                             std::string_view key,
                             std::uint64_t value,
                             Range<std::uint64_t> range) {
  if (value >= range.min && value <= range.max) return;
  add_error(node, key,
            "is " + size_text(value) + ": write a size between " + size_text(range.min) + " and " +
                size_text(range.max));
}

void TableReader::check_power_of_two(const toml::node& node,
                                     std::string_view key,
                                     std::uint64_t value) {
  if (std::has_single_bit(value)) return;
  const std::uint64_t nearest = std::bit_floor(value);
  add_error(node, key,
            "is " + size_text(value) + ", which is not a power of two: write " +
                toml_string(size_text(nearest)) + " or " + toml_string(size_text(2 * nearest)));
}

void TableReader::size(std::string_view key,
                       std::uint64_t& value,
                       Range<std::uint64_t> range,
                       SizeRule rule) {
  const toml::node* const node = find(key, FieldPresence::kOptional);
  if (node == nullptr) return;
  const std::optional<std::uint64_t> given = size_of(*node, key);
  if (!given) return;
  check_size(*node, key, *given, range);
  if (rule == SizeRule::kPowerOfTwo) check_power_of_two(*node, key, *given);
  value = *given;
}

void TableReader::real(std::string_view key,
                       double& value,
                       RealRule rule,
                       FieldPresence field_presence) {
  const toml::node* const node = find(key, field_presence);
  if (node == nullptr) return;
  const std::optional<double> given = node->is_number() ? node->value<double>() : std::nullopt;
  const auto& [range, allowed] = kRealLimits[static_cast<std::size_t>(rule)];
  if (!given) return add_error(*node, key, "is not a number: write " + std::string(allowed));
  const bool fits = *given >= range.min && *given <= range.max;
  const bool too_slow =
      rule == RealRule::kBandwidth && *given > 0 && *given < kMegabytesPerSecondMin;
  const bool is_no_norm = rule == RealRule::kPower && *given > 0 && *given < 1;
  if (!fits || too_slow || is_no_norm) {
    return add_error(*node, key, "is " + number_text(*given) + ": write " + std::string(allowed));
  }
  value = *given + 0.0;  // -0.0 becomes 0, so that equal machines have equal texts
}

void TableReader::keyword(std::string_view key, std::optional<std::uint32_t>& first_server) {
  const toml::node* const node = find(key, FieldPresence::kOptional);
  if (node == nullptr) return;
  const std::string allowed = "write \"rotate\", or the number of a server, from 0";
  if (const auto* text = node->as_string()) {
    if (text->get() != kRotate)
      add_error(*node, key, "is " + toml_string(text->get()) + ": " + allowed);
    first_server.reset();
    return;
  }
  const auto* const number = node->as_integer();
  if (number == nullptr) return add_error(*node, key, "is neither a word nor a number: " + allowed);
  const std::int64_t given = number->get();
  if (given < 0 || given >= kServersMax) {
    return add_error(*node, key, "is " + std::to_string(given) + ": " + allowed);
  }
  first_server = static_cast<std::uint32_t>(given);
}

void TableReader::keyword(std::string_view key, NameSpread& spread) {
  const toml::node* const node = find(key, FieldPresence::kOptional);
  if (node == nullptr) return;
  for (const NameSpread one : {NameSpread::kDirectory, NameSpread::kFile}) {
    if (node->value<std::string_view>() != name_of(one)) continue;
    spread = one;
    return;
  }
  add_error(*node, key, "is unknown: write \"folder\" or \"file\"");
}

void TableReader::keyword(std::string_view key, Locks& locks) {
  const toml::node* const node = find(key, FieldPresence::kOptional);
  if (node == nullptr) return;
  const auto text = node->value<std::string_view>().value_or("");
  if (node->is_string()) {
    for (const LockUnit one :
         {LockUnit::kNone, LockUnit::kStripe, LockUnit::kObject, LockUnit::kFile}) {
      if (text != name_of(one)) continue;
      locks.unit = one;
      return;
    }
    if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front()))) {
      return add_error(
          *node, key,
          "is " + toml_string(text) +
              ": write \"none\", \"stripe\", \"object\", \"file\", or a size like \"4 MiB\"");
    }
  }
  const std::optional<std::uint64_t> bytes = size_of(*node, key);
  if (!bytes) return;
  check_size(*node, key, *bytes, kLockBytesRange);
  check_power_of_two(*node, key, *bytes);
  locks.unit = LockUnit::kBytes;
  locks.unit_bytes = *bytes;
}

}  // namespace forebay::model
