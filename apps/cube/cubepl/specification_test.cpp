// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/specification.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::cubepl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Specification read(const std::string& text) {
  auto parsed = parse_specification(text, "test.spec");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed.value_or(Specification{});
}

std::string error_message_of_text(const std::string& text) {
  const auto parsed = parse_specification(text, "test.spec");
  return parsed ? "accepted" : parsed.error().message();
}

TEST(Specification, mirrors_and_metric_trees_are_read) {
  const Specification made =
      read(R"(<doc><mirrors><murl>http://a/</murl><murl>b</murl></mirrors></doc>
<metrics title="All">
  <metric>
    <!-- copied -->
    <disp_name>Critical & atomic</disp_name> <uniq_name> time </uniq_name>
    <dtype>FLOAT</dtype> <uom>sec</uom> <val>VOID</val>
    <url>@mirror@x#t</url> <descr>Total &lt;CPU&gt;</descr>
    <metric type="PREDERIVED_EXCLUSIVE" viztype="GHOST" convertible="false" cacheable="true">
      <uniq_name>mpi</uniq_name>
      <cubepl rowwise=false>1 < 2</cubepl>
      <cubeplinit>{ return 0; }</cubeplinit>
      <cubeplaggr cubeplaggrtype=plus>arg1</cubeplaggr>
      <cubeplaggr cubeplaggrtype=minus>arg2</cubeplaggr>
      <cubeplaggr cubeplaggrtype=aggr>max(arg1, arg2)</cubeplaggr>
    </metric>
  </metric>
  <metric type="INCLUSIVE"><uniq_name>visits</uniq_name></metric>
</metrics>
)");
  EXPECT_EQ(made.title, "All");
  EXPECT_THAT(made.mirrors, ElementsAre("http://a/", "b"));
  ASSERT_EQ(made.metrics.size(), 3U);
  const MetricSpecification& time = made.metrics[0];
  EXPECT_EQ(time.display_name, "Critical & atomic");
  EXPECT_EQ(time.unique_name, "time");
  EXPECT_EQ(time.dtype, "FLOAT");
  EXPECT_EQ(time.uom, "sec");
  EXPECT_EQ(time.value, "VOID");
  EXPECT_EQ(time.url, "@mirror@x#t");
  EXPECT_EQ(time.description, "Total <CPU>");
  EXPECT_EQ(time.kind, MetricKind::kExclusive);
  EXPECT_FALSE(time.parent);
  const MetricSpecification& mpi = made.metrics[1];
  EXPECT_EQ(mpi.kind, MetricKind::kPrederivedExclusive);
  EXPECT_EQ(mpi.visibility, Visibility::kGhost);
  EXPECT_EQ(mpi.conversion, Conversion::kForbidden);
  EXPECT_EQ(mpi.parent, 0U);
  EXPECT_EQ(mpi.expression.text(), "1 < 2");
  EXPECT_EQ(mpi.expression.position(0), (Position{10, 29}));
  EXPECT_EQ(mpi.plus.text(), "arg1");
  EXPECT_EQ(mpi.minus.text(), "arg2");
  EXPECT_EQ(mpi.aggregation.text(), "max(arg1, arg2)");
  EXPECT_EQ(made.metrics[2].kind, MetricKind::kInclusive);
  EXPECT_EQ(made.find("visits"), 2U);
  EXPECT_FALSE(made.find("nothing"));
}

TEST(Specification, every_kind_has_a_name) {
  for (const auto kind :
       {MetricKind::kExclusive, MetricKind::kInclusive, MetricKind::kPrederivedExclusive,
        MetricKind::kPrederivedInclusive, MetricKind::kPostderived}) {
    const std::string text = "<metrics><metric type=\"" + std::string(name_of(kind)) +
                             "\"><uniq_name>a</uniq_name></metric></metrics>";
    EXPECT_EQ(read(text).metrics.at(0).kind, kind);
  }
}

TEST(Specification, unknown_elements_return_error_with_line) {
  EXPECT_THAT(error_message_of_text(
                  "<metrics>\n <metric type=\"X\"><uniq_name>a</uniq_name></metric></metrics>"),
              HasSubstr("read remapping specification test.spec: line 2, column 3: type=\"X\""));
  EXPECT_THAT(error_message_of_text("<metrics><metric color=\"red\"/></metrics>"),
              HasSubstr("color"));
  EXPECT_THAT(error_message_of_text("<metrics><metric><uniq_name>a</uniq_name><cubepl>1</cubepl>\n"
                                    "<color>red</color></metric></metrics>"),
              HasSubstr("line 2, column 2: <color> is not an element of a metric"));
  EXPECT_THAT(error_message_of_text("<metrics><region/></metrics>"),
              HasSubstr("<region> is not allowed between metrics"));
  EXPECT_THAT(error_message_of_text("<program/><metrics/>"),
              HasSubstr("<program> is not expected"));
  EXPECT_THAT(error_message_of_text("<metrics/><metrics/>"),
              HasSubstr("<metrics> is not expected"));
}

TEST(Specification, missing_and_repeated_elements_return_errors) {
  EXPECT_THAT(error_message_of_text("<doc></doc>"), HasSubstr("<metrics> is missing"));
  EXPECT_THAT(error_message_of_text("<metrics><metric/></metrics>"),
              HasSubstr("has no <uniq_name>"));
  EXPECT_THAT(error_message_of_text("<metrics><metric><uniq_name>a</uniq_name></metric>"
                                    "<metric><uniq_name>a</uniq_name></metric></metrics>"),
              HasSubstr("metric a occurs twice"));
  EXPECT_THAT(error_message_of_text("<metrics><metric><uom>a</uom><uom>b</uom></metric></metrics>"),
              HasSubstr("<uom> occurs twice"));
  EXPECT_THAT(error_message_of_text("<metrics><metric type=\"POSTDERIVED\"><uniq_name>a</uniq_name>"
                                    "<cubepl>1</cubepl><cubepl>2</cubepl></metric></metrics>"),
              HasSubstr("the same script occurs twice"));
}

TEST(Specification, damaged_xml_returns_error_with_line) {
  EXPECT_THAT(error_message_of_text("<metrics>\n<metric>\n</metrics>"), HasSubstr("line 3"));
  EXPECT_THAT(error_message_of_text(""), HasSubstr("test.spec"));
  EXPECT_THAT(error_message_of_text("<metrics><metric><cubepl>1 + 2"),
              HasSubstr("without its end"));
}

TEST(Specification, deep_and_long_files_return_limit_errors) {
  std::string deep = "<metrics>";
  for (int i = 0; i < 2000; ++i)
    deep += "<metric><uniq_name>m" + std::to_string(i) + "</uniq_name>";
  for (int i = 0; i < 2000; ++i)
    deep += "</metric>";
  EXPECT_THAT(error_message_of_text(deep + "</metrics>"),
              HasSubstr("more than 100 nested metrics"));
  EXPECT_THAT(error_message_of_text(std::string(kSpecificationBytesMax + 1, ' ')),
              HasSubstr("bytes exceed"));
}

}  // namespace
}  // namespace forebay::cubepl
