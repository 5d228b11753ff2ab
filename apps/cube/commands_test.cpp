// SPDX-License-Identifier: Apache-2.0
// The program as its callers see it: words in, documents, error lines and exit codes out.
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

using command::kExitDone;
using command::kExitFailed;
using command::kExitProblems;
using command::kExitUsage;
using command::Outcome;
using testing::TempFolder;

using Words = std::vector<std::string_view>;

/// Runs a command that must end with `exit_code`; its document, or its error.
Json run(const Words& words, int exit_code = kExitDone) {
  const Outcome outcome = run_command(words);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors << outcome.output;
  const bool has_document = exit_code == kExitDone || exit_code == kExitProblems;
  EXPECT_EQ(outcome.output.empty(), !has_document);
  if (has_document) return Json::parse(outcome.output, nullptr, false);
  return Json::parse(outcome.errors, nullptr, false).value("error", Json::object());
}

class Commands : public ::testing::Test {
 protected:
  /// A small profile at `path`, with more options.
  void make(const std::string& path, Words options = {}) {
    Words words{"generate", path, "--threads", "70"};
    if (std::ranges::count(options, "--metrics") == 0) {
      words.insert(words.end(), {"--metrics", "3", "--cnodes", "20"});
    }
    words.insert(words.end(), options.begin(), options.end());
    run(words);
  }
  /// Changes the file at `offset`.
  static void change(const std::string& path, std::size_t offset, unsigned char value) {
    auto bytes = testing::contents_of(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<std::byte>(value);
    testing::write_file(path, bytes);
  }
  TempFolder folder_;
  const std::string a_ = folder_.file("a.cubex");
  const std::string b_ = folder_.file("b.cubex");
};

TEST_F(Commands, generate_then_info_and_check) {
  const Json made = run({"generate", a_, "--threads", "70", "--workers=2"});
  const Json& profile = made.at("profile");
  EXPECT_EQ(profile, run({"info", a_}).at("profile"));
  EXPECT_EQ(profile.at("file_bytes"), std::filesystem::file_size(a_));
  EXPECT_EQ(profile.at("rows"), 614) << "as many as the deck's inputs";
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

TEST_F(Commands, a_file_depends_on_the_seed_and_not_on_workers) {
  for (const Words& storing : {Words{}, Words{"--compress"}}) {
    Words one{"--workers", "1", "--seed", "5"};
    Words five{"--workers", "5", "--seed", "5"};
    one.insert(one.end(), storing.begin(), storing.end());
    five.insert(five.end(), storing.begin(), storing.end());
    make(a_, one);
    make(b_, five);
    EXPECT_EQ(testing::contents_of(a_), testing::contents_of(b_));
    make(b_, storing);
    EXPECT_NE(testing::contents_of(a_), testing::contents_of(b_));
  }
}

TEST_F(Commands, a_copy_does_not_differ) {
  make(a_);
  std::filesystem::copy_file(a_, b_);
  const Json found = run({"diff", a_, b_});
  EXPECT_TRUE(found.at("structure").empty());
  EXPECT_TRUE(found.at("metrics").empty());
  EXPECT_EQ(found.at("values_compared"), 3 * 20 * 70);
}

TEST_F(Commands, how_rows_are_stored_is_no_difference) {
  make(a_);
  for (const Words& storing :
       {Words{"--compress"}, Words{"--compress", "--level", "9"}, Words{"--index", "dense"},
        Words{"--byte-order", "big"}, Words{"--byte-order", "big", "--compress"}}) {
    make(b_, storing);
    EXPECT_NE(testing::contents_of(a_), testing::contents_of(b_));
    EXPECT_TRUE(run({"diff", a_, b_}).at("ok").get<bool>()) << storing.front();
  }
}

TEST_F(Commands, rows_that_are_missing_are_zero) {
  make(a_);
  make(b_, {"--rows", "58"});
  const Json found = run({"diff", a_, b_, "--shown", "3"}, kExitProblems);
  ASSERT_EQ(found.at("metrics").size(), 1U);
  const Json& metric = found.at("metrics").at(0);
  EXPECT_EQ(metric.at("name"), "min_time");
  EXPECT_EQ(metric.at("differences"), 2 * 70);
  EXPECT_EQ(metric.at("largest_relative"), 1.0);
  ASSERT_EQ(metric.at("first").size(), 3U);
  EXPECT_EQ(metric.at("first").at(0).at("b"), 0.0);
  EXPECT_EQ(metric.at("first").at(1).at("location"), "MPI Rank 0/OMP thread 1");
}

TEST_F(Commands, one_changed_value_is_found_and_named) {
  make(a_);
  make(b_);
  const std::uint64_t data = run({"info", b_}).at("profile").at("metrics").at(1).at("offset");
  // Row 1 of time, location 2; the lowest byte of the fraction.
  change(b_, data + 10 + std::uint64_t{8} * (70 + 2), 0x55);
  const Json found = run({"diff", a_, b_}, kExitProblems);
  EXPECT_TRUE(found.at("structure").empty());
  const Json& metric = found.at("metrics").at(0);
  EXPECT_EQ(metric.at("name"), "time");
  EXPECT_EQ(metric.at("differences"), 1);
  EXPECT_EQ(metric.at("first").at(0).at("call_path"), "bt_mz/mpi_setup_");
  EXPECT_EQ(metric.at("first").at(0).at("location"), "MPI Rank 0/OMP thread 2");
  EXPECT_TRUE(run({"diff", a_, b_, "--relative", "1e-9"}).at("ok").get<bool>());
  EXPECT_TRUE(run({"diff", a_, b_, "--absolute", "1e-6"}).at("ok").get<bool>());
}

/// A profile with two metrics named "visits", of ids 0 and 20, whose values are `first` and
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

TEST_F(Commands, metrics_of_one_name_are_compared_in_their_order) {
  write_two_visits(a_, 1, 2.0);
  write_two_visits(b_, 1, 3.0);
  EXPECT_TRUE(run({"diff", a_, a_}).at("ok").get<bool>());
  const Json found = run({"diff", a_, b_}, kExitProblems);
  EXPECT_TRUE(found.at("structure").empty()) << found;
  ASSERT_EQ(found.at("metrics").size(), 1U) << found;
  EXPECT_EQ(found.at("metrics").at(0).at("name"), "visits");
  EXPECT_EQ(found.at("metrics").at(0).at("id"), 20);
  EXPECT_EQ(found.at("metrics").at(0).at("first").at(0).at("b"), 3.0);
}

TEST_F(Commands, a_metric_more_of_one_name_is_a_difference) {
  write_two_visits(a_, 1, 2.0);
  Anchor anchor = testing::small_anchor();
  anchor.metrics.pop_back();
  testing::write_archive(b_, {{"anchor.xml", write_anchor(anchor)}});
  EXPECT_EQ(run({"diff", a_, b_}, kExitProblems).at("structure"),
            Json({"metric visits#20 is in the first file only"}));
  EXPECT_EQ(run({"diff", b_, a_}, kExitProblems).at("structure"),
            Json({"metric visits#20 is in the second file only"}));
}

TEST_F(Commands, an_unknown_metric_is_answered_with_those_there_are) {
  make(a_);
  const auto message = [&] {
    return run({"values", a_, "--metric", "nope"}, kExitFailed).value("message", "");
  };
  EXPECT_TRUE(message().ends_with("no metric nope; the profile has visits, time, min_time"))
      << message();
  make(a_, {"--metrics", "25", "--cnodes", "20"});
  EXPECT_TRUE(message().ends_with(" and 5 others")) << message();
}

TEST_F(Commands, another_structure_is_told_before_values) {
  make(a_);
  make(b_, {"--type", "INT16"});
  EXPECT_EQ(run({"diff", a_, b_}, kExitProblems).at("structure").at(0),
            "metric min_time, type: MINDOUBLE and INT16");
  run({"generate", b_, "--threads", "70", "--metrics", "2", "--cnodes", "21"});
  const Json found = run({"diff", a_, b_}, kExitProblems);
  EXPECT_EQ(found.at("values_compared"), 0);
  EXPECT_EQ(found.at("structure").size(), 2U);
}

TEST_F(Commands, damage_is_an_error_of_info_and_a_problem_of_check) {
  struct Case {
    std::string name;
    std::size_t offset;
    unsigned char value;
    std::string class_name;
    std::uint64_t told_at;
  };
  make(a_, {"--compress"});
  const Json metric = run({"info", a_}).at("profile").at("metrics").at(0);
  const auto data = metric.at("offset").get<std::size_t>();
  const std::size_t index = data + in_blocks(metric.at("data_bytes").get<std::size_t>());
  for (const Case& damage : {Case{"data of another name", 0, 'x', "damage", index},
                             Case{"mark", data, 'x', "damage", data},
                             Case{"rows of the table", data + 11, 200, "damage", data + 11},
                             Case{"first entry", data + 19, 1, "damage", data + 19}}) {
    make(a_, {"--compress"});
    change(a_, damage.offset, damage.value);
    EXPECT_EQ(run({"info", a_}, kExitFailed).at("class"), damage.class_name) << damage.name;
    const Json found = run({"check", a_}, kExitProblems);
    ASSERT_EQ(found.at("problems").size(), 1U) << damage.name;
    EXPECT_EQ(found.at("problems").at(0).at("class"), damage.class_name) << damage.name;
    EXPECT_EQ(found.at("problems").at(0).at("offset"), damage.told_at) << damage.name;
    EXPECT_EQ(found.at("rows_checked"), 40) << "the other metrics are checked";
  }
}

TEST_F(Commands, a_broken_stream_is_a_problem_where_it_is) {
  make(a_, {"--compress"});
  const Json profile = run({"info", a_}).at("profile");
  const auto data = profile.at("metrics").at(1).at("offset").get<std::size_t>();
  const std::size_t first_row = data + 11 + 8 + std::size_t{24} * 20;
  change(a_, first_row + 5, 0xee);
  const Json found = run({"check", a_}, kExitProblems);
  EXPECT_EQ(found.at("problems").at(0).at("offset"), first_row);
  EXPECT_EQ(found.at("rows_checked"), 59);
  EXPECT_EQ(run({"diff", a_, a_}, kExitFailed).at("class"), "damage");
}

TEST_F(Commands, a_value_that_is_not_finite_is_a_remark) {
  make(a_);
  const Json profile = run({"info", a_}).at("profile");
  const auto data = profile.at("metrics").at(1).at("offset").get<std::size_t>();
  change(a_, data + 10 + 6, 0xf0);
  change(a_, data + 10 + 7, 0x7f);
  const Json found = run({"check", a_});
  ASSERT_EQ(found.at("remarks").size(), 1U);
  EXPECT_EQ(found.at("remarks").at(0).at("offset"), data + 10);
}

TEST_F(Commands, a_truncated_file_is_a_problem) {
  make(a_);
  std::filesystem::resize_file(a_, 2000);
  const Json problem = run({"check", a_}, kExitProblems).at("problems").at(0);
  EXPECT_EQ(problem.at("class"), "short-file");
  EXPECT_EQ(problem.at("offset"), 2000);
}

TEST_F(Commands, values_are_told_for_each_call_path) {
  make(a_, {"--type", "RATE"});
  const Json all = run({"values", a_, "--metric", "time"});
  EXPECT_EQ(all.at("type"), "RATE");
  ASSERT_EQ(all.at("call_paths").size(), 20U);
  const Json& second = all.at("call_paths").at(1);
  EXPECT_EQ(second.at("call_path"), "bt_mz/mpi_setup_");
  ASSERT_EQ(second.at("values").size(), 70U);
  EXPECT_EQ(second.at("values").at(0).size(), 2U);
  const Json one = run({"values", a_, "--metric", "time", "--cnode", "1"});
  EXPECT_EQ(one.at("call_paths").at(0), second);
  EXPECT_EQ(run({"values", a_, "--metric", "none"}, kExitFailed).at("class"), "not-found");
  EXPECT_EQ(run({"values", a_, "--metric", "time", "--cnode", "99"}, kExitFailed).at("class"),
            "not-found");
  EXPECT_EQ(run({"values", a_}, kExitUsage).at("class"), "usage");
}

TEST_F(Commands, usage_errors_have_their_own_class_and_exit_code) {
  for (const Words& words : {Words{},
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
    EXPECT_EQ(run(words, kExitUsage).at("class"), "usage");
  }
  EXPECT_FALSE(std::filesystem::exists(a_));
}

TEST_F(Commands, a_file_that_is_not_there_or_no_file_is_an_error) {
  EXPECT_EQ(run({"info", a_}, kExitFailed).at("class"), "not-found");
  EXPECT_EQ(run({"check", a_}, kExitFailed).at("errno"), ENOENT);
  const std::string folder = std::filesystem::temp_directory_path();
  EXPECT_EQ(run({"info", folder}, kExitFailed).at("class"), "unsupported");
  EXPECT_EQ(run({"generate", folder_.file("none/a")}, kExitFailed).at("class"), "not-found");
}

class Samples : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("FOREBAY_SAMPLES");
    if (folder == nullptr) GTEST_SKIP() << "FOREBAY_SAMPLES does not name a folder of samples";
    folder_ = std::filesystem::path(folder) / "cubex";
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not there";
  }
  std::filesystem::path folder_;
};

TEST_F(Samples, each_is_whole_and_does_not_differ_from_itself) {
  for (const std::string name : {"cube-values_example", "kripke.p8", "time.p4"}) {
    const std::string path = folder_ / (name + ".cubex");
    const Json checked = run({"check", path});
    EXPECT_TRUE(checked.at("remarks").empty()) << checked.dump(1);
    EXPECT_GT(checked.at("rows_checked"), 50);
    run({"diff", path, path});
  }
}

TEST_F(Samples, one_of_a_machine_of_the_other_byte_order_is_read) {
  const Json profile = run({"info", std::string(folder_ / "kripke.p8.cubex")}).at("profile");
  EXPECT_EQ(profile.at("metrics").at(0).at("byte_order"), "big");
}

}  // namespace
}  // namespace forebay::cube
