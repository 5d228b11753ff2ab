// SPDX-License-Identifier: Apache-2.0
// Signatures from text and back, the examples of the page, and bad input with its Error.
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "trace/signature.hpp"
#include "trace/signature_cursor.hpp"
#include "trace/signature_testing.hpp"

namespace forebay::trace {
namespace {

std::string canonical(const std::string& text) {
  const auto parsed = parse_signature(text);
  return parsed ? to_text(*parsed) : parsed.error().message();
}

TEST(ParseSignature, text_of_random_signatures_returns_same) {
  RandomSignatures signatures(3, {.depth_max = kLoopDepthMax, .count_factor_min = -1});
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Signature signature = signatures.next();
    if (!check_signature(signature)) continue;
    ++valid;
    const std::string text = to_text(signature);
    const auto parsed = parse_signature(text);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
    EXPECT_EQ(*parsed, signature) << text;
    EXPECT_EQ(to_text(*parsed), text);
  }
  EXPECT_GT(valid, 1000);
}

TEST(ParseSignature, examples_of_page_are_canonical) {
  std::ifstream page(FOREBAY_SOURCE_DIR "/docs/formats/signature.md");
  int examples = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `{") && line.find("`read ") != std::string::npos)
      line = line.substr(line.find("`read ") + 1, line.rfind('`') - line.find("`read ") - 1);
    if (!line.starts_with("read ")) continue;
    EXPECT_EQ(canonical(line), line);
    ++examples;
  }
  EXPECT_EQ(examples, 6);
}

TEST(ParseSignature, values_are_those_of_text) {
  const Signature expected{
      .operation = Operation::kWrite,
      .items = {AccessItem{{1}, {2}, AffineNumber{3000}},
                LoopItem{{2}, {AccessItem{{10, {-7}}, {4}}}}, ListItem{{{8, 9}}}}};
  EXPECT_EQ(parse_signature("write (1, 2, after 3 us), {2 x (10 - 7 i, 4)}, [8 9]").value(),
            expected);
}

TEST(ParseSignature, spaces_and_comments_are_ignored) {
  EXPECT_EQ(canonical("# caf\xc3\xa9 {\n\tread{2x(4096i+0,1024)# end\r\n,[1 2,3 4]}#"),
            "read {2 x (4096 i, 1024), [1 2, 3 4]}");
}

TEST(ParseSignature, text_is_canonical) {
  EXPECT_EQ(canonical("read {3 x (i + 5 + i - 2, 1 i)}"), "read {3 x (3 + 2 i, i)}");
  EXPECT_EQ(canonical("read {3 x {3 x (4 - j - i, 0 i)}}"), "read {3 x {3 x (4 - i - j, 0)}}");
  EXPECT_EQ(canonical("read {3 x {0 - 1 + i x (j, 1)}}"), "read {3 x {-1 + i x (j, 1)}}");
  EXPECT_EQ(canonical("read {3 x {-i x (j, 1)}}"), "read {3 x {-i x (j, 1)}}");
  EXPECT_EQ(canonical("read {-9223372036854775808 x (i, 1)}"),
            "read {-9223372036854775808 x (i, 1)}");
}

TEST(ParseSignature, intervals_have_greatest_exact_unit) {
  EXPECT_EQ(canonical("read (0, 1, after 5000000000 ns)"), "read (0, 1, after 5 s)");
  EXPECT_EQ(canonical("read {2 x (0, 1, after 5 + 1000 i us)}"),
            "read {2 x (0, 1, after 5 + 1000 i us)}");
  EXPECT_EQ(canonical("read {2 x (0, 1, after 5000 + 1000 i us)}"),
            "read {2 x (0, 1, after 5 + i ms)}");
  EXPECT_EQ(canonical("read (0, 1, after 0 s)"), "read (0, 1, after 0 ns)");
}

TEST(ParseSignature, eight_loops_have_eight_variables) {
  const std::string text =
      "read {1 x {1 x {1 x {1 x {1 x {1 x {1 x {1 x (i + j + k + l + m + n + o + p, 1)}}}}}}}}";
  EXPECT_EQ(canonical(text), text);
}

/// The cause of the Error.
std::string parse_refusal(const std::string& text) {
  const auto parsed = parse_signature(text, "x.hints");
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(parsed.error().path(), "x.hints");
  return parsed.error().cause();
}

