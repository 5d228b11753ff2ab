// SPDX-License-Identifier: Apache-2.0
// Plans as TOML. Every Error names the line and what to write instead, as for machine files.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "base/config.hpp"
#include "base/text_file.hpp"
#include "base/toml_nesting.hpp"
#include "model/machine_reader.hpp"
#include "model/machine_text.hpp"
#include "write/plan_checks.hpp"
#include "write/plan_fields.hpp"
#include "write/plan_table.hpp"
#include "write/plan_variable.hpp"

namespace forebay {

namespace {

using write::Limits;
using write::Name;

constexpr std::string_view kVariable = "FOREBAY_PLAN";
constexpr std::string_view kOperation = "read plan";

std::string whole_number(const Limits& limits) {
  return ": write a whole number from " + std::to_string(limits.min) + " to " +
         std::to_string(limits.max);
}

/// A visitor of plan_fields.hpp that reads the values of a table.
class Reader {
 public:
  Reader(const toml::table& table, model::ParseErrors& errors) : table_(table), errors_(errors) {}

  template <class Enum>
  void enumerator(Name key, Enum& value, std::span<const Name> names) {
    if (const auto one = enumerator_of<Enum>(key, names)) value = *one;
  }
  template <class Enum>
  void enumerator(Name key, std::optional<Enum>& value, std::span<const Name> names) {
    if (const auto one = enumerator_of<Enum>(key, names)) value = *one;
  }
  void count(Name key, std::uint32_t& value, const Limits& limits) {
    if (const auto one = number_of(key, limits)) value = static_cast<std::uint32_t>(*one);
  }
  void time(Name key, std::chrono::milliseconds& value, const Limits& limits) {
    if (const auto one = number_of(key, limits)) {
      value = std::chrono::milliseconds(static_cast<std::int64_t>(*one));
    }
  }
  void size(Name key, std::uint64_t& value, const Limits& limits) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const std::string allowed = ": write bytes, or text like \"4 MiB\", from " +
                                model::size_text(limits.min) + " to " +
                                model::size_text(limits.max);
    const std::optional<std::uint64_t> bytes = bytes_of(*node);
    if (!bytes) return add_error(*node, key, "is no size" + allowed);
    if (*bytes < limits.min || *bytes > limits.max) {
      return add_error(*node, key, "is " + model::size_text(*bytes) + allowed);
    }
    value = *bytes;
  }

  void finish() const { model::reject_unknown_keys(table_, "", known_, errors_); }

 private:
  const toml::node* find(Name key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  void add_error(const toml::node& node, Name key, const std::string& what) {
    errors_.add(node.source(), std::string(key) + " " + what);
  }
  static std::optional<std::uint64_t> bytes_of(const toml::node& node) {
    if (const auto* number = node.as_integer()) {
      if (number->get() < 0) return std::nullopt;
      return static_cast<std::uint64_t>(number->get());
    }
    const auto* const text = node.as_string();
    if (text == nullptr) return std::nullopt;
    const Result<std::uint64_t> bytes = parse_size(text->get());
    return bytes ? std::optional(*bytes) : std::nullopt;
  }
  template <class Enum>
  std::optional<Enum> enumerator_of(Name key, std::span<const Name> names) {
    const toml::node* const node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto* const text = node->as_string();
    const auto value = text == nullptr ? std::nullopt : write::parse_enum<Enum>(text->get(), names);
    if (value) return value;
    const std::string given = text == nullptr ? "no text" : model::toml_string(text->get());
    add_error(*node, key, "is " + given + ": write one of " + write::join_names(names));
    return std::nullopt;
  }
  std::optional<std::uint64_t> number_of(Name key, const Limits& limits) {
    const toml::node* const node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto* const number = node->as_integer();
    if (number == nullptr) {
      add_error(*node, key, "is no whole number" + whole_number(limits));
      return std::nullopt;
    }
    const std::int64_t given = number->get();
    if (std::cmp_less(given, limits.min) || std::cmp_greater(given, limits.max)) {
      add_error(*node, key, "is " + std::to_string(given) + whole_number(limits));
      return std::nullopt;
    }
    return static_cast<std::uint64_t>(given);
  }

  const toml::table& table_;
  model::ParseErrors& errors_;
  std::vector<std::string> known_;
};

/// A visitor of plan_fields.hpp that writes a line for each value that is set.
class Writer {
 public:
  template <class Enum>
  void enumerator(Name key, const Enum& value, std::span<const Name> names) {
    if (static_cast<std::size_t>(value) != 0) line(key, quoted(names, value));
  }
  template <class Enum>
  void enumerator(Name key, const std::optional<Enum>& value, std::span<const Name> names) {
    if (value) line(key, quoted(names, *value));
  }
  void count(Name key, std::uint32_t value, const Limits&) {
    if (value != 0) line(key, std::to_string(value));
  }
  void time(Name key, std::chrono::milliseconds value, const Limits&) {
    if (value.count() != 0) line(key, std::to_string(value.count()));
  }
  void size(Name key, std::uint64_t value, const Limits&) {
    if (value != 0) line(key, model::toml_string(model::size_text(value)));
  }

