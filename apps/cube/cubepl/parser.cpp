// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/parser.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cube/cubepl/lexer.hpp"

namespace forebay::cubepl {
namespace {

struct OpName {
  std::string_view name;
  Op op;
};

constexpr std::array<OpName, 3> kLogic = {{{"and", Op::kAnd}, {"or", Op::kOr}, {"xor", Op::kXor}}};
constexpr std::array<OpName, 8> kComparisons = {{{"==", Op::kEqual},
                                                 {"!=", Op::kNotEqual},
                                                 {"<=", Op::kLessEqual},
                                                 {">=", Op::kGreaterEqual},
                                                 {"<", Op::kLess},
                                                 {">", Op::kGreater},
                                                 {"eq", Op::kTextEqual},
                                                 {"seq", Op::kTextEqualAnyCase}}};
constexpr std::array<OpName, 2> kSums = {{{"+", Op::kAdd}, {"-", Op::kSubtract}}};
constexpr std::array<OpName, 2> kProducts = {{{"*", Op::kMultiply}, {"/", Op::kDivide}}};
constexpr std::array<OpName, 1> kPowers = {{{"^", Op::kPower}}};
constexpr std::array<OpName, 18> kFunctions = {{{"sqrt", Op::kSquareRoot},
                                                {"exp", Op::kExponential},
                                                {"log", Op::kLogarithm},
                                                {"sin", Op::kSine},
                                                {"cos", Op::kCosine},
                                                {"tan", Op::kTangent},
                                                {"asin", Op::kArcSine},
                                                {"acos", Op::kArcCosine},
                                                {"atan", Op::kArcTangent},
                                                {"abs", Op::kAbsolute},
                                                {"floor", Op::kFloor},
                                                {"ceil", Op::kCeiling},
                                                {"sgn", Op::kSign},
                                                {"pos", Op::kPositive},
                                                {"neg", Op::kNegative},
                                                {"lowercase", Op::kLowerCase},
                                                {"uppercase", Op::kUpperCase},
                                                {"env", Op::kEnvironment}}};
constexpr std::array<OpName, 2> kFunctionsOfTwo = {{{"min", Op::kMinimum}, {"max", Op::kMaximum}}};

/// A construct of CubePL that Forebay does not execute.
struct UnsupportedConstruct {
  std::string_view begin;
  std::string_view advice;
};

constexpr std::array<UnsupportedConstruct, 11> kUnsupportedConstructs = {
    {{"metric::call::", "values of other call paths cannot be read"},
     {"cube::metric::prederived::", "define the metric in the specification"},
     {"cube::metric::postderived::", "define the metric in the specification"},
     {"cube::metric::plus::", "write <cubeplaggr cubeplaggrtype=plus> in the specification"},
     {"cube::metric::minus::", "write <cubeplaggr cubeplaggrtype=minus> in the specification"},
     {"cube::init::metric::", "write <cubeplinit> in the specification"},
     {"random", "equal input must give equal output"},
     {"ln", "write log(x), which is the natural logarithm"},
     {"cot", "write 1 / tan(x)"},
     {"acot", "write atan(1 / x), or 2 * atan(1) - atan(x) for values from 0 to pi"},
     {"print", "remove it, because a remapping prints nothing"}}};

std::optional<Op> find_op(std::span<const OpName> names, const Token& token) {
  if (token.kind != TokenKind::kSymbol && token.kind != TokenKind::kWord) return std::nullopt;
  for (const OpName& one : names)
    if (one.name == token.text) return one.op;
  return std::nullopt;
}

/// The rest of `text` after `begin`; nullopt if it has another beginning.
std::optional<std::string> strip_prefix(std::string_view text, std::string_view begin) {
  if (!text.starts_with(begin)) return std::nullopt;
  return std::string(text.substr(begin.size()));
}

/// Keeps the first error. After it every token is the end, so that all rules return immediately;
/// their results are ignored.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  tl::expected<Tree, ScriptError> script() {
    if (token_.kind == TokenKind::kEnd && !error_) return Tree{};
    if (!error_) tree_.root = expression();
    if (!error_ && token_.kind != TokenKind::kEnd)
      fail(fmt::format("{} does not continue the expression", describe(token_)));
    if (error_) return tl::unexpected<ScriptError>(std::move(*error_));
    return std::move(tree_);
  }

