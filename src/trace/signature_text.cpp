// SPDX-License-Identifier: Apache-2.0
// to_text(): signatures in the canonical form of docs/formats/signature.md#grammar.
#include <algorithm>
#include <variant>

#include "trace/interval_units.hpp"
#include "trace/signature.hpp"
#include "trace/signature_checks.hpp"

namespace forebay::trace {

namespace {

std::uint64_t magnitude_of(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}

/// Appends "+ 4096 i", or "4096 i" if it is the first term. `variable` may be empty.
void append_term(std::string& text, std::int64_t factor, std::string_view variable) {
  const bool is_first = text.empty();
  if (factor == 0) return;
  if (factor < 0)
    text += is_first ? "-" : " - ";
  else if (!is_first)
    text += " + ";
  const std::uint64_t magnitude = magnitude_of(factor);
  if (variable.empty() || magnitude != 1) text += std::to_string(magnitude);
  if (!variable.empty() && magnitude != 1) text += ' ';
  text += variable;
}

std::string text_of(const AffineNumber& number) {
  std::string text;
  append_term(text, number.constant, "");
  for (std::size_t depth = 0; depth < kLoopDepthMax; ++depth)
    append_term(text, number.factors[depth], kVariables.substr(depth, 1));
  return text.empty() ? "0" : text;
}

bool is_multiple(const AffineNumber& number, std::int64_t unit) {
  return number.constant % unit == 0 &&
         std::ranges::all_of(number.factors, [unit](auto factor) { return factor % unit == 0; });
}

/// In the greatest unit without a fraction; 0 in ns.
std::string interval_text(AffineNumber interval) {
  const auto* unit = &kIntervalUnits.back();
  if (interval != AffineNumber{}) {
    unit = std::ranges::find_if(kIntervalUnits,
                                [&](const IntervalUnit& u) { return is_multiple(interval, u.ns); });
  }
  interval.constant /= unit->ns;
  for (std::int64_t& factor : interval.factors)
    factor /= unit->ns;
  return text_of(interval) + " " + std::string(unit->name);
}

std::string text_of(const std::vector<Item>& items);

std::string text_of(const AccessItem& access) {
  std::string text = "(" + text_of(access.offset) + ", " + text_of(access.size);
  if (access.interval_ns) text += ", after " + interval_text(*access.interval_ns);
  return text + ")";
}

std::string text_of(const ListItem& list) {
  std::string text;
  for (const ByteRange& access : list.accesses) {
    text += (text.empty() ? "[" : ", ") + std::to_string(access.offset) + " " +
            std::to_string(access.size);
  }
  return text + "]";
}

std::string text_of(const LoopItem& loop) {
  return "{" + text_of(loop.count) + " x " + text_of(loop.items) + "}";
}

std::string text_of(const std::vector<Item>& items) {
  std::string text;
  for (const Item& item : items) {
    if (!text.empty()) text += ", ";
    text += std::visit([](const auto& known) { return text_of(known); }, item);
  }
  return text;
}

}  // namespace

std::string to_text(const Signature& signature) {
  return (signature.operation == Operation::kRead ? "read " : "write ") + text_of(signature.items);
}

}  // namespace forebay::trace