  std::string take() { return std::move(text_); }

 private:
  template <class Enum>
  static std::string quoted(std::span<const Name> names, Enum value) {
    return model::toml_string(names[static_cast<std::size_t>(value)]);
  }
  void line(Name key, const std::string& value) {
    text_.append(key).append(" = ").append(value).append("\n");
  }
  std::string text_;
};

/// TOML allows no control characters in comments.
std::string comment_of(std::string text) {
  const auto is_control = [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
  };
  std::ranges::replace_if(text, is_control, ' ');
  return "# " + text + "\n";
}

}  // namespace

Result<WritePlan> parse_write_plan(std::string_view text, const std::string& path) {
  if (const Status flat = check_toml_nesting(text, kOperation, path); !flat)
    return failure(flat.error());
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = std::string(kOperation),
                    .path = path,
                    .cause = "line " + std::to_string(error.source().begin.line) + ": " +
                             std::string(error.description())});
  }
  WritePlan plan;
  model::ParseErrors errors(path, std::string(kOperation));
  Reader reader(table, errors);
  write::visit_plan(reader, plan);
  reader.finish();
  if (errors.first()) return failure(*errors.first());
  if (const Status right = write::check_numbers(plan); !right) {
    return failure(with_location(right.error(), path));
  }
  return plan;
}

Result<WritePlan> load_write_plan(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kOperation);
  if (!text) return failure(text.error());
  return parse_write_plan(*text, path);
}

Result<std::optional<WritePlan>> write_plan_from_environment() {
  return write::parse_plan_variable(process_environment());
}

std::string to_toml(const WritePlan& plan) {
  Writer writer;
  write::visit_plan(writer, plan);
  return (plan.reason.empty() ? "" : comment_of(plan.reason)) + writer.take();
}

namespace write {

WritePlan read_plan_table(const toml::table& table, model::ParseErrors& errors) {
  WritePlan plan;
  Reader reader(table, errors);
  visit_plan(reader, plan);
  reader.finish();
  const Status right = check_numbers(plan);
  if (!right) errors.add(table.source(), right.error().cause());
  return plan;
}

Result<std::optional<WritePlan>> parse_plan_variable(const Environment& environment) {
  const auto found = std::ranges::find(environment, kVariable, &Environment::value_type::first);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  if (const auto strategy = parse_strategy(found->second)) return plan_of(*strategy);
  Result<WritePlan> plan = load_write_plan(found->second);
  if (plan) return *plan;
  if (plan.error().kind() != ErrorClass::kNotFound) return failure(plan.error());
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = std::string(kOperation) + " of " + std::string(kVariable),
                  .path = found->second,
                  .cause = "this is neither a file nor a strategy; write the path of a "
                           "plan, or one of " +
                           join_names(kStrategyNames)});
}

}  // namespace write

}  // namespace forebay