 private:
  /// Counts the nesting of rules.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kNestingMax)
        parser_.fail_limit(parser_.token_.offset, "parentheses and blocks", kNestingMax);
    }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --parser_.nesting_; }

   private:
    Parser& parser_;
  };

  void take(tl::expected<Token, ScriptError> lexed) {
    if (lexed) {
      token_ = std::move(*lexed);
    } else {
      fail(std::move(lexed.error()));
    }
  }
  void advance() {
    if (!error_) take(lexer_.next());
  }

  void fail(ScriptError error) {
    if (!error_) error_ = std::move(error);
    token_ = {};
  }
  void fail(std::string what) {
    fail(ScriptError{ErrorClass::kInvalidArgument, token_.offset, std::move(what)});
  }
  void fail_limit(std::size_t offset, std::string_view what, std::uint32_t limit) {
    fail(ScriptError{ErrorClass::kLimit, offset,
                     fmt::format("more than {} nested {}", limit, what)});
  }
  void expect_symbol(std::string_view symbol) {
    if (!token_.is_symbol(symbol)) {
      fail(fmt::format("expected '{}', found {}", symbol, describe(token_)));
      return;
    }
    advance();
  }

  NodeId add(Node node) {
    if (error_) return 0;
    for (const NodeId child : node.children) {
      node.depth = std::max(node.depth, tree_[child].depth + 1);
      node.has_block = node.has_block || tree_[child].has_block;
    }
    node.has_block = node.has_block || node.op == Op::kBlock;
    if (node.depth > kDepthMax) fail_limit(node.offset, "operators", kDepthMax);
    tree_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(tree_.nodes.size() - 1);
  }
  /// Makes a node of the current token and consumes the token.
  Node start_node(Op op) {
    Node node{.op = op, .offset = token_.offset, .text = std::move(token_.text)};
    node.number = token_.number;
    advance();
    return node;
  }

  using Rule = NodeId (Parser::*)();
  NodeId left_associative(std::span<const OpName> names, Rule operand) {
    NodeId left = (this->*operand)();
    while (const auto op = find_op(names, token_)) {
      Node node = start_node(*op);
      node.text.clear();
      node.children = {left, (this->*operand)()};
      left = add(std::move(node));
    }
    return left;
  }

  NodeId expression() { return left_associative(kLogic, &Parser::comparison); }
  NodeId comparison() {
    NodeId left = left_associative(kComparisons, &Parser::sum);
    while (token_.kind == TokenKind::kPattern) {
      Node node = start_node(Op::kMatches);
      node.children = {left};
      left = add(std::move(node));
    }
    return left;
  }
  NodeId sum() { return left_associative(kSums, &Parser::product); }
  NodeId product() { return left_associative(kProducts, &Parser::factor); }
  NodeId factor() {
    if (!token_.is_symbol("-")) return left_associative(kPowers, &Parser::primary);
    const Nesting nesting(*this);
    Node node = start_node(Op::kNegate);
    node.text.clear();
    node.children = {product()};
    return add(std::move(node));
  }

  NodeId primary() {
    const Nesting nesting(*this);
    switch (token_.kind) {
      case TokenKind::kNumber:
        return add(start_node(Op::kNumber));
      case TokenKind::kText:
        return add(start_node(Op::kText));
      case TokenKind::kVariable:
        return variable();
      case TokenKind::kWord:
        return word();
      default:
        return bracketed();
    }
  }

  NodeId bracketed() {
    if (token_.is_symbol("(")) return parenthesized();
    if (token_.is_symbol("{")) return block();
    if (token_.is_symbol("|")) {
      Node node = start_node(Op::kAbsolute);
      node.text.clear();
      node.children = {expression()};
      expect_symbol("|");
      return add(std::move(node));
    }
    fail(fmt::format("expected a value, found {}", describe(token_)));
    return 0;
  }

  NodeId parenthesized() {
    expect_symbol("(");
    const NodeId inner = expression();
    expect_symbol(")");
    return inner;
  }

  NodeId variable() {
    Node node = start_node(Op::kVariable);
    if (token_.is_symbol("[")) node.children = {index()};
    return add(std::move(node));
  }
  NodeId index() {
    expect_symbol("[");
    const NodeId inner = expression();
    expect_symbol("]");
    return inner;
  }

  NodeId word() {
    if (reject_unsupported()) return 0;
    if (const auto op = find_op(kFunctions, token_)) return call(*op, 1);
    if (const auto op = find_op(kFunctionsOfTwo, token_)) return call(*op, 2);
    if (token_.is_word("not")) return logical_not();
    if (token_.is_word("true") || token_.is_word("false")) return truth();
    if (token_.is_word("arg1")) return add(start_node(Op::kArgument1));
    if (token_.is_word("arg2")) return add(start_node(Op::kArgument2));
    if (token_.is_word("sizeof")) return name_call(Op::kSizeOf);
    if (token_.is_word("defined")) return name_call(Op::kDefined);
    if (auto name = strip_prefix(token_.text, "cube::metric::get::"))
      return property(std::move(*name));
    if (auto name = strip_prefix(token_.text, "metric::")) return metric(std::move(*name));
    fail(fmt::format("'{}' is not a value; texts have quotes, variables are written ${{name}}",
                     token_.text));
    return 0;
  }

  bool reject_unsupported() {
    for (const UnsupportedConstruct& one : kUnsupportedConstructs) {
      if (!token_.text.starts_with(one.begin)) continue;
      fail(ScriptError{ErrorClass::kUnsupported, token_.offset,
                       fmt::format("'{}' is not supported; {}", one.begin, one.advice)});
      return true;
    }
    return false;
  }

  NodeId logical_not() {
    Node node = start_node(Op::kNot);
    node.text.clear();
    node.children = {primary()};
    return add(std::move(node));
  }
  NodeId truth() {
    const double number = token_.is_word("true") ? 1 : 0;
    Node node = start_node(Op::kNumber);
    node.number = number;
    return add(std::move(node));
  }

  NodeId call(Op op, std::size_t argument_count) {
    Node node = start_node(op);
    node.text.clear();
    expect_symbol("(");
    node.children = {expression()};
    if (argument_count == 2) {
      expect_symbol(",");
      node.children.push_back(expression());
    }
    expect_symbol(")");
    return add(std::move(node));
  }

  /// sizeof(name), defined(name), global(name), local(name)
  NodeId name_call(Op op) {
    Node node = start_node(op);
    if (!token_.is_symbol("(")) {
      fail(fmt::format("expected '(', found {}", describe(token_)));
      return 0;
    }
    take(lexer_.name());
    node.text = token_.text;
    advance();
    expect_symbol(")");
    return add(std::move(node));
  }

  std::string quoted() {
    if (token_.kind != TokenKind::kText) {
      fail(fmt::format("expected a text in quotes, found {}", describe(token_)));
      return {};
    }
    std::string text = std::move(token_.text);
    advance();
    return text;
  }

  NodeId property(std::string name) {
    Node node = start_node(Op::kMetricProperty);
    node.text = std::move(name);
    expect_symbol("(");
    node.property = quoted();
    expect_symbol(")");
    return add(std::move(node));
  }

  NodeId metric(std::string name) {
    Node node = start_node(Op::kMetric);
    node.text = std::move(name);
    const auto fixed = strip_prefix(node.text, "fixed::");
    const auto context = strip_prefix(node.text, "context::");
    if (fixed || context) node.text = fixed ? *fixed : *context;
    if (node.text.empty()) fail("'metric::' without the name of a metric");
    expect_symbol("(");
    std::size_t flavor_count = 0;
    while (!token_.is_symbol(")") && !error_) {
      if (flavor_count > 0) expect_symbol(",");
      const Flavor read = flavor();
      if (flavor_count++ == 0) node.flavor = read;
    }
    if (flavor_count > 2) fail("a metric has at most two flavors");
    expect_symbol(")");
    if (fixed && flavor_count < 2)
      node.scope =
          flavor_count == 0 ? ReferenceScope::kAllCallPaths : ReferenceScope::kAllLocations;
    return add(std::move(node));
  }

  Flavor flavor() {
    const Flavor read = token_.is_word("e")   ? Flavor::kExclusive
                        : token_.is_word("i") ? Flavor::kInclusive
                                              : Flavor::kSame;
    if (read == Flavor::kSame && !token_.is_symbol("*"))
      fail(fmt::format("expected a flavor (e, i or *), found {}", describe(token_)));
    advance();
    return read;
  }

  NodeId block() {
    Node node = start_node(Op::kBlock);
    node.text.clear();
    node.children = statements();
    if (!token_.is_word("return"))
      fail(fmt::format("expected a statement or 'return', found {}", describe(token_)));
    advance();
    node.children.push_back(expression());
    expect_symbol(";");
    expect_symbol("}");
    return add(std::move(node));
  }

  NodeId body() {
    const Nesting nesting(*this);
    if (!token_.is_symbol("{")) fail(fmt::format("expected '{{', found {}", describe(token_)));
    Node node = start_node(Op::kBody);
    node.text.clear();
    node.children = statements();
    expect_symbol("}");
    return add(std::move(node));
  }

  std::vector<NodeId> statements() {
    std::vector<NodeId> all;
    while (!error_ && !token_.is_symbol("}") && !token_.is_word("return") &&
           token_.kind != TokenKind::kEnd) {
      all.push_back(statement());
      expect_symbol(";");
    }
    return all;
  }

  NodeId statement() {
    if (token_.kind == TokenKind::kVariable) return assignment();
    if (reject_unsupported()) return 0;
    if (token_.is_word("if")) return conditional();
    if (token_.is_word("while")) return loop();
    if (token_.is_word("global")) return name_call(Op::kGlobal);
    if (token_.is_word("local")) return name_call(Op::kLocal);
    if (auto name = strip_prefix(token_.text, "cube::metric::set::"))
      return property_assignment(std::move(*name));
    fail(fmt::format("expected a statement, found {}", describe(token_)));
    return 0;
  }

  NodeId assignment() {
    Node node = start_node(Op::kAssign);
    std::optional<NodeId> at;
    if (token_.is_symbol("[")) at = index();
    expect_symbol("=");
    node.children = {expression()};
    if (at) node.children.push_back(*at);
    return add(std::move(node));
  }

  NodeId conditional() {
    Node node{.op = Op::kIf, .offset = token_.offset};
    do {
      advance();
      node.children.push_back(parenthesized());
      node.children.push_back(body());
    } while (token_.is_word("elseif"));
    if (token_.is_word("else")) {
      advance();
      node.children.push_back(body());
    }
    return add(std::move(node));
  }

  NodeId loop() {
    Node node = start_node(Op::kWhile);
    node.text.clear();
    node.children = {parenthesized()};
    node.children.push_back(body());
    return add(std::move(node));
  }

  NodeId property_assignment(std::string name) {
    Node node = start_node(Op::kProperty);
    node.text = std::move(name);
    expect_symbol("(");
    node.property = quoted();
    expect_symbol(",");
    Node value{.op = Op::kText, .offset = token_.offset};
    value.text = quoted();
    node.children = {add(std::move(value))};
    expect_symbol(")");
    return add(std::move(node));
  }

  Lexer lexer_;
  Token token_;
  Tree tree_;
  std::optional<ScriptError> error_;
  std::uint32_t nesting_ = 0;
};

}  // namespace

tl::expected<Tree, ScriptError> parse(std::string_view text) { return Parser(text).script(); }

}  // namespace forebay::cubepl
