// SPDX-License-Identifier: Apache-2.0
// The command `remap`, from arguments to files: its output, and that a failure leaves none.
#include "cube/remap.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "cube/commands.hpp"
#include "cube/describe.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

using command::kExitFailure;
using command::kExitSuccess;
using command::kExitUsage;
using testing::TempDirectory;

using Args = std::vector<std::string_view>;

class Remap : public ::testing::Test {
 protected:
  void SetUp() override {
    run({"generate", a_, "--threads", "70", "--metrics", "4", "--cnodes", "20"});
  }
  static Json run(const Args& args, int exit_code = kExitSuccess) {
    const command::CommandResult outcome = run_command(args);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors << outcome.output;
    if (exit_code == kExitSuccess) return Json::parse(outcome.output, nullptr, false);
    return Json::parse(outcome.errors, nullptr, false).value("error", Json::object());
  }
  /// Remaps a_ to b_, which must then be valid.
  Json remap(const Args& options) {
    Args args{"remap", a_, "--output", b_};
    args.insert(args.end(), options.begin(), options.end());
    Json report = run(args);
    const Json checked = run({"check", b_});
    EXPECT_TRUE(checked.at("remarks").empty()) << checked;
    return report;
  }
  /// Remapping with these options must fail without leaving a file.
  std::string expect_error(const Args& options, int exit_code = kExitFailure) {
    Args args{"remap", a_, "--output", b_};
    args.insert(args.end(), options.begin(), options.end());
    const std::size_t files = directory_.file_count();
    const Json error = run(args, exit_code);
    EXPECT_EQ(directory_.file_count(), files);
    return error.value("message", "");
  }
  std::string specification(std::string_view metrics) {
    const std::string path = directory_.file("a.spec");
    std::ofstream(path) << "<metrics>\n" << metrics << "</metrics>\n";
    return path;
  }
  Json values(const std::string& path, std::string_view metric) {
    return run({"values", path, "--metric", metric}).at("call_paths");
  }
  static void expect_text(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << " should contain: " << part;
  }

  TempDirectory directory_;
  const std::string a_ = directory_.file("a.cubex");
  const std::string b_ = directory_.file("b.cubex");
};

constexpr std::string_view kTwo = R"(
  <metric><uniq_name>time</uniq_name><dtype>FLOAT</dtype>
    <metric type="PREDERIVED_EXCLUSIVE"><uniq_name>twice</uniq_name>
      <cubepl>2 * metric::time(e)</cubepl></metric></metric>
  <metric type="PREDERIVED_INCLUSIVE"><uniq_name>both</uniq_name>
    <cubepl>metric::time(i) + metric::visits(i)</cubepl></metric>
)";

TEST_F(Remap, without_options_copies_profile) {
  const Json report = remap({});
  EXPECT_TRUE(run({"diff", a_, b_}).at("ok").get<bool>());
  EXPECT_EQ(report.at("copied").at("metrics"), 4);
  EXPECT_EQ(report.at("profile").at("file_bytes"), std::filesystem::file_size(b_));
  EXPECT_EQ(report.at("stream").at("bytes"), std::filesystem::file_size(b_)) << "each byte once";
}

TEST_F(Remap, unknown_members_are_copied) {
  const std::vector<testing::NamedContent> others{
      {"notes.data", "a"}, {std::string(60, 'f') + "/" + std::string(90, 'n'), "bc"}};
  auto members = others;
  members.emplace_back("anchor.xml", write_anchor(testing::small_anchor()));
  members.emplace_back("77.data", "of no metric");
  testing::write_archive(a_, members);
  run({"remap", a_, "--output", b_});
  const Json found = run({"info", b_}).at("profile").at("other_members");
  ASSERT_EQ(found.size(), others.size()) << found;
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(found.at(i).at("name"), others[i].first);
    EXPECT_EQ(found.at(i).at("bytes"), others[i].second.size());
  }
}

TEST_F(Remap, index_without_rows_is_not_written) {
  const auto index = encode_index({.rows = {}});
  const std::string text(reinterpret_cast<const char*>(index.data()), index.size());
  testing::write_archive(a_, {{"0.index", text},
                              {"0.data", "CUBEX.DATA"},
                              {"anchor.xml", write_anchor(testing::small_anchor())}});
  for (const Args& options : {Args{}, Args{"--inclusive", "visits"}}) {
    EXPECT_EQ(remap(options).at("without_rows"), 2);
    EXPECT_EQ(run({"info", b_}).at("profile").at("metrics").at(0).at("stored"), nullptr);
  }
}

