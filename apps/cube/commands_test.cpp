// SPDX-License-Identifier: Apache-2.0
// The program as its callers see it: arguments in; documents, error lines and exit codes out.
#include "cube/commands.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "cube/byte_order.hpp"
#include "cube/describe.hpp"
#include "cube/index.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

using command::CommandResult;
using command::kExitFailure;
using command::kExitProblemsFound;
using command::kExitSuccess;
using command::kExitUsage;
using testing::TempDirectory;

using Args = std::vector<std::string_view>;

/// Runs a command that must end with `exit_code`; returns its document or its error.
Json run(const Args& args, int exit_code = kExitSuccess) {
  const CommandResult outcome = run_command(args);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors << outcome.output;
  const bool has_document = exit_code == kExitSuccess || exit_code == kExitProblemsFound;
  EXPECT_EQ(outcome.output.empty(), !has_document);
  if (has_document) return Json::parse(outcome.output, nullptr, false);
  return Json::parse(outcome.errors, nullptr, false).value("error", Json::object());
}

class Commands : public ::testing::Test {
 protected:
  /// Generates a small profile at `path`, with additional options.
  void generate(const std::string& path, Args options = {}) {
    Args args{"generate", path, "--threads", "70"};
    if (std::ranges::count(options, "--metrics") == 0) {
      args.insert(args.end(), {"--metrics", "3", "--cnodes", "20"});
    }
    args.insert(args.end(), options.begin(), options.end());
    run(args);
  }
  /// Overwrites the byte at `offset` of the file.
  static void set_byte(const std::string& path, std::size_t offset, unsigned char value) {
    auto bytes = testing::read_file(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<std::byte>(value);
    testing::write_file(path, bytes);
  }
  TempDirectory directory_;
  const std::string a_ = directory_.file("a.cubex");
  const std::string b_ = directory_.file("b.cubex");
};

TEST_F(Commands, generated_profile_passes_info_and_check) {
  const Json made = run({"generate", a_, "--threads", "70", "--workers=2"});
  const Json& profile = made.at("profile");
  EXPECT_EQ(profile, run({"info", a_}).at("profile"));
  EXPECT_EQ(profile.at("file_bytes"), std::filesystem::file_size(a_));
  EXPECT_EQ(profile.at("rows"), 614) << "as in the inputs of the study";
  EXPECT_EQ(profile.at("row_bytes"), 4912 * 70);
  EXPECT_EQ(profile.at("metrics").size(), 11U);
  EXPECT_EQ(profile.at("call_paths"), 56);
  EXPECT_EQ(profile.at("locations"), 70);
  EXPECT_EQ(profile.at("location_groups"), 2);

  const Json checked = run({"check", a_});
  EXPECT_TRUE(checked.at("problems").empty());
  EXPECT_TRUE(checked.at("remarks").empty());
  EXPECT_EQ(checked.at("rows_checked"), 614);
  EXPECT_EQ(checked.at("values_checked"), 614 * 70);
}

TEST_F(Commands, generated_file_depends_on_seed_not_on_workers) {
  for (const Args& storing : {Args{}, Args{"--compress"}}) {
    Args one{"--workers", "1", "--seed", "5"};
    Args five{"--workers", "5", "--seed", "5"};
    one.insert(one.end(), storing.begin(), storing.end());
    five.insert(five.end(), storing.begin(), storing.end());
    generate(a_, one);
    generate(b_, five);
    EXPECT_EQ(testing::read_file(a_), testing::read_file(b_));
    generate(b_, storing);
    EXPECT_NE(testing::read_file(a_), testing::read_file(b_));
  }
}

TEST_F(Commands, diff_of_copy_finds_no_difference) {
  generate(a_);
  std::filesystem::copy_file(a_, b_);
  const Json found = run({"diff", a_, b_});
  EXPECT_TRUE(found.at("structure").empty());
  EXPECT_TRUE(found.at("metrics").empty());
  EXPECT_EQ(found.at("values_compared"), 3 * 20 * 70);
}

TEST_F(Commands, diff_ignores_storage_of_rows) {
  generate(a_);
  for (const Args& storing :
       {Args{"--compress"}, Args{"--compress", "--level", "9"}, Args{"--index", "dense"},
        Args{"--byte-order", "big"}, Args{"--byte-order", "big", "--compress"}}) {
    generate(b_, storing);
    EXPECT_NE(testing::read_file(a_), testing::read_file(b_));
    EXPECT_TRUE(run({"diff", a_, b_}).at("ok").get<bool>()) << storing.front();
  }
}

TEST_F(Commands, diff_reads_missing_rows_as_zero) {
  generate(a_);
  generate(b_, {"--rows", "58"});
  const Json found = run({"diff", a_, b_, "--shown", "3"}, kExitProblemsFound);
  ASSERT_EQ(found.at("metrics").size(), 1U);
  const Json& metric = found.at("metrics").at(0);
  EXPECT_EQ(metric.at("name"), "min_time");
  EXPECT_EQ(metric.at("differences"), 2 * 70);
  EXPECT_EQ(metric.at("largest_relative"), 1.0);
  ASSERT_EQ(metric.at("first").size(), 3U);
  EXPECT_EQ(metric.at("first").at(0).at("b"), 0.0);
  EXPECT_EQ(metric.at("first").at(1).at("location"), "MPI Rank 0/OMP thread 1");
}

TEST_F(Commands, diff_finds_one_changed_value) {
  generate(a_);
  generate(b_);
  const std::uint64_t data = run({"info", b_}).at("profile").at("metrics").at(1).at("offset");
  // Row 1 of time, location 2; the lowest byte of the mantissa.
  set_byte(b_, data + 10 + std::uint64_t{8} * (70 + 2), 0x55);
  const Json found = run({"diff", a_, b_}, kExitProblemsFound);
  EXPECT_TRUE(found.at("structure").empty());
  const Json& metric = found.at("metrics").at(0);
  EXPECT_EQ(metric.at("name"), "time");
  EXPECT_EQ(metric.at("differences"), 1);
  EXPECT_EQ(metric.at("first").at(0).at("call_path"), "bt_mz/mpi_setup_");
  EXPECT_EQ(metric.at("first").at(0).at("location"), "MPI Rank 0/OMP thread 2");
  EXPECT_TRUE(run({"diff", a_, b_, "--relative", "1e-9"}).at("ok").get<bool>());
  EXPECT_TRUE(run({"diff", a_, b_, "--absolute", "1e-6"}).at("ok").get<bool>());
}

/// A profile with two metrics named "visits", with ids 0 and 20, whose values are `first` and
/// `second` at the root call path and location 0.
void write_two_visits(const std::string& path, std::int16_t first, double second) {
  Anchor anchor = testing::small_anchor();
  anchor.metrics[1].unique_name = "visits";
  std::vector<testing::NamedContent> members;
  const auto add = [&](const Metric& metric, auto value) {
    const auto index = encode_index({.rows = {0}});
    std::string data(anchor.row_bytes(metric), '\0');
    store(value, std::as_writable_bytes(std::span(data)));
    members.emplace_back(data_name(metric.id), "CUBEX.DATA" + data);
    members.emplace_back(index_name(metric.id),
                         std::string(reinterpret_cast<const char*>(index.data()), index.size()));
  };
  add(anchor.metrics[0], first);
  add(anchor.metrics[1], second);
  members.emplace_back("anchor.xml", write_anchor(anchor));
  testing::write_archive(path, members);
}

TEST_F(Commands, diff_matches_metrics_of_one_name_by_order) {
  write_two_visits(a_, 1, 2.0);
  write_two_visits(b_, 1, 3.0);
  EXPECT_TRUE(run({"diff", a_, a_}).at("ok").get<bool>());
  const Json found = run({"diff", a_, b_}, kExitProblemsFound);
  EXPECT_TRUE(found.at("structure").empty()) << found;
  ASSERT_EQ(found.at("metrics").size(), 1U) << found;
  EXPECT_EQ(found.at("metrics").at(0).at("name"), "visits");
  EXPECT_EQ(found.at("metrics").at(0).at("id"), 20);
  EXPECT_EQ(found.at("metrics").at(0).at("first").at(0).at("b"), 3.0);
}

TEST_F(Commands, diff_reports_additional_metric_of_one_name) {
  write_two_visits(a_, 1, 2.0);
  Anchor anchor = testing::small_anchor();
  anchor.metrics.pop_back();
  testing::write_archive(b_, {{"anchor.xml", write_anchor(anchor)}});
  EXPECT_EQ(run({"diff", a_, b_}, kExitProblemsFound).at("structure"),
            Json({"metric visits#20 is in the first file only"}));
  EXPECT_EQ(run({"diff", b_, a_}, kExitProblemsFound).at("structure"),
            Json({"metric visits#20 is in the second file only"}));
}

TEST_F(Commands, unknown_metric_error_lists_known_metrics) {
  generate(a_);
  const auto message = [&] {
    return run({"values", a_, "--metric", "nope"}, kExitFailure).value("message", "");
  };
  EXPECT_TRUE(message().ends_with("no metric nope; the profile has visits, time, min_time"))
      << message();
  generate(a_, {"--metrics", "25", "--cnodes", "20"});
  EXPECT_TRUE(message().ends_with(" and 5 others")) << message();
}

TEST_F(Commands, diff_reports_structure_before_values) {
  generate(a_);
  generate(b_, {"--type", "INT16"});
  EXPECT_EQ(run({"diff", a_, b_}, kExitProblemsFound).at("structure").at(0),
            "metric min_time, type: MINDOUBLE and INT16");
  run({"generate", b_, "--threads", "70", "--metrics", "2", "--cnodes", "21"});
  const Json found = run({"diff", a_, b_}, kExitProblemsFound);
  EXPECT_EQ(found.at("values_compared"), 0);
  EXPECT_EQ(found.at("structure").size(), 2U);
}

TEST_F(Commands, damage_fails_info_and_is_a_problem_of_check) {
  struct Case {
    std::string name;
    std::size_t offset;
    unsigned char value;
    std::string class_name;
    std::uint64_t told_at;
  };
  generate(a_, {"--compress"});
  const Json metric = run({"info", a_}).at("profile").at("metrics").at(0);
  const auto data = metric.at("offset").get<std::size_t>();
  const std::size_t index = data + round_up_to_block(metric.at("data_bytes").get<std::size_t>());
  for (const Case& damage : {Case{"data with another name", 0, 'x', "damage", index},
                             Case{"magic", data, 'x', "damage", data},
                             Case{"row count of the table", data + 11, 200, "damage", data + 11},
                             Case{"first entry", data + 19, 1, "damage", data + 19}}) {
    generate(a_, {"--compress"});
    set_byte(a_, damage.offset, damage.value);
    EXPECT_EQ(run({"info", a_}, kExitFailure).at("class"), damage.class_name) << damage.name;
    const Json found = run({"check", a_}, kExitProblemsFound);
    ASSERT_EQ(found.at("problems").size(), 1U) << damage.name;
    EXPECT_EQ(found.at("problems").at(0).at("class"), damage.class_name) << damage.name;
    EXPECT_EQ(found.at("problems").at(0).at("offset"), damage.told_at) << damage.name;
    EXPECT_EQ(found.at("rows_checked"), 40) << "the other metrics are checked";
  }
}

TEST_F(Commands, check_reports_offset_of_broken_stream) {
  generate(a_, {"--compress"});
  const Json profile = run({"info", a_}).at("profile");
  const auto data = profile.at("metrics").at(1).at("offset").get<std::size_t>();
  const std::size_t first_row = data + 11 + 8 + std::size_t{24} * 20;
  set_byte(a_, first_row + 5, 0xee);
  const Json found = run({"check", a_}, kExitProblemsFound);
  EXPECT_EQ(found.at("problems").at(0).at("offset"), first_row);
  EXPECT_EQ(found.at("rows_checked"), 59);
  EXPECT_EQ(run({"diff", a_, a_}, kExitFailure).at("class"), "damage");
}

TEST_F(Commands, check_remarks_non_finite_value) {
  generate(a_);
  const Json profile = run({"info", a_}).at("profile");
  const auto data = profile.at("metrics").at(1).at("offset").get<std::size_t>();
  set_byte(a_, data + 10 + 6, 0xf0);
  set_byte(a_, data + 10 + 7, 0x7f);
  const Json found = run({"check", a_});
  ASSERT_EQ(found.at("remarks").size(), 1U);
  EXPECT_EQ(found.at("remarks").at(0).at("offset"), data + 10);
}

TEST_F(Commands, check_reports_truncated_file) {
  generate(a_);
  std::filesystem::resize_file(a_, 2000);
  const Json problem = run({"check", a_}, kExitProblemsFound).at("problems").at(0);
  EXPECT_EQ(problem.at("class"), "short-file");
  EXPECT_EQ(problem.at("offset"), 2000);
}

TEST_F(Commands, values_lists_each_call_path) {
  generate(a_, {"--type", "RATE"});
  const Json all = run({"values", a_, "--metric", "time"});
  EXPECT_EQ(all.at("type"), "RATE");
  ASSERT_EQ(all.at("call_paths").size(), 20U);
  const Json& second = all.at("call_paths").at(1);
  EXPECT_EQ(second.at("call_path"), "bt_mz/mpi_setup_");
  ASSERT_EQ(second.at("values").size(), 70U);
  EXPECT_EQ(second.at("values").at(0).size(), 2U);
  const Json one = run({"values", a_, "--metric", "time", "--cnode", "1"});
  EXPECT_EQ(one.at("call_paths").at(0), second);
  EXPECT_EQ(run({"values", a_, "--metric", "none"}, kExitFailure).at("class"), "not-found");
  EXPECT_EQ(run({"values", a_, "--metric", "time", "--cnode", "99"}, kExitFailure).at("class"),
            "not-found");
  EXPECT_EQ(run({"values", a_}, kExitUsage).at("class"), "usage");
}

TEST_F(Commands, usage_error_has_own_class_and_exit_code) {
  for (const Args& args : {Args{},
                           {"remove", a_},
                           {"info"},
                           {"info", a_, b_},
                           {"diff", a_},
                           {"diff", a_, b_, "--absolute", "-1"},
                           {"diff", a_, b_, "--relative", "nan"},
                           {"generate", a_, "--threads", "0"},
                           {"generate", a_, "--type", "QUAD"},
                           {"generate", a_, "--rows", "617"},
                           {"generate", a_, "--rows", "10"},
                           {"generate", a_, "--level", "3"},
                           {"generate", a_, "--compress", "--level", "10"},
                           {"generate", a_, "--index", "none"}}) {
    EXPECT_EQ(run(args, kExitUsage).at("class"), "usage");
  }
  EXPECT_FALSE(std::filesystem::exists(a_));
}

TEST_F(Commands, missing_file_and_directory_return_errors) {
  EXPECT_EQ(run({"info", a_}, kExitFailure).at("class"), "not-found");
  EXPECT_EQ(run({"check", a_}, kExitFailure).at("errno"), ENOENT);
  const std::string directory = std::filesystem::temp_directory_path();
  EXPECT_EQ(run({"info", directory}, kExitFailure).at("class"), "unsupported");
  EXPECT_EQ(run({"generate", directory_.file("none/a")}, kExitFailure).at("class"), "not-found");
}

class Samples : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const directory = std::getenv("FOREBAY_SAMPLES");
    if (directory == nullptr)
      GTEST_SKIP() << "FOREBAY_SAMPLES does not name a directory of samples";
    directory_ = std::filesystem::path(directory) / "cubex";
    if (!std::filesystem::exists(directory_)) GTEST_SKIP() << directory_ << " does not exist";
  }
  std::filesystem::path directory_;
};

TEST_F(Samples, each_sample_passes_check_and_equals_itself) {
  for (const std::string name : {"cube-values_example", "kripke.p8", "time.p4"}) {
    const std::string path = directory_ / (name + ".cubex");
    const Json checked = run({"check", path});
    EXPECT_TRUE(checked.at("remarks").empty()) << checked.dump(1);
    EXPECT_GT(checked.at("rows_checked"), 50);
    run({"diff", path, path});
  }
}

TEST_F(Samples, big_endian_sample_is_read) {
  const Json profile = run({"info", std::string(directory_ / "kripke.p8.cubex")}).at("profile");
  EXPECT_EQ(profile.at("metrics").at(0).at("byte_order"), "big");
}

}  // namespace
}  // namespace forebay::cube
