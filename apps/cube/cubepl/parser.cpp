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

/// What CubePL has and is not executed.
struct Outside {
  std::string_view begin;
  std::string_view advice;
};

constexpr std::array<Outside, 11> kOutside = {
    {{"metric::call::", "values of other call paths cannot be asked for"},
     {"cube::metric::prederived::", "define the metric in the specification"},
     {"cube::metric::postderived::", "define the metric in the specification"},
     {"cube::metric::plus::", "write <cubeplaggr cubeplaggrtype=plus> in the specification"},
     {"cube::metric::minus::", "write <cubeplaggr cubeplaggrtype=minus> in the specification"},
     {"cube::init::metric::", "write <cubeplinit> in the specification"},
     {"random", "equal input shall give equal output"},
     {"ln", "write log(x), which is the natural logarithm"},
     {"cot", "write 1 / tan(x)"},
     {"acot", "write atan(1 / x), or 2 * atan(1) - atan(x) for values from 0 to pi"},
     {"print", "a remapping prints nothing; remove it"}}};

std::optional<Op> find_op(std::span<const OpName> names, const Token& token) {
  if (token.kind != TokenKind::kSymbol && token.kind != TokenKind::kWord) return std::nullopt;
  for (const OpName& one : names)
    if (one.name == token.text) return one.op;
  return std::nullopt;
}

/// The rest of `text` after `begin`.
std::optional<std::string> after(std::string_view text, std::string_view begin) {
  if (!text.starts_with(begin)) return std::nullopt;
  return std::string(text.substr(begin.size()));
}

