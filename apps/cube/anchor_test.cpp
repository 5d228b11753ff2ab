// SPDX-License-Identifier: Apache-2.0
#include "cube/anchor.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "command/random.hpp"
#include "cube/anchor_text.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

const std::string kMetric =
    "<metric id=\"7\" type=\"EXCLUSIVE\"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype></metric>";
const std::string kRegion =
    "<region id=\"5\" begin=\"1\" end=\"x\"><name>a&lt;b&gt;</name></region>";
const std::string kLocation = "<location Id=\"0\"><name>Master</name><rank>0</rank></location>";

struct AnchorText {
  std::string metrics = kMetric;
  std::string program = kRegion + "<cnode id=\"9\" calleeId=\"5\"/>";
  std::string locations = kLocation;

  std::string text() const {
    return "<?xml version=\"1.0\"?>\n<cube version=\"4.4\"><attr key=\"a\" "
           "value=\"&amp;\"/><metrics>" +
           metrics + "</metrics><!-- kept --><program>" + program +
           "</program><system><systemtreenode Id=\"0\"><name>m</name><locationgroup Id=\"0\">" +
           locations + "</locationgroup></systemtreenode></system></cube>";
  }
};

Anchor parse(const std::string& text) {
  auto anchor = parse_anchor(text);
  EXPECT_TRUE(anchor) << anchor.error().message();
  return anchor.value_or(Anchor{});
}

/// The error of an anchor that must be rejected.
Error expect_error(const AnchorText& parts) {
  const auto anchor = parse_anchor(parts.text());
  EXPECT_FALSE(anchor);
  return anchor ? Error({}) : anchor.error();
}

TEST(Anchor, required_elements_are_read) {
  const Anchor anchor = parse(AnchorText{}.text());
  EXPECT_EQ(anchor.version, "4.4");
  EXPECT_EQ(anchor.attributes.at(0).second, "&");
  ASSERT_EQ(anchor.metrics.size(), 1U);
  EXPECT_EQ(anchor.metrics[0].id, 7U);
  EXPECT_EQ(anchor.metrics[0].type.name(), "DOUBLE");
  EXPECT_EQ(anchor.region_name_at(0), "a<b>");
  EXPECT_EQ(anchor.regions[0].end_line, -1);
  EXPECT_EQ(anchor.call_tree.at(0).id, 9U);
  EXPECT_EQ(anchor.row_bytes(anchor.metrics[0]), 8U);
}

TEST(Anchor, trees_are_read_depth_first_with_parents) {
  AnchorText parts;
  parts.program =
      kRegion +
      "<cnode id=\"1\" calleeId=\"5\"><cnode id=\"2\" calleeId=\"5\"><cnode id=\"3\" "
      "calleeId=\"5\"/></cnode><cnode id=\"4\" calleeId=\"5\"><parameter partype=\"string\" "
      "parkey=\"k\" parvalue=\"v\"/></cnode></cnode><cnode id=\"0\" calleeId=\"5\"/>";
  const Anchor anchor = parse(parts.text());
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> parents;
  for (const CallPath& path : anchor.call_tree.paths()) {
    ids.push_back(path.id);
    parents.push_back(path.parent);
  }
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{1, 2, 3, 4, 0}));
  EXPECT_EQ(parents, (std::vector<std::uint32_t>{kNone, 0, 1, 0, kNone}));
  EXPECT_EQ(anchor.call_tree.at(3).parameters.at(0).value, "v");
}

TEST(Anchor, locations_are_ordered_by_id) {
  AnchorText parts;
  parts.locations = "<location Id=\"2\"><name>c</name></location>" + kLocation +
                    "<location Id=\"1\"><name>b</name></location>";
  const Anchor anchor = parse(parts.text());
  EXPECT_EQ(anchor.locations.at(2).name, "c");
  EXPECT_EQ(anchor.locations.at(0).name, "Master");
}

TEST(Anchor, expressions_with_and_without_quotes_are_read) {
  AnchorText parts;
  parts.metrics =
      "<metric id=\"1\" type=\"POSTDERIVED\" viztype=\"GHOST\"><uniq_name>r</uniq_name>"
      "<dtype>DOUBLE</dtype><cubepl rowwise=false>metric::a() / 2 &lt; 1</cubepl>"
      "<cubeplinit>{ global(x); }</cubeplinit><cubeplaggr cubeplaggrtype=plus>arg1 + arg2"
      "</cubeplaggr><cubeplaggr cubeplaggrtype=\"aggr\">rowwise=sum</cubeplaggr></metric>";
  const Metric metric = parse(parts.text()).metrics.at(0);
  EXPECT_EQ(metric.kind, MetricKind::kPostderived);
  EXPECT_EQ(metric.expressions.value, "metric::a() / 2 < 1");
  EXPECT_FALSE(metric.expressions.is_row_wise);
  EXPECT_EQ(metric.expressions.init, "{ global(x); }");
  EXPECT_EQ(metric.expressions.plus, "arg1 + arg2");
  EXPECT_EQ(metric.expressions.aggregate, "rowwise=sum");
  EXPECT_EQ(metric.attributes.at(0).second, "GHOST");
}

