// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/simulation_document.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::trace_tool {
namespace {

using command::Json;

TEST(SimulationDocument, pattern_has_a_base_and_all_predictors) {
  const auto streams = pattern_streams("stride.64k");
  ASSERT_TRUE(streams) << streams.error().message();
  const Json document = simulation_document(*streams, {.lookahead = 2}).value();
  EXPECT_EQ(document.at("lookahead"), 2);
  const Json& stream = document.at("streams").at(0);
  EXPECT_EQ(stream.at("name"), "stride.64k");
  EXPECT_EQ(stream.at("reads"), 200);
  EXPECT_EQ(stream.at("base").at("faults"), 200);
  EXPECT_EQ(stream.count("error"), 0U);
  ASSERT_EQ(stream.at("predictors").size(), 6U);
  EXPECT_EQ(stream.at("predictors").at(0).at("name"), "runs");
  EXPECT_LE(stream.at("predictors").at(0).at("faults"), 4);
  EXPECT_GT(stream.at("predictors").at(0).at("ns_per_access"), 0);
  EXPECT_EQ(stream.at("predictors").at(5).at("name"), "stored");
  EXPECT_EQ(stream.at("predictors").at(5).at("faults"), 0);
}

TEST(SimulationDocument, progress_that_returns_false_ends_with_cancelled) {
  const auto cancel = [](const command::ProgressStep&) { return false; };
  EXPECT_EQ(error_class(simulation_document(*pattern_streams("lu"), {}, cancel)),
            ErrorClass::kCancelled);
}

TEST(SimulationDocument, no_name_means_all_patterns_that_read) {
  const auto streams = pattern_streams("");
  ASSERT_TRUE(streams);
  EXPECT_GE(streams->size(), 10U);
  for (const ReadStream& stream : *streams) {
    EXPECT_NE(stream.name, "flash_io");
    EXPECT_FALSE(stream.reads.empty()) << stream.name;
  }
}

TEST(SimulationDocument, pattern_that_writes_and_unknown_pattern_are_errors) {
  EXPECT_EQ(error_class(pattern_streams("flash_io")), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(pattern_streams("no.such")), ErrorClass::kInvalidArgument);
}

TEST(SimulationDocument, streams_of_a_trace_are_its_reads_with_bytes) {
  LoadedTrace loaded;
  loaded.files[0] = {.path = "data"};
  loaded.sources[4] = {.thread = 7};
  loaded.streams[{0, 4}].reads.all = {{0, 10}, {10, 0}, {20, ~std::uint64_t{0}}};
  loaded.streams[{0, 5}].writes.all = {{0, 10}};
  loaded.streams[{9, 9}].reads.all = {{0, 10}};
  const auto streams = read_streams(loaded);
  ASSERT_EQ(streams.size(), 2U);
  EXPECT_EQ(streams[0].name, "data thread 7");
  EXPECT_EQ(streams[0].reads.size(), 1U);
  EXPECT_EQ(streams[1].name, "(no name)");
}

}  // namespace
}  // namespace forebay::trace_tool