/// The first fault stays: from it on every word is the end, so that all rules return at once, and
/// what they return is not looked at.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  tl::expected<Tree, Fault> script() {
    if (token_.kind == TokenKind::kEnd && !fault_) return Tree{};
    if (!fault_) tree_.root = expression();
    if (!fault_ && token_.kind != TokenKind::kEnd)
      fail(fmt::format("{} does not continue the expression", describe(token_)));
    if (fault_) return tl::unexpected<Fault>(std::move(*fault_));
    return std::move(tree_);
  }

 private:
  /// One more rule within others.
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

  void take(tl::expected<Token, Fault> lexed) {
    if (lexed) {
      token_ = std::move(*lexed);
    } else {
      fail(std::move(lexed.error()));
    }
  }
  void advance() {
    if (!fault_) take(lexer_.next());
  }

  void fail(Fault fault) {
    if (!fault_) fault_ = std::move(fault);
    token_ = {};
  }
  void fail(std::string what) {
    fail(Fault{ErrorClass::kInvalidArgument, token_.offset, std::move(what)});
  }
  void fail_limit(std::size_t offset, std::string_view what, std::uint32_t limit) {
    fail(Fault{ErrorClass::kLimit, offset,
               fmt::format("more than {} {} within each other", limit, what)});
  }
  void expect_symbol(std::string_view symbol) {
    if (!token_.is_symbol(symbol)) {
      fail(fmt::format("expected '{}', found {}", symbol, describe(token_)));
      return;
    }
    advance();
  }

  NodeId add(Node node) {
    if (fault_) return 0;
    for (const NodeId child : node.children) {
      node.depth = std::max(node.depth, tree_[child].depth + 1);
      node.has_block = node.has_block || tree_[child].has_block;
    }
    node.has_block = node.has_block || node.op == Op::kBlock;
    if (node.depth > kDepthMax) fail_limit(node.offset, "operators", kDepthMax);
    tree_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(tree_.nodes.size() - 1);
  }
  /// A node that begins at the present word and takes it.
  Node begin(Op op) {
    Node node{.op = op, .offset = token_.offset, .text = std::move(token_.text)};
    node.number = token_.number;
    advance();
    return node;
  }

  using Rule = NodeId (Parser::*)();
  NodeId left_to_right(std::span<const OpName> names, Rule operand) {
    NodeId left = (this->*operand)();
    while (const auto op = find_op(names, token_)) {
      Node node = begin(*op);
      node.text.clear();
      node.children = {left, (this->*operand)()};
      left = add(std::move(node));
    }
    return left;
  }

  NodeId expression() { return left_to_right(kLogic, &Parser::comparison); }
  NodeId comparison() {
    NodeId left = left_to_right(kComparisons, &Parser::sum);
    while (token_.kind == TokenKind::kPattern) {
      Node node = begin(Op::kMatches);
      node.children = {left};
      left = add(std::move(node));
    }
    return left;
  }
  NodeId sum() { return left_to_right(kSums, &Parser::product); }
  NodeId product() { return left_to_right(kProducts, &Parser::factor); }
  NodeId factor() {
    if (!token_.is_symbol("-")) return left_to_right(kPowers, &Parser::primary);
    const Nesting nesting(*this);
    Node node = begin(Op::kNegate);
    node.text.clear();
    node.children = {product()};
    return add(std::move(node));
  }

  NodeId primary() {
    const Nesting nesting(*this);
    switch (token_.kind) {
      case TokenKind::kNumber:
        return add(begin(Op::kNumber));
      case TokenKind::kText:
        return add(begin(Op::kText));
      case TokenKind::kVariable:
        return variable();
      case TokenKind::kWord:
        return word();
      default:
        return enclosed();
    }
  }

  NodeId enclosed() {
    if (token_.is_symbol("(")) return parenthesised();
    if (token_.is_symbol("{")) return block();
    if (token_.is_symbol("|")) {
      Node node = begin(Op::kAbsolute);
      node.text.clear();
      node.children = {expression()};
      expect_symbol("|");
      return add(std::move(node));
    }
    fail(fmt::format("expected a value, found {}", describe(token_)));
    return 0;
  }

  NodeId parenthesised() {
    expect_symbol("(");
    const NodeId inner = expression();
    expect_symbol(")");
    return inner;
  }

  NodeId variable() {
    Node node = begin(Op::kVariable);
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
    if (refuse_outside()) return 0;
    if (const auto op = find_op(kFunctions, token_)) return call(*op, 1);
    if (const auto op = find_op(kFunctionsOfTwo, token_)) return call(*op, 2);
    if (token_.is_word("not")) return negation();
    if (token_.is_word("true") || token_.is_word("false")) return truth();
    if (token_.is_word("arg1")) return add(begin(Op::kArgument1));
    if (token_.is_word("arg2")) return add(begin(Op::kArgument2));
    if (token_.is_word("sizeof")) return of_name(Op::kSizeOf);
    if (token_.is_word("defined")) return of_name(Op::kDefined);
    if (auto name = after(token_.text, "cube::metric::get::")) return property(std::move(*name));
    if (auto name = after(token_.text, "metric::")) return metric(std::move(*name));
    fail(fmt::format("'{}' is no value; texts have quotes, variables are written ${{name}}",
                     token_.text));
    return 0;
  }

  bool refuse_outside() {
    for (const Outside& one : kOutside) {
      if (!token_.text.starts_with(one.begin)) continue;
      fail(Fault{ErrorClass::kUnsupported, token_.offset,
                 fmt::format("'{}' is not executed: {}", one.begin, one.advice)});
      return true;
    }
    return false;
  }

  NodeId negation() {
    Node node = begin(Op::kNot);
    node.text.clear();
    node.children = {primary()};
    return add(std::move(node));
  }
  NodeId truth() {
    const double number = token_.is_word("true") ? 1 : 0;
    Node node = begin(Op::kNumber);
    node.number = number;
    return add(std::move(node));
  }

  NodeId call(Op op, std::size_t argument_count) {
    Node node = begin(op);
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
  NodeId of_name(Op op) {
    Node node = begin(op);
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
    Node node = begin(Op::kMetricProperty);
    node.text = std::move(name);
    expect_symbol("(");
    node.property = quoted();
    expect_symbol(")");
    return add(std::move(node));
  }

  NodeId metric(std::string name) {
    Node node = begin(Op::kMetric);
    node.text = std::move(name);
    const auto fixed = after(node.text, "fixed::");
    const auto context = after(node.text, "context::");
    if (fixed || context) node.text = fixed ? *fixed : *context;
    if (node.text.empty()) fail("'metric::' without the name of a metric");
    expect_symbol("(");
    std::size_t flavour_count = 0;
    while (!token_.is_symbol(")") && !fault_) {
      if (flavour_count > 0) expect_symbol(",");
      const Flavour read = flavour();
      if (flavour_count++ == 0) node.flavour = read;
    }
    if (flavour_count > 2) fail("a metric has at most two flavours");
    expect_symbol(")");
    if (fixed && flavour_count < 2)
      node.reach = flavour_count == 0 ? Reach::kAllOfAll : Reach::kAllLocations;
    return add(std::move(node));
  }

  Flavour flavour() {
    const Flavour read = token_.is_word("e")   ? Flavour::kExclusive
                         : token_.is_word("i") ? Flavour::kInclusive
                                               : Flavour::kSame;
    if (read == Flavour::kSame && !token_.is_symbol("*"))
      fail(fmt::format("expected a flavour (e, i or *), found {}", describe(token_)));
    advance();
    return read;
  }

  NodeId block() {
    Node node = begin(Op::kBlock);
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
    Node node = begin(Op::kBody);
    node.text.clear();
    node.children = statements();
    expect_symbol("}");
    return add(std::move(node));
  }

  std::vector<NodeId> statements() {
    std::vector<NodeId> all;
    while (!fault_ && !token_.is_symbol("}") && !token_.is_word("return") &&
           token_.kind != TokenKind::kEnd) {
      all.push_back(statement());
      expect_symbol(";");
    }
    return all;
  }

  NodeId statement() {
    if (token_.kind == TokenKind::kVariable) return assignment();
    if (refuse_outside()) return 0;
    if (token_.is_word("if")) return conditional();
    if (token_.is_word("while")) return loop();
    if (token_.is_word("global")) return of_name(Op::kGlobal);
    if (token_.is_word("local")) return of_name(Op::kLocal);
    if (auto name = after(token_.text, "cube::metric::set::")) return setting(std::move(*name));
    fail(fmt::format("expected a statement, found {}", describe(token_)));
    return 0;
  }

  NodeId assignment() {
    Node node = begin(Op::kAssign);
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
      node.children.push_back(parenthesised());
      node.children.push_back(body());
    } while (token_.is_word("elseif"));
    if (token_.is_word("else")) {
      advance();
      node.children.push_back(body());
    }
    return add(std::move(node));
  }

  NodeId loop() {
    Node node = begin(Op::kWhile);
    node.text.clear();
    node.children = {parenthesised()};
    node.children.push_back(body());
    return add(std::move(node));
  }

  NodeId setting(std::string name) {
    Node node = begin(Op::kProperty);
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
  std::optional<Fault> fault_;
  std::uint32_t nesting_ = 0;
};

}  // namespace

tl::expected<Tree, Fault> parse(std::string_view text) { return Parser(text).script(); }

}  // namespace forebay::cubepl