TEST(ParseSignature, error_names_path_line_and_column) {
  const auto parsed = parse_signature("read\n  {2 y (0, 1)}", "x.hints");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message(),
            "parse signature x.hints: line 2, column 6: expected \"+\", \"-\" or \"x\", found "
            "\"y\"");
}

TEST(ParseSignature, empty_text_and_unknown_operation_are_refused) {
  const std::string expected = R"(expected "read" or "write", found )";
  EXPECT_EQ(parse_refusal(""), "line 1, column 1: " + expected + "the end of the text");
  EXPECT_EQ(parse_refusal(" \n# only"), "line 2, column 7: " + expected + "the end of the text");
  EXPECT_EQ(parse_refusal("reads (0, 1)"), "line 1, column 1: " + expected + "\"reads\"");
  EXPECT_EQ(parse_refusal("Read (0, 1)"), "line 1, column 1: " + expected + "\"Read\"");
}

TEST(ParseSignature, incomplete_text_is_refused) {
  EXPECT_EQ(parse_refusal("read"),
            "line 1, column 5: expected \"(\", \"[\" or \"{\", found the end of the text");
  EXPECT_EQ(parse_refusal("read {2 x (0, 1)"),
            "line 1, column 17: expected \",\" or \"}\", found the end of the text");
  EXPECT_EQ(parse_refusal("read (0"),
            "line 1, column 8: expected \"+\", \"-\" or \",\", found the end of the text");
  EXPECT_EQ(parse_refusal("read (0, 1"),
            "line 1, column 11: expected \"+\", \"-\" or \")\", found the end of the text");
  EXPECT_EQ(parse_refusal("read [0 1"),
            "line 1, column 10: expected \",\" or \"]\", found the end of the text");
  EXPECT_EQ(parse_refusal("read [0]"), "line 1, column 8: expected a number, found \"]\"");
  EXPECT_EQ(parse_refusal("read {2 x }"),
            "line 1, column 11: expected \"(\", \"[\" or \"{\", found \"}\"");
  EXPECT_EQ(parse_refusal("read (, 1)"), "line 1, column 7: expected a number, found \",\"");
}

TEST(ParseSignature, text_after_end_is_refused) {
  EXPECT_EQ(parse_refusal("read (0, 1)}"),
            "line 1, column 12: expected \",\" or the end of the text, found \"}\"");
  EXPECT_EQ(parse_refusal("read (0, 1)\nread (0, 1)"),
            "line 2, column 1: expected \",\" or the end of the text, found \"read\"");
}

TEST(ParseSignature, bad_interval_is_refused) {
  EXPECT_EQ(parse_refusal("read (0, 1, before 2 s)"),
            "line 1, column 13: expected \"after\", found \"before\"");
  EXPECT_EQ(parse_refusal("read (0, 1, after 2)"),
            "line 1, column 20: expected \"+\", \"-\" or a unit: \"ns\", \"us\", \"ms\" or \"s\", "
            "found \")\"");
  EXPECT_EQ(parse_refusal("read (0, 1, after 9223372037 s)"),
            "line 1, column 30: expected an interval up to 2^63 - 1 ns, found \"s\"");
}

TEST(ParseSignature, variable_of_loop_that_is_not_around_is_refused) {
  EXPECT_EQ(parse_refusal("read (4 i, 1)"),
            "line 1, column 9: expected a number without a variable: no loop is around it, found "
            "\"i\"");
  EXPECT_EQ(parse_refusal("read {i x (0, 1)}"),
            "line 1, column 7: expected a number without a variable: no loop is around it, found "
            "\"i\"");
  EXPECT_EQ(parse_refusal("read {2 x {j x (0, 1)}}"),
            "line 1, column 12: expected a number or a variable of the loops around: i, found "
            "\"j\"");
  EXPECT_EQ(parse_refusal("read {2 x {2 x (0, 1)}, (j, 1)}"),
            "line 1, column 26: expected a number or a variable of the loops around: i, found "
            "\"j\"");
}

