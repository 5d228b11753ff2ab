// SPDX-License-Identifier: Apache-2.0
// parse_parametric_signature(): recursive descent over the grammar of
// docs/formats/hints.md#parameters, at most kLoopDepthMax deep.
#include "push/parametric_signature.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "trace/signature_checks.hpp"
#include "trace/signature_scanner.hpp"

namespace forebay::push {

namespace {

using trace::kLoopDepthMax;
using Kind = ParametricNode::Kind;

constexpr std::array<std::string_view, 4> kReserved = {"x", "read", "write", "after"};

bool is_letter(char one) { return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z'); }
bool is_name_character(char one) {
  return is_letter(one) || one == '_' || (one >= '0' && one <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kParameterNameMax && is_letter(text.front()) &&
         std::ranges::all_of(text, is_name_character) &&
         std::ranges::find(kReserved, text) == kReserved.end();
}

/// Each parse_...() returns false after an error, which the scanner keeps.
class ParametricParser {
 public:
  explicit ParametricParser(ParametricSignature& signature)
      : scanner_(signature.text), signature_(signature) {
    signature_.products.emplace_back();
  }

  bool parse() {
    return scanner_.expect("read") && parse_items() &&
           (scanner_.is_end() || scanner_.fail("\",\" or the end of the text"));
  }
  const std::string& error() const noexcept { return scanner_.error(); }

 private:
  bool parse_items() {
    do {
      if (items_++ == kParametricItemsMax)
        return scanner_.fail("at most " + std::to_string(kParametricItemsMax) + " items");
      if (scanner_.skip("(") ? !parse_access() : !parse_loop()) return false;
    } while (scanner_.skip(","));
    return true;
  }

  /// After the opening bracket.
  bool parse_access() {
    ParametricNode access;
    if (!parse_number(access.offset) || !scanner_.expect(",")) return false;
    if (!parse_number(access.size) || !scanner_.expect(")")) return false;
    signature_.nodes.push_back(std::move(access));
    return true;
  }

  bool parse_loop() {
    if (scanner_.token() != "{") return scanner_.fail("\"(\" or \"{\"");
    if (depth_ == kLoopDepthMax)
      return scanner_.fail("at most " + std::to_string(kLoopDepthMax) + " loops inside each other");
    scanner_.take();
    const std::size_t begin = signature_.nodes.size();
    signature_.nodes.push_back({.kind = Kind::kLoop});
    if (!parse_number(signature_.nodes[begin].count) || !scanner_.expect("x")) return false;
    ++depth_;
    if (!parse_items()) return false;
    --depth_;
    signature_.nodes[begin].partner = signature_.nodes.size();
    signature_.nodes.push_back({.kind = Kind::kEnd, .partner = begin});
    return scanner_.skip("}") || scanner_.fail("\",\" or \"}\"");
  }

  bool parse_number(ParametricNumber& number) {
    std::int64_t sign = scanner_.skip("-") ? -1 : 1;
    while (true) {
      if (!parse_term(number, sign)) return false;
      if (!scanner_.skip("+") && scanner_.token() != "-") return true;
      sign = scanner_.skip("-") ? -1 : 1;
    }
  }

  bool parse_term(ParametricNumber& number, std::int64_t sign) {
    ParametricTerm term{.factor = sign};
    const bool has_integer = scanner_.is_number();
    if (has_integer) {
      const auto magnitude = scanner_.expect_number();
      if (!magnitude) return false;
      if (*magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return scanner_.fail("a number up to 2^63 - 1 before this");
      term.factor *= static_cast<std::int64_t>(*magnitude);
    }
    Product product;
    bool has_factor = has_integer;
    while (!scanner_.is_end() && is_letter(scanner_.token().front()) && !is_times()) {
      if (!parse_factor(term, product)) return false;
      has_factor = true;
    }
    if (!has_factor) return scanner_.fail("a number, a parameter or a variable");
    std::ranges::sort(product);
    const auto index = index_of(product);
    if (!index) return scanner_.fail("at most " + std::to_string(kProductsMax) + " products");
    term.product = *index;
    number.push_back(term);
    return true;
  }

  /// Whether the next token is the "x" of a loop, and not the begin of a name.
  bool is_times() const {
    const std::string_view rest = std::string_view(signature_.text).substr(scanner_.offset());
    return rest.starts_with("x") && (rest.size() == 1 || !is_name_character(rest[1]));
  }

  bool parse_factor(ParametricTerm& term, Product& product) {
    const std::size_t begin = scanner_.offset();
    const std::string_view name = take_name();
    const std::size_t depth = name.size() == 1 ? trace::kVariables.find(name) : std::string::npos;
    if (depth < depth_) {
      if (term.depth != ParametricTerm::kNoVariable)
        return scanner_.fail_at(begin, "a term has at most one variable");
      term.depth = static_cast<std::uint8_t>(depth);
      return true;
    }
    const auto found = std::ranges::find(signature_.parameters, name);
    if (found == signature_.parameters.end())
      return scanner_.fail_at(begin,
                              "\"" + std::string(name) +
                                  "\" is neither a variable of the loops around nor in parameters");
    product.push_back(static_cast<std::uint8_t>(found - signature_.parameters.begin()));
    return true;
  }

  /// Tokens end between letters, digits and other characters; a name does not.
  std::string_view take_name() {
    const std::size_t begin = scanner_.offset();
    std::size_t end = begin;
    while (scanner_.offset() == end && !scanner_.is_end() &&
           is_name_character(scanner_.token().front())) {
      end += scanner_.token().size();
      scanner_.take();
    }
    return std::string_view(signature_.text).substr(begin, end - begin);
  }

  /// Adds the product, if it is new.
  std::optional<std::uint8_t> index_of(const Product& product) {
    auto& products = signature_.products;
    const auto found = std::ranges::find(products, product);
    const auto index = static_cast<std::uint8_t>(found - products.begin());
    if (found != products.end()) return index;
    if (products.size() > kProductsMax) return std::nullopt;
    products.push_back(product);
    return index;
  }

  trace::SignatureScanner scanner_;
  ParametricSignature& signature_;
  std::size_t depth_ = 0;
  std::size_t items_ = 0;
};

Error invalid(std::string cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "parse signature",
                .path = "signature",
                .cause = std::move(cause)});
}

}  // namespace

Result<ParametricSignature> parse_parametric_signature(std::string text,
                                                       std::vector<std::string> parameters) {
  if (parameters.size() > kParametersMax)
    return failure(
        invalid("there are more than " + std::to_string(kParametersMax) + " parameters"));
  for (const std::string& name : parameters) {
    if (!is_name(name))
      return failure(invalid("a parameter is not a name: write letters, digits and \"_\""));
    if (std::ranges::count(parameters, name) > 1)
      return failure(invalid("the parameter \"" + name + "\" is there twice"));
  }
  ParametricSignature signature{
      .text = std::move(text), .parameters = std::move(parameters), .products = {}, .nodes = {}};
  ParametricParser parser(signature);
  if (!parser.parse()) return failure(invalid(parser.error()));
  return signature;
}

}  // namespace forebay::push
