// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/parser.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::cubepl {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kOpNames[] = {
    "number", "text",  "$",    "metric", "get",   "arg1",    "arg2",  "sizeof", "defined", "block",
    "+",      "-",     "*",    "/",      "^",     "min",     "max",   "==",     "!=",      "<",
    "<=",     ">",     ">=",   "and",    "or",    "xor",     "eq",    "seq",    "=~",      "not",
    "neg",    "abs",   "sqrt", "exp",    "log",   "sin",     "cos",   "tan",    "asin",    "acos",
    "atan",   "floor", "ceil", "sgn",    "pos",   "negpart", "lower", "upper",  "env",     "=",
    "if",     "while", "body", "global", "local", "set"};

/// The tree as nested lists: "(+ 1 (* 2 3))".
std::string text_of(const Tree& tree, NodeId id) {
  const Node& node = tree[id];
  std::string text(kOpNames[static_cast<std::size_t>(node.op)]);
  if (node.op == Op::kNumber) return fmt::format("{}", node.number);
  if (node.op == Op::kText) return '"' + node.text + '"';
  if (node.op == Op::kVariable)
    text += node.text;
  else if (!node.text.empty())
    text += " " + node.text;
  if (node.op == Op::kMetric) {
    constexpr std::string_view kFlavours[] = {" e", " i", ""};
    constexpr std::string_view kReaches[] = {"", " all", " all of all"};
    text += kFlavours[static_cast<std::size_t>(node.flavor)];
    text += kReaches[static_cast<std::size_t>(node.scope)];
  }
  if (!node.property.empty()) text += " \"" + node.property + '"';
  for (const NodeId child : node.children)
    text += " " + text_of(tree, child);
  return node.children.empty() && text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

std::string tree_of(std::string_view text) {
  const auto tree = parse(text);
  if (!tree) return fmt::format("{}: {}", tree.error().offset, tree.error().message);
  return tree->empty() ? "" : text_of(*tree, tree->root);
}

TEST(Parser, empty_text_gives_empty_tree) {
  EXPECT_EQ(tree_of(""), "");
  EXPECT_EQ(tree_of("  // only a comment\n"), "");
}

TEST(Parser, products_bind_closer_than_sums_and_powers_closer_still) {
  EXPECT_EQ(tree_of("1 + 2 * 3 - 4"), "(- (+ 1 (* 2 3)) 4)");
  EXPECT_EQ(tree_of("2 ^ 3 ^ 2 * 5"), "(* (^ (^ 2 3) 2) 5)");
  EXPECT_EQ(tree_of("8 / 4 / 2"), "(/ (/ 8 4) 2)");
  EXPECT_EQ(tree_of("(1 + 2) * 3"), "(* (+ 1 2) 3)");
}

TEST(Parser, minus_applies_to_following_product) {
  EXPECT_EQ(tree_of("-2 ^ 2"), "(neg (^ 2 2))");
  EXPECT_EQ(tree_of("-1 * 2 + 3"), "(+ (neg (* 1 2)) 3)");
  EXPECT_EQ(tree_of("1 - -1"), "(- 1 (neg 1))");
  EXPECT_EQ(tree_of("2 * -3"), "(* 2 (neg 3))");
}

TEST(Parser, and_or_xor_are_one_level_from_the_left) {
  EXPECT_EQ(tree_of("1 or 2 and 3 xor 4"), "(xor (and (or 1 2) 3) 4)");
  EXPECT_EQ(tree_of("1 < 2 and 3 >= 4"), "(and (< 1 2) (>= 3 4))");
}

TEST(Parser, not_applies_to_its_parentheses) {
  EXPECT_EQ(tree_of("not (1 == 2) and 3"), "(and (not (== 1 2)) 3)");
  EXPECT_EQ(tree_of("not not true"), "(not (not 1))");
}

TEST(Parser, texts_are_compared_by_word_and_by_pattern) {
  EXPECT_EQ(tree_of(R"(${a} eq "x" or ${b} seq "y")"), R"((or (eq $a "x") (seq $b "y")))");
  EXPECT_EQ(tree_of("lowercase(${n}) =~ /^mpi_/"), "(=~ ^mpi_ (lower $n))");
}

TEST(Parser, absolute_values_have_bars) {
  EXPECT_EQ(tree_of("|1 - 2| + 3"), "(+ (abs (- 1 2)) 3)");
}

TEST(Parser, functions_have_one_operand_or_two) {
  EXPECT_EQ(tree_of("sqrt(4) + max(1, min(2, 3))"), "(+ (sqrt 4) (max 1 (min 2 3)))");
  EXPECT_THAT(tree_of("sqrt(1, 2)"), HasSubstr("expected ')', found ','"));
  EXPECT_THAT(tree_of("min(1)"), HasSubstr("expected ',', found ')'"));
}

TEST(Parser, variables_may_have_an_index) {
  EXPECT_EQ(tree_of("${a}[${i} + 1]"), "($a (+ $i 1))");
  EXPECT_EQ(tree_of("${a}[${b}[2]]"), "($a ($b 2))");
  EXPECT_EQ(tree_of("sizeof(cube::#callpaths) + defined(a)"),
            "(+ (sizeof cube::#callpaths) (defined a))");
}

TEST(Parser, metrics_have_flavors_and_scopes) {
  EXPECT_EQ(tree_of("metric::time()"), "(metric time)");
  EXPECT_EQ(tree_of("metric::time(e)"), "(metric time e)");
  EXPECT_EQ(tree_of("metric::context::time(i, *)"), "(metric time i)");
  EXPECT_EQ(tree_of("metric::time(*,*)"), "(metric time)");
  EXPECT_EQ(tree_of("metric::fixed::time()"), "(metric time all of all)");
  EXPECT_EQ(tree_of("metric::fixed::time(i)"), "(metric time i all)");
  EXPECT_EQ(tree_of("metric::fixed::time(i, e)"), "(metric time i)");
  EXPECT_THAT(tree_of("metric::time(x)"), HasSubstr("expected a flavor (e, i or *), found 'x'"));
  EXPECT_THAT(tree_of("metric::time(e,e,e)"), HasSubstr("at most two flavors"));
  EXPECT_THAT(tree_of("metric::(e)"), HasSubstr("without the name"));
}

TEST(Parser, blocks_have_statements_and_a_result) {
  EXPECT_EQ(tree_of("{ ${a} = 1; ${b}[2] = ${a}; return ${b}; }"), "(block (= a 1) (= b $a 2) $b)");
  EXPECT_EQ(tree_of("{ global(x); local(y); return 0; }"), "(block (global x) (local y) 0)");
  EXPECT_EQ(tree_of("1 + { return 2; }"), "(+ 1 (block 2))");
}

TEST(Parser, conditions_have_any_number_of_branches) {
  EXPECT_EQ(tree_of("{ if (1) { ${a} = 1; }; return 0; }"), "(block (if 1 (body (= a 1))) 0)");
  EXPECT_EQ(tree_of("{ if (1) {} elseif (2) {} elseif (3) {} else {}; return 0; }"),
            "(block (if 1 body 2 body 3 body body) 0)");
}

TEST(Parser, loops_have_a_condition_and_a_body) {
  EXPECT_EQ(tree_of("{ while (${i} < 3) { ${i} = ${i} + 1; }; return ${i}; }"),
            "(block (while (< $i 3) (body (= i (+ $i 1)))) $i)");
}

TEST(Parser, metric_properties_are_set_and_read) {
  EXPECT_EQ(tree_of(R"({ cube::metric::set::mpi("value", "VOID"); return 0; })"),
            R"((block (set mpi "value" "VOID") 0))");
  EXPECT_EQ(tree_of(R"(cube::metric::get::mpi("uom") eq "sec")"), R"((eq (get mpi "uom") "sec"))");
}

TEST(Parser, errors_have_found_token_and_offset) {
  EXPECT_EQ(tree_of("1 +"), "3: expected a value, found the end");
  EXPECT_EQ(tree_of("1 2"), "2: the number 2 does not continue the expression");
  EXPECT_EQ(tree_of("(1"), "2: expected ')', found the end");
  EXPECT_EQ(tree_of("foo"),
            "0: 'foo' is not a value; texts have quotes, variables are written ${name}");
  EXPECT_EQ(tree_of("{ ${a} = 1 return 2; }"), "11: expected ';', found 'return'");
  EXPECT_EQ(tree_of("{ if (1) {} return 2; }"), "12: expected ';', found 'return'");
  EXPECT_EQ(tree_of("{ ${a} = 1; }"), "12: expected a statement or 'return', found '}'");
  EXPECT_EQ(tree_of("{ 5; return 1; }"), "2: expected a statement, found the number 5");
  EXPECT_EQ(tree_of("{ if 1 {}; return 1; }"), "5: expected '(', found the number 1");
}

TEST(Parser, unsupported_constructs_return_error_with_advice) {
  const auto refused = [](std::string_view text) {
    const auto tree = parse(text);
    return !tree && tree.error().kind == ErrorClass::kUnsupported ? tree.error().message
                                                                  : "accepted";
  };
  EXPECT_THAT(refused("metric::call::time(1, e)"), HasSubstr("'metric::call::' is not supported"));
  EXPECT_THAT(refused("1 + random(2)"), HasSubstr("equal output"));
  EXPECT_THAT(refused("{ cube::metric::prederived::x(e) << 1 >>; return 0; }"),
              HasSubstr("define the metric in the specification"));
  EXPECT_THAT(refused("{ cube::init::metric::x << 1 >>; return 0; }"), HasSubstr("<cubeplinit>"));
  EXPECT_THAT(refused("{ cube::metric::plus::x << 1 >>; return 0; }"), HasSubstr("<cubeplaggr"));
  EXPECT_THAT(refused("ln(2)"), HasSubstr("'ln' is not supported; write log(x)"));
  EXPECT_THAT(refused("cot(2)"), HasSubstr("'cot' is not supported; write 1 / tan(x)"));
  EXPECT_THAT(refused("acot(2)"), HasSubstr("'acot' is not supported; write atan(1 / x)"));
  EXPECT_THAT(refused("{ print(2); return 0; }"), HasSubstr("'print' is not supported"));
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(Parser, deep_nesting_returns_limit_error) {
  const auto fault = [](const std::string& text) {
    const auto tree = parse(text);
    return tree ? ErrorClass::kException : tree.error().kind;
  };
  EXPECT_EQ(fault(repeated("(", 100000)), ErrorClass::kLimit);
  EXPECT_EQ(fault(repeated("-", 100000) + "1"), ErrorClass::kLimit);
  EXPECT_EQ(fault(repeated("not ", 100000) + "1"), ErrorClass::kLimit);
  EXPECT_EQ(fault(repeated("|", 100000)), ErrorClass::kLimit);
  EXPECT_EQ(fault(repeated("${a}[", 100000)), ErrorClass::kLimit);
  EXPECT_EQ(fault(repeated("{ return ", 100000)), ErrorClass::kLimit);
  EXPECT_EQ(fault("{" + repeated(" while (1) {", 100000)), ErrorClass::kLimit);
  EXPECT_EQ(fault("1" + repeated(" + 1", 100000)), ErrorClass::kLimit);
  EXPECT_TRUE(parse(repeated("(", 90) + "1" + repeated(")", 90)));
  EXPECT_TRUE(parse("1" + repeated(" or 1", 200)));
}

}  // namespace
}  // namespace forebay::cubepl