TEST(ParseSignature, numbers_over_limit_are_refused) {
  EXPECT_EQ(parse_refusal("read (9223372036854775809, 1)"),
            "line 1, column 7: expected a number up to 2^63 - 1, found \"9223372036854775809\"");
  EXPECT_EQ(
      parse_refusal("read (" + std::string(100, '9') + ", 1)"),
      "line 1, column 7: expected a number up to 2^63 - 1, found \"" + std::string(40, '9') + "\"");
  EXPECT_EQ(parse_refusal("read (9223372036854775808, 1)"),
            "line 1, column 7: expected a number from -2^63 to 2^63 - 1");
  EXPECT_EQ(parse_refusal("read {2 x (0, 9223372036854775807 i + i)}"),
            "line 1, column 39: expected a number from -2^63 to 2^63 - 1");
  EXPECT_EQ(parse_refusal("read (-1, 1)"), "line 1, column 6: offset is negative");
}

TEST(ParseSignature, counts_over_limits_are_refused) {
  std::string items = "read (0, 1)";
  for (std::size_t item = 1; item < kItemsMax; ++item)
    items += ",(0,1)";
  EXPECT_TRUE(parse_signature(items).has_value());
  EXPECT_NE(parse_refusal(items + ",(0,1)").find("expected at most 4096 items, found \"(\""),
            std::string::npos);
  std::string list = "read [0 1";
  for (std::size_t access = 1; access < kListedAccessesMax; ++access)
    list += ",0 1";
  EXPECT_TRUE(parse_signature(list + "]").has_value());
  EXPECT_NE(parse_refusal(list + ",0 1]").find("expected at most 1048576 accesses in lists"),
            std::string::npos);
}

TEST(ParseSignature, deep_loops_are_refused_at_ninth) {
  std::string text = "read ";
  for (int depth = 0; depth < 9; ++depth)
    text += "{1 x ";
  EXPECT_EQ(parse_refusal(text),
            "line 1, column 46: expected at most 8 loops inside each other, found \"{\"");
}

TEST(ParseSignature, megabyte_of_braces_is_refused) {
  const std::string braces(1U << 20U, '{');
  EXPECT_EQ(parse_refusal("read " + braces), "line 1, column 7: expected a number, found \"{\"");
  std::string loops = "read ";
  while (loops.size() < (1U << 20U))
    loops += "{1x";
  EXPECT_NE(parse_refusal(loops).find("expected at most 8 loops"), std::string::npos);
}

TEST(ParseSignature, bytes_that_are_not_ascii_are_refused) {
  EXPECT_EQ(parse_refusal("read (\xc3\xa9, 1)"),
            "line 1, column 7: expected a number, found \"\xc3\xa9\"");
  EXPECT_EQ(parse_refusal("read (\xff\xfe, 1)"),
            "line 1, column 7: expected a number, found \"\\xff\\xfe\"");
  EXPECT_EQ(parse_refusal(std::string("read (\0, 1)", 11)),
            "line 1, column 7: expected a number, found \"\\x00\"");
}

/// A text with a few bytes replaced, repeated or removed.
std::string damaged(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kBytes = "0123456789ijkpx(){}[],-+# \n\xff";
  for (std::uint64_t left = 1 + random() % 4; left > 0 && !text.empty(); --left) {
    const std::size_t at = random() % text.size();
    const std::uint64_t kind = random() % 3;
    if (kind == 0) text[at] = kBytes[random() % kBytes.size()];
    if (kind == 1) text.insert(at, text.substr(at, random() % 20));
    if (kind == 2) text.erase(at, random() % 3);
  }
  return text;
}

TEST(ParseSignature, damaged_text_is_refused_or_valid) {
  const std::vector<std::string> texts{
      "read {126 x (1049088 + 524544 i, 524544), {2 + i x (524544 j, 522368 - 4096 j)}}",
      "write {9223372036854775807 x (i, 0, after 9 s)}, [1 2, 9223372036854775807 0]"};
  std::mt19937_64 random(11);
  int valid = 0;
  for (int i = 0; i < 40'000; ++i) {
    const std::string text = damaged(texts[random() % texts.size()], random);
    const auto parsed = parse_signature(text);
    if (!parsed) continue;
    ++valid;
    EXPECT_EQ(parse_signature(to_text(*parsed)).value(), *parsed) << text;
    SignatureCursor cursor(std::make_shared<const Signature>(*parsed));
    for (int accesses = 0; accesses < 100 && !cursor.is_done(); ++accesses)
      cursor.advance();
  }
  EXPECT_GT(valid, 1000);
}

}  // namespace
}  // namespace forebay::trace