TEST_F(Remap, compressed_output_is_equal_profile) {
  remap({"--compress", "--level", "9"});
  EXPECT_TRUE(run({"diff", a_, b_}).at("ok").get<bool>());
  EXPECT_LT(std::filesystem::file_size(b_), std::filesystem::file_size(a_));
}

TEST_F(Remap, reads_every_storage_of_rows) {
  for (const Args& storing : {Args{"--compress"}, Args{"--index", "dense"},
                              Args{"--byte-order", "big"}, Args{"--type", "TAU_ATOMIC"}}) {
    Args args{"generate", a_, "--threads", "70"};
    args.insert(args.end(), storing.begin(), storing.end());
    run(args);
    remap({});
    EXPECT_TRUE(run({"diff", a_, b_}).at("ok").get<bool>()) << storing.front();
  }
}

TEST_F(Remap, input_may_be_output) {
  std::filesystem::copy_file(a_, b_);
  run({"remap", b_, "--output", b_, "--select", "time"});
  EXPECT_EQ(run({"info", b_}).at("profile").at("metrics").size(), 1U);
}

TEST_F(Remap, threads_and_memory_do_not_change_output) {
  const std::string spec = specification(kTwo);
  for (const Args& storing : {Args{}, Args{"--compress"}}) {
    Args one{"--spec", spec, "--threads", "1"};
    one.insert(one.end(), storing.begin(), storing.end());
    remap(one);
    const auto expected = testing::read_file(b_);
    Args five{"--spec", spec, "--threads", "5", "--memory", "1MiB"};
    five.insert(five.end(), storing.begin(), storing.end());
    remap(five);
    EXPECT_TRUE(testing::read_file(b_) == expected);
  }
}

TEST_F(Remap, rows_longer_than_buffers_are_written) {
  run({"generate", a_, "--threads", "3000", "--metrics", "4", "--cnodes", "20"});
  RemapOptions options{
      .input = a_, .output = b_, .specification = specification(kTwo), .threads = 3};
  for (const std::optional<int> level : {std::optional<int>(), std::optional(1)}) {
    options.compression_level = level;
    options.buffer_bytes_max = 64U << 20U;
    WriterComm alone;
    ASSERT_TRUE(cube::remap(options, alone));
    const auto expected = testing::read_file(b_);
    options.buffer_bytes_max = 4096;  // rows have 24000 bytes
    ASSERT_TRUE(cube::remap(options, alone));
    EXPECT_TRUE(testing::read_file(b_) == expected);
  }
}

TEST_F(Remap, derived_metrics_keep_their_tree) {
  const Json profile = remap({"--spec", specification(kTwo)}).at("profile");
  ASSERT_EQ(profile.at("metrics").size(), 6U) << "three of the specification, three others";
  const Json& twice = profile.at("metrics").at(1);
  EXPECT_EQ(twice.at("name"), "twice");
  EXPECT_EQ(twice.at("kind"), "EXCLUSIVE");
  EXPECT_EQ(twice.at("type"), "DOUBLE");
  EXPECT_EQ(twice.at("parent"), 0);
  EXPECT_EQ(twice.at("rows"), 20);
  EXPECT_EQ(profile.at("metrics").at(2).at("kind"), "INCLUSIVE");
}

TEST_F(Remap, too_many_rows_at_once_returns_memory_error) {
  // A row takes 80 kB, so 13 of them fit; the ratio needs those of all call paths at once.
  run({"generate", a_, "--threads", "10000", "--metrics", "2", "--cnodes", "40"});
  const std::string spec = specification(
      R"(<metric type="PREDERIVED_EXCLUSIVE"><uniq_name>twice</uniq_name>
           <cubepl>2 * metric::time(e)</cubepl></metric>
         <metric type="POSTDERIVED"><uniq_name>ratio</uniq_name>
           <cubepl>metric::twice(i) / metric::visits(i)</cubepl></metric>)");
  remap({"--spec", spec, "--select", "twice", "--inclusive", "twice", "--memory", "1MiB"});
  const auto expected = testing::read_file(b_);
  remap({"--spec", spec, "--select", "twice", "--inclusive", "twice"});
  EXPECT_TRUE(testing::read_file(b_) == expected);
  const std::string message = expect_error({"--spec", spec, "--memory", "1MiB"});
  expect_text(message, "needs more than 13 rows of 80000 bytes at once; increase --memory");
  remap({"--spec", spec, "--memory", "8MiB"});
}