TEST(Anchor, text_that_resembles_groups_is_parsed_unfolded) {
  AnchorText parts;
  parts.locations =
      kLocation + "<!-- </locationgroup> --><location Id=\"1\"><name>x</name></location>";
  EXPECT_EQ(parse(parts.text()).locations.at(1).name, "x");
  parts.locations = kLocation +
                    "</locationgroup><locationgroup Id=\"1\"/><locationgroup Id=\"2\">" +
                    "<location Id=\"1\"><name>y</name></location>";
  EXPECT_EQ(parse(parts.text()).locations.at(1).name, "y");
  const FoldedText folded =
      fold_groups("<a><locationgroup Id=\"0\">1</locationgroup>b<locationgroup>");
  EXPECT_EQ(folded.text, "<a><locationgroup n=\"0\"/>b<locationgroup>");
  EXPECT_EQ(folded.groups.at(0), "<locationgroup Id=\"0\">1</locationgroup>");
}

TEST(Anchor, groups_before_and_after_inner_nodes_are_read) {
  Anchor anchor = testing::small_anchor();
  anchor.groups.push_back({.id = 1, .name = "rank 1", .rank = 1, .type = "process", .node = 0});
  anchor.locations[2].group = 1;
  const Anchor again = parse(write_anchor(anchor));
  EXPECT_EQ(again.groups.at(again.locations.at(2).group).name, "rank 1");
  EXPECT_EQ(again.groups.at(again.locations.at(2).group).node, 0U);
  EXPECT_EQ(again.groups.at(again.locations.at(1).group).node, 1U);
}

TEST(Anchor, quote_attributes_changes_only_attributes) {
  EXPECT_EQ(quote_attributes("<a rowwise=false>rowwise=x rowwise=y</a><b rowwise=\"z\"/>"),
            "<a rowwise=\"false\">rowwise=x rowwise=y</a><b rowwise=\"z\"/>");
  EXPECT_EQ(quote_attributes("<a rowwise="), "<a rowwise=");
  EXPECT_EQ(quote_attributes("<a rowwise=x rowwise=y/>"), "<a rowwise=\"x\" rowwise=\"y\"/>");
  EXPECT_EQ(quote_attributes("<a rowwise=f"), "<a rowwise=\"f\"");
}

TEST(Anchor, unknown_type_or_kind_returns_unsupported_with_name) {
  AnchorText parts;
  parts.metrics =
      "<metric id=\"1\" type=\"EXCLUSIVE\"><uniq_name>u</uniq_name><dtype>QUAD</dtype></metric>";
  EXPECT_EQ(expect_error(parts).kind(), ErrorClass::kUnsupported);
  EXPECT_NE(expect_error(parts).cause().find("metric 1 (u): 'QUAD'"), std::string::npos);
  parts.metrics =
      "<metric id=\"1\" type=\"SIMPLE\"><uniq_name>u</uniq_name><dtype>DOUBLE</dtype></metric>";
  EXPECT_EQ(expect_error(parts).kind(), ErrorClass::kUnsupported);
  EXPECT_NE(expect_error(parts).cause().find("'SIMPLE'"), std::string::npos);
}

