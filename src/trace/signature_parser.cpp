// SPDX-License-Identifier: Apache-2.0
// parse_signature(): recursive descent over the grammar of docs/formats/signature.md, at most
// kLoopDepthMax deep.

#include "trace/interval_units.hpp"
#include "trace/signature.hpp"
#include "trace/signature_bounds.hpp"
#include "trace/signature_checks.hpp"
#include "trace/signature_scanner.hpp"

namespace forebay::trace {

namespace {

enum class Sign : std::uint8_t { kPlus, kMinus };

/// Adds or subtracts `magnitude`. False if the sum overflows.
bool add_signed(std::int64_t& sum, Sign sign, std::uint64_t magnitude) {
  return sign == Sign::kMinus ? !__builtin_sub_overflow(sum, magnitude, &sum)
                              : !__builtin_add_overflow(sum, magnitude, &sum);
}

/// Each parse_...() returns false or no value after an error, which the scanner keeps.
class SignatureParser {
 public:
  explicit SignatureParser(std::string_view text) : scanner_(text) {}

  bool parse(Signature& signature) {
    if (!parse_operation(signature.operation) || !parse_items(signature.items)) return false;
    if (!scanner_.is_end()) return scanner_.fail("\",\" or the end of the text");
    const auto fault = find_fault(signature);
    return !fault || scanner_.fail_at(item_offsets_[fault->item], fault->cause);
  }
  const std::string& error() const noexcept { return scanner_.error(); }

 private:
  bool parse_operation(Operation& operation) {
    if (scanner_.skip("read")) return true;
    operation = Operation::kWrite;
    return scanner_.skip("write") || scanner_.fail("\"read\" or \"write\"");
  }

  bool parse_items(std::vector<Item>& items) {
    do {
      if (item_offsets_.size() == kItemsMax)
        return scanner_.fail("at most " + std::to_string(kItemsMax) + " items");
      item_offsets_.push_back(scanner_.offset());
      if (!parse_item(items)) return false;
    } while (scanner_.skip(","));
    return true;
  }

  bool parse_item(std::vector<Item>& items) {
    if (scanner_.skip("(")) return parse_access(items.emplace_back().emplace<AccessItem>());
    if (scanner_.skip("[")) return parse_list(items.emplace_back().emplace<ListItem>());
    if (scanner_.token() != "{") return scanner_.fail("\"(\", \"[\" or \"{\"");
    if (depth_ == kLoopDepthMax)
      return scanner_.fail("at most " + std::to_string(kLoopDepthMax) + " loops inside each other");
    scanner_.take();
    return parse_loop(items.emplace_back().emplace<LoopItem>());
  }

  /// After the opening bracket, as the following two.
  bool parse_access(AccessItem& access) {
    if (!parse_number(access.offset) || !expect_after_number(",")) return false;
    if (!parse_number(access.size)) return false;
    if (scanner_.skip(",")) return parse_interval(access.interval_ns.emplace());
    return expect_after_number(")");
  }

  bool parse_list(ListItem& list) {
    do {
      if (++listed_ > kListedAccessesMax)
        return scanner_.fail("at most " + std::to_string(kListedAccessesMax) +
                             " accesses in lists");
      const auto offset = scanner_.expect_number();
      const auto size = offset ? scanner_.expect_number() : std::nullopt;
      if (!size) return false;
      list.accesses.push_back({*offset, *size});
    } while (scanner_.skip(","));
    return scanner_.skip("]") || scanner_.fail("\",\" or \"]\"");
  }

  bool parse_loop(LoopItem& loop) {
    if (!parse_number(loop.count) || !expect_after_number("x")) return false;
    ++depth_;
    if (!parse_items(loop.items)) return false;
    --depth_;
    return scanner_.skip("}") || scanner_.fail("\",\" or \"}\"");
  }

  /// From "after" to the closing bracket.
  bool parse_interval(AffineNumber& interval) {
    if (!scanner_.expect("after") || !parse_number(interval)) return false;
    for (const IntervalUnit& unit : kIntervalUnits) {
      if (scanner_.token() != unit.name) continue;
      const auto scaled = add_scaled({}, unit.ns, interval);
      if (!scaled) return scanner_.fail("an interval up to 2^63 - 1 ns");
      interval = *scaled;
      scanner_.take();
      return scanner_.expect(")");
    }
    return scanner_.fail("\"+\", \"-\" or a unit: \"ns\", \"us\", \"ms\" or \"s\"");
  }

  bool parse_number(AffineNumber& number) {
    auto sign = std::optional(scanner_.skip("-") ? Sign::kMinus : Sign::kPlus);
    for (; sign; sign = take_sign())
      if (!parse_term(number, *sign)) return false;
    return true;
  }

  std::optional<Sign> take_sign() {
    if (scanner_.skip("+")) return Sign::kPlus;
    if (scanner_.skip("-")) return Sign::kMinus;
    return std::nullopt;
  }

  bool parse_term(AffineNumber& number, Sign sign) {
    const std::size_t begin = scanner_.offset();
    std::uint64_t magnitude = 1;
    if (scanner_.is_number()) {
      const auto parsed = scanner_.expect_number();
      if (!parsed) return false;
      magnitude = *parsed;
      if (!is_variable()) return add(number.constant, sign, magnitude, begin);
    }
    const auto depth = expect_variable();
    return depth && add(number.factors[*depth], sign, magnitude, begin);
  }

  bool is_variable() const {
    return scanner_.token().size() == 1 &&
           kVariables.find(scanner_.token()) != std::string_view::npos;
  }

  /// The depth of its loop.
  std::optional<std::size_t> expect_variable() {
    const std::size_t depth = is_variable() ? kVariables.find(scanner_.token()) : kLoopDepthMax;
    if (depth < depth_) {
      scanner_.take();
      return depth;
    }
    std::string expected = "a number";
    for (std::size_t d = 0; d < depth_; ++d)
      expected +=
          std::string(d == 0 ? " or a variable of the loops around: " : ", ") + kVariables[d];
    if (is_variable() && depth_ == 0) expected += " without a variable: no loop is around it";
    scanner_.fail(expected);
    return std::nullopt;
  }

  bool add(std::int64_t& sum, Sign sign, std::uint64_t magnitude, std::size_t offset) {
    return add_signed(sum, sign, magnitude) ||
           scanner_.fail_at(offset, "expected a number from -2^63 to 2^63 - 1");
  }

  bool expect_after_number(std::string_view token) {
    return scanner_.skip(token) || scanner_.fail("\"+\", \"-\" or \"" + std::string(token) + "\"");
  }

  SignatureScanner scanner_;
  std::size_t depth_ = 0;
  std::size_t listed_ = 0;
  std::vector<std::size_t> item_offsets_;
};

}  // namespace

Result<Signature> parse_signature(std::string_view text, const std::string& path) {
  SignatureParser parser(text);
  Signature signature;
  if (parser.parse(signature)) return signature;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "parse signature",
                  .path = path,
                  .cause = parser.error()});
}

}  // namespace forebay::trace