TEST_F(Remap, select_writes_only_selected_metrics) {
  const Json report = remap({"--spec", specification(kTwo), "--select", "twice\nvisits"});
  const Json& metrics = report.at("profile").at("metrics");
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics.at(0).at("name"), "twice");
  EXPECT_TRUE(metrics.at(0).at("parent").is_null()) << "its parent is not written";
  EXPECT_EQ(metrics.at(1).at("name"), "visits");
}

TEST_F(Remap, inclusive_then_exclusive_restores_values) {
  const Json before = values(a_, "visits");
  const std::string kind = run({"values", a_, "--metric", "visits"}).at("kind");
  ASSERT_EQ(kind, "EXCLUSIVE");
  remap({"--inclusive", "visits"});
  EXPECT_NE(values(b_, "visits"), before);
  const std::string c = directory_.file("c.cubex");
  run({"remap", b_, "--output", c, "--exclusive", "visits"});
  EXPECT_EQ(values(c, "visits").size(), before.size());
  for (const Json& row : values(c, "visits"))
    EXPECT_EQ(row.at("values"), before.at(row.at("row").get<std::size_t>()).at("values"));
}

TEST_F(Remap, not_convertible_metric_keeps_expression) {
  const std::string spec = specification(
      R"(<metric type="POSTDERIVED" convertible="false"><uniq_name>ratio</uniq_name>
         <dtype>FLOAT</dtype><cubepl>metric::time() / metric::visits()</cubepl></metric>)");
  const Json kept = remap({"--spec", spec}).at("profile").at("metrics").at(0);
  EXPECT_EQ(kept.at("kind"), "POSTDERIVED");
  EXPECT_EQ(kept.at("origin"), "none");
  // Now the metric is derived in the profile and can be computed from it.
  const std::string c = directory_.file("c.cubex");
  const Json found = run({"remap", b_, "--output", c, "--inclusive", "ratio"}).at("profile");
  EXPECT_EQ(found.at("metrics").at(0).at("kind"), "INCLUSIVE");
  EXPECT_EQ(found.at("metrics").at(0).at("rows"), 20);
}

TEST_F(Remap, kept_expression_keeps_rowwise_attribute) {
  const std::string spec = specification(
      R"(<metric type="POSTDERIVED" convertible="false"><uniq_name>ratio</uniq_name>
         <dtype>FLOAT</dtype><cubepl rowwise=false>metric::time()</cubepl></metric>)");
  remap({"--spec", spec});
  std::ostringstream text;
  text << std::ifstream(b_, std::ios::binary).rdbuf();
  expect_text(text.str(), "<cubepl rowwise=\"false\">metric::time()</cubepl>");
}

TEST_F(Remap, kept_expression_with_foreign_globals_is_rejected) {
  const std::string spec = specification(
      R"(<metric type="PREDERIVED_EXCLUSIVE"><uniq_name>x</uniq_name><cubepl>1</cubepl>
         <cubeplinit>{ global(g); ${g} = 2; return 0; }</cubeplinit></metric>
         <metric type="POSTDERIVED" convertible="false"><uniq_name>y</uniq_name>
         <cubepl>${g}</cubepl></metric>)");
  expect_text(expect_error({"--spec", spec}), "metric y is not convertible and uses globals");
  remap({"--spec", spec, "--exclusive", "y"});
  EXPECT_EQ(values(b_, "y").at(0).at("values").at(0), 2.0);
}

/// A profile of two metrics without rows: the initialization of "second" assigns a global that
/// "first" reads.
std::string profile_of_two_that_share() {
  Anchor anchor = testing::small_anchor();
  anchor.metrics[0].unique_name = "second";
  anchor.metrics[0].expressions = {.value = "1",
                                   .init = "{ global(shared); ${shared}[0] = 42; return 0; }"};
  anchor.metrics[1].unique_name = "first";
  anchor.metrics[1].expressions = {.value = "${shared}[0]"};
  for (Metric& metric : anchor.metrics) {
    metric.kind = MetricKind::kPrederivedExclusive;
    metric.type = {ValueKind::kDouble, 1};
  }
  return write_anchor(anchor);
}