TEST(Anchor, damage_returns_error_with_cause_and_offset) {
  const auto expect = [](const AnchorText& parts, const std::string& text) {
    const Error error = expect_error(parts);
    EXPECT_EQ(error.kind(), ErrorClass::kDamage);
    EXPECT_NE(error.cause().find(text), std::string::npos) << error.message();
    EXPECT_TRUE(error.offset_bytes());
  };
  expect({.metrics = kMetric + kMetric}, "two <metric> have the id 7");
  expect({.metrics = "<metric id=\"-1\"/>"}, "id of <metric> must be a whole number");
  expect({.metrics = "<metric/>"}, "id of <metric>");
  expect({.program = kRegion + "<cnode id=\"1\" calleeId=\"6\"/>"},
         "region 6, which does not exist");
  expect({.program = kRegion + kRegion}, "two <region> have the id 5");
  expect({.locations = ""}, "the system has no locations");
  expect({.locations = kLocation + kLocation}, "two locations have the id 0");
  expect({.locations = "<location Id=\"1\"/>"}, "a location has the id 1 of 1 locations");
  expect({.metrics = "<metric"}, "not XML");
  EXPECT_EQ(parse_anchor("").error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(parse_anchor("<html/>").error().kind(), ErrorClass::kDamage);
}

TEST(Anchor, deep_tree_is_read) {
  constexpr int kDepth = 100000;
  AnchorText parts;
  parts.program = kRegion;
  for (int i = 0; i < kDepth; ++i)
    parts.program += "<cnode id=\"" + std::to_string(i) + "\" calleeId=\"5\">";
  for (int i = 0; i < kDepth; ++i)
    parts.program += "</cnode>";
  EXPECT_EQ(parse(parts.text()).call_tree.size(), static_cast<std::uint32_t>(kDepth));
}

TEST(Anchor, written_anchor_is_read_back) {
  Anchor anchor = testing::small_anchor();
  anchor.metrics[1].parent = 0;
  anchor.metrics[1].description = "a < b & \"c\"";
  anchor.mirrors = {"file:///a&b"};
  anchor.regions[1].description = "of a region";
  anchor.regions[1].url = "@mirror@x";
  anchor.metrics[1].attributes = {{"viztype", "GHOST"}};
  anchor.metrics.push_back({.id = 30,
                            .kind = MetricKind::kPostderived,
                            .type = {},
                            .unique_name = "ratio",
                            .expressions = {.value = "1 < 2",
                                            .init = "{}",
                                            .plus = "a",
                                            .minus = "b",
                                            .aggregate = "c",
                                            .is_row_wise = false}});
  const std::string text = write_anchor(anchor);
  const Anchor again = parse(text);
  EXPECT_EQ(again.metrics.at(1).description, anchor.metrics[1].description);
  EXPECT_EQ(again.metrics.at(1).parent, 0U);
  EXPECT_EQ(again.metrics.back().expressions, anchor.metrics.back().expressions);
  EXPECT_EQ(again.call_tree.at(2).parameters.at(0).key, "size");
  EXPECT_EQ(again.locations.at(3).name, anchor.locations[3].name);
  EXPECT_EQ(again.mirrors, anchor.mirrors);
  EXPECT_EQ(again.regions.at(1).description, "of a region");
  EXPECT_EQ(again.regions.at(1).url, "@mirror@x");
  EXPECT_EQ(again.call_tree.at(1).module, "a.c");
  EXPECT_EQ(again.call_tree.at(1).line, 7);
  EXPECT_EQ(again.call_tree.at(0).line, -1);
  EXPECT_EQ(write_anchor(again), text);
}

TEST(Anchor, replace_metrics_preserves_other_text) {
  const AnchorText parts{};
  Anchor anchor = parse(parts.text());
  anchor.metrics[0].unique_name = "other";
  const auto changed = replace_metrics(parts.text(), anchor.metrics);
  ASSERT_TRUE(changed);
  EXPECT_EQ(parse(*changed).metrics.at(0).unique_name, "other");
  const std::string rest = parts.text().substr(parts.text().find("</metrics>"));
  EXPECT_TRUE(changed->ends_with(rest)) << *changed;
  EXPECT_FALSE(replace_metrics("<cube/>", anchor.metrics));
}

TEST(Anchor, compressed_text_is_decompressed_broken_one_is_rejected) {
  const std::string text = AnchorText{}.text();
  std::string compressed = testing::gzip(text);
  EXPECT_EQ(*decompress_anchor(compressed), text);
  compressed.resize(compressed.size() / 2);
  ASSERT_FALSE(decompress_anchor(compressed));
  EXPECT_EQ(decompress_anchor(compressed).error().kind(), ErrorClass::kDamage);
}

/// A text that gzip compresses to about a hundredth.
std::string text_of_blanks() {
  command::Random random(1, 0);
  std::string text;
  while (text.size() < 40'000'000)
    text.append(200 + random.bits() % 500, ' ')
        .push_back(static_cast<char>('a' + random.bits() % 16));
  return text;
}

TEST(Anchor, decompressed_text_over_limit_returns_limit_error) {
  for (const std::string& long_text : {std::string(40'000'000, ' '), text_of_blanks()}) {
    const std::string compressed = testing::gzip(long_text);
    const auto text = decompress_anchor(compressed);
    ASSERT_FALSE(text) << compressed.size();
    EXPECT_EQ(text.error().kind(), ErrorClass::kLimit);
  }
}

TEST(Anchor, too_many_tags_return_limit_error) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i)
    text += "<a/>";
  const auto unpacked = decompress_anchor(testing::gzip(text));
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().kind(), ErrorClass::kLimit);
}

// Regression test for quadratic time: each attribute searched backward for its bracket and forward
// for the other name.
TEST(Anchor, quote_attributes_takes_linear_time) {
  constexpr int kAttributes = 400'000;
  std::string text = "<a";
  for (int i = 0; i < kAttributes; ++i)
    text += " rowwise=false";
  const std::string quoted = quote_attributes(text + "/></metrics>");
  EXPECT_EQ(std::ranges::count(quoted, '"'), 2 * kAttributes);
}

}  // namespace
}  // namespace forebay::cube
