// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cube/cubepl/script_extractor.hpp"

namespace forebay::cubepl {
namespace {

using ::testing::HasSubstr;

TEST(Script, positions_count_lines_and_bytes) {
  const Script script("ab\ncd", {7, 3});
  EXPECT_EQ(script.position(0), (Position{7, 3}));
  EXPECT_EQ(script.position(2), (Position{7, 5}));
  EXPECT_EQ(script.position(3), (Position{8, 1}));
  EXPECT_EQ(script.position(5), (Position{8, 3}));
}

TEST(Script, entities_are_one_character_in_text_and_several_in_file) {
  const Script script("a &lt; b &amp;&amp; &quot;&apos;&gt;&nbsp;", {1, 1});
  EXPECT_EQ(script.text(), "a < b && \"'>&nbsp;");
  EXPECT_EQ(script.position(2), (Position{1, 3}));
  EXPECT_EQ(script.position(3), (Position{1, 7}));
  EXPECT_EQ(script.position(4), (Position{1, 8}));
}

TEST(Script, escaped_ampersand_is_decoded_once) { EXPECT_EQ(decode_entities("&amp;lt;"), "&lt;"); }

TEST(ScriptExtractor, replaces_script_by_its_number) {
  const auto cut = extract_scripts("<a>\n<cubepl>1 < 2</cubepl> <cubeplinit>{</cubeplinit></a>");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->xml, "<a>\n<cubepl n=\"0\"/> <cubepl n=\"1\"/></a>");
  ASSERT_EQ(cut->scripts.size(), 2U);
  EXPECT_EQ(cut->scripts[0].script.text(), "1 < 2");
  EXPECT_EQ(cut->scripts[0].role, ScriptRole::kExpression);
  EXPECT_EQ(cut->scripts[0].script.position(0), (Position{2, 9}));
  EXPECT_EQ(cut->scripts[1].role, ScriptRole::kInit);
}

TEST(ScriptExtractor, attributes_with_and_without_quotes_are_accepted) {
  for (const char* const text : {"<cubeplaggr cubeplaggrtype=minus>arg1</cubeplaggr>",
                                 "<cubeplaggr cubeplaggrtype=\"minus\" >arg1</cubeplaggr>"}) {
    const auto cut = extract_scripts(text);
    ASSERT_TRUE(cut) << text;
    ASSERT_EQ(cut->scripts.size(), 1U);
    EXPECT_EQ(cut->scripts[0].role, ScriptRole::kMinus);
  }
}

TEST(ScriptExtractor, comments_and_cdata_keep_their_tags) {
  const std::string text = "<!-- <cubepl>1 --> <![CDATA[<cubepl>]]>";
  const auto cut = extract_scripts(text);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->xml, text);
  EXPECT_TRUE(cut->scripts.empty());
}

TEST(ScriptExtractor, offsets_after_a_script_refer_to_the_file) {
  const std::string text = "<a><cubepl>x</cubepl><b/></a>";
  const auto cut = extract_scripts(text);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->source_offset(cut->xml.find("<a>")), 0U);
  EXPECT_EQ(cut->source_offset(cut->xml.find("<b/>")), text.find("<b/>"));
}

TEST(ScriptExtractor, unterminated_and_unknown_elements_return_errors) {
  const auto fault = [](std::string_view text) { return extract_scripts(text).error().message; };
  EXPECT_THAT(fault("<cubepl>1"), HasSubstr("without its end '</cubepl>'"));
  EXPECT_THAT(fault("<!-- 1"), HasSubstr("a comment without its end"));
  EXPECT_THAT(fault("<cubepl rowwise=maybe>1</cubepl>"), HasSubstr("attributes"));
  EXPECT_THAT(fault("<cubeplaggr>1</cubeplaggr>"), HasSubstr("cubeplaggrtype"));
}

}  // namespace
}  // namespace forebay::cubepl