TEST_F(Remap, globals_of_other_profile_metrics_are_initialized) {
  testing::write_archive(a_, {{"anchor.xml", profile_of_two_that_share()}});
  for (const std::string_view names : {"first", "first\nsecond"}) {
    remap({"--exclusive", names});
    for (const Json& path : values(b_, "first"))
      EXPECT_EQ(path.at("values"), Json({42.0, 42.0, 42.0, 42.0})) << names;
  }
}

TEST_F(Remap, metrics_with_any_name_can_be_selected) {
  for (const std::string_view name : {"perf_raw::r1a8:u,k", "", "visits"}) {
    SCOPED_TRACE(name);
    Anchor anchor = testing::small_anchor();
    anchor.metrics[1].unique_name = name;
    testing::write_archive(a_, {{"anchor.xml", write_anchor(anchor)}});
    const std::string selector = "#" + std::to_string(anchor.metrics[1].id);
    const Json report = remap({"--select", selector});
    ASSERT_EQ(report.at("profile").at("metrics").size(), 1U);
    EXPECT_EQ(report.at("profile").at("metrics").at(0).at("name"), name);
    if (name == "visits") {
      expect_text(expect_error({"--select", name}), "2 metrics are named 'visits'; write one of #");
    } else if (!name.empty()) {
      EXPECT_EQ(remap({"--select", name}).at("profile").at("metrics").size(), 1U);
    }
  }
}

/// A profile with two metrics named "visits", the second with id 20.
std::string profile_of_two_visits() {
  Anchor anchor = testing::small_anchor();
  anchor.metrics[1].unique_name = "visits";
  return write_anchor(anchor);
}

TEST_F(Remap, ambiguous_name_read_by_script_is_rejected) {
  testing::write_archive(a_, {{"anchor.xml", profile_of_two_visits()}});
  const std::string_view message = "2 metrics are named 'visits'; write one of #0 (EXCLUSIVE";
  const std::string_view derived = R"(<metric type="PREDERIVED_EXCLUSIVE"><uniq_name>x</uniq_name>
                                      <cubepl>metric::visits(e)</cubepl></metric>)";
  const std::string_view stored = "<metric><uniq_name>visits</uniq_name></metric>";
  for (const std::string_view metrics : {derived, stored}) {
    const std::string refused = expect_error({"--spec", specification(metrics)});
    expect_text(refused, message);
    expect_text(refused, "a.spec");
  }
  const std::string other = specification(
      R"(<metric type="PREDERIVED_EXCLUSIVE"><uniq_name>x</uniq_name><cubepl>1</cubepl></metric>)");
  EXPECT_EQ(remap({"--spec", other}).at("profile").at("metrics").size(), 3U);
}

TEST_F(Remap, ambiguous_name_to_compute_is_rejected) {
  Anchor anchor = testing::small_anchor();
  for (Metric& metric : anchor.metrics) {
    metric.unique_name = "x";
    metric.kind = MetricKind::kPrederivedExclusive;
    metric.type = {ValueKind::kDouble, 1};
    metric.expressions = {.value = "1"};
  }
  testing::write_archive(a_, {{"anchor.xml", write_anchor(anchor)}});
  expect_text(expect_error({"--exclusive", "#20"}), "several metrics are named 'x'");
  const Json kept = remap({"--select", "#20"}).at("profile").at("metrics");
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.at(0).at("kind"), "PREDERIVED_EXCLUSIVE");
}

TEST_F(Remap, ambiguous_initializer_name_is_rejected) {
  Anchor anchor = *parse_anchor(profile_of_two_that_share());
  anchor.metrics.push_back(anchor.metrics[0]);
  anchor.metrics.back().id = 21;
  testing::write_archive(a_, {{"anchor.xml", write_anchor(anchor)}});
  expect_text(expect_error({"--exclusive", "first"}), "2 metrics are named 'second'");
}

TEST_F(Remap, id_and_name_select_same_metric) {
  testing::write_archive(a_, {{"anchor.xml", write_anchor(testing::small_anchor())}});
  const std::string spec = specification("<metric><uniq_name>time</uniq_name></metric>");
  for (const std::string_view selector : {"time", "#20"}) {
    const Json metrics = remap({"--spec", spec, "--select", selector}).at("profile").at("metrics");
    ASSERT_EQ(metrics.size(), 1U) << selector;
    EXPECT_EQ(metrics.at(0).at("name"), "time");
  }
}

TEST_F(Remap, kept_expression_with_dropped_globals_is_rejected) {
  testing::write_archive(a_, {{"anchor.xml", profile_of_two_that_share()}});
  expect_text(expect_error({"--exclusive", "second"}),
              "first keeps its expression, which uses globals");
  remap({"--exclusive", "second", "--select", "second"});
}

TEST_F(Remap, switched_off_metrics_are_not_written) {
  const std::string spec = specification(
      R"(<metric type="PREDERIVED_EXCLUSIVE"><uniq_name>x</uniq_name><cubepl>1</cubepl>
         <cubeplinit>{ cube::metric::set::x("value", "VOID"); return 0; }</cubeplinit>
         <metric type="PREDERIVED_EXCLUSIVE"><uniq_name>y</uniq_name><cubepl>2</cubepl></metric>
         </metric>)");
  const Json report = remap({"--spec", spec});
  EXPECT_EQ(report.at("profile").at("metrics").size(), 4U);
  EXPECT_EQ(report.at("specification").at("switched_off"), 2);
  expect_text(expect_error({"--spec", spec, "--select", "y"}), "switches y off");
}

TEST_F(Remap, unknown_metric_returns_error_with_name) {
  expect_text(expect_error({"--select", "nope"}), "no metric nope");
  expect_text(expect_error({"--inclusive", "time\nnope"}), "no metric nope");
  expect_text(expect_error({"--exclusive", "nope"}), "no metric nope");
}

TEST_F(Remap, unsupported_script_returns_error_with_position) {
  const std::string spec = specification(
      "<metric type=\"PREDERIVED_EXCLUSIVE\"><uniq_name>x</uniq_name>\n"
      "<cubepl>1 + random(2)</cubepl></metric>");
  const std::string message = expect_error({"--spec", spec});
  expect_text(message, "a.spec");
  expect_text(message, "metric x, cubepl, line 3, column 13");
}

TEST_F(Remap, script_with_unknown_metric_returns_error) {
  const std::string spec = specification(
      "<metric type=\"PREDERIVED_EXCLUSIVE\"><uniq_name>x</uniq_name>"
      "<cubepl>metric::misspelt(e)</cubepl></metric>");
  expect_text(expect_error({"--spec", spec}), "misspelt");
}

TEST_F(Remap, values_that_cannot_be_added_return_error_with_metric) {
  run({"generate", a_, "--threads", "70", "--type", "HISTOGRAM(3)"});
  const std::string message = expect_error({"--inclusive", "visits"});
  expect_text(message, "visits is EXCLUSIVE and has values of type HISTOGRAM(3)");
  const std::string spec = specification(
      "<metric type=\"PREDERIVED_EXCLUSIVE\"><uniq_name>x</uniq_name>"
      "<cubepl>metric::visits(e)</cubepl></metric>");
  expect_text(expect_error({"--spec", spec}), "visits has values of type HISTOGRAM(3)");
}

TEST_F(Remap, unknown_type_returns_error_with_metric) {
  const std::string spec =
      specification("<metric><uniq_name>x</uniq_name><dtype>QUATERNION</dtype></metric>");
  const std::string message = expect_error({"--spec", spec});
  expect_text(message, "metric x");
  expect_text(message, "QUATERNION");
}

TEST_F(Remap, truncated_input_leaves_output_unchanged) {
  remap({});
  const auto before = testing::read_file(b_);
  std::filesystem::resize_file(a_, std::filesystem::file_size(a_) / 2);
  expect_error({});
  EXPECT_TRUE(testing::read_file(b_) == before);
}

TEST_F(Remap, damaged_row_returns_error_with_offset) {
  run({"generate", a_, "--threads", "70", "--metrics", "2", "--cnodes", "20", "--compress"});
  const Json metric = run({"info", a_}).at("profile").at("metrics").at(0);
  auto bytes = testing::read_file(a_);
  const auto end =
      metric.at("offset").get<std::size_t>() + metric.at("data_bytes").get<std::size_t>();
  bytes[end - 1] ^= std::byte{0xff};
  testing::write_file(a_, bytes);
  expect_text(expect_error({}), "a.cubex at offset");
}

TEST_F(Remap, invalid_arguments_return_usage_errors) {
  run({"remap", a_}, kExitUsage);
  expect_error({"--level", "3"}, kExitUsage);
  expect_error({"--spec", "x", "--no-spec"}, kExitUsage);
  expect_error({"--inclusive", "time", "--exclusive", "time"}, kExitUsage);
  expect_error({"--threads", "0"}, kExitUsage);
  expect_error({"--memory", "many"}, kExitUsage);
}

}  // namespace
}  // namespace forebay::cube
