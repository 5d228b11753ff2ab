// SPDX-License-Identifier: Apache-2.0
// The interface of the program: arguments, documents, error lines and exit codes.
#include "tipsy/commands.hpp"

#include <forebay/runtime.hpp>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tipsy/report.hpp"
#include "tipsy/testing.hpp"

namespace forebay::tipsy {
namespace {

using command::CommandResult;
using command::kExitFailure;
using command::kExitProblemsFound;
using command::kExitSuccess;
using command::kExitUsage;
using testing::TempDirectory;

/// Runs a command that must end with `exit_code`. Returns its document, or its error.
Json run(const std::vector<std::string_view>& args, int exit_code = kExitSuccess) {
  const CommandResult outcome = run_command(args);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors << outcome.output;
  const bool has_document = exit_code == kExitSuccess || exit_code == kExitProblemsFound;
  EXPECT_EQ(outcome.output.empty(), !has_document);
  EXPECT_EQ(outcome.errors.empty(), has_document);
  if (has_document) return Json::parse(outcome.output);
  EXPECT_EQ(std::ranges::count(outcome.errors, '\n'), 1);
  return Json::parse(outcome.errors).at("error");
}

class Commands : public ::testing::Test {
 protected:
  void generate(std::vector<std::string_view> options) {
    options.insert(options.begin(), {"generate", path_});
    run(options);
  }
  TempDirectory directory_;
  const std::string path_ = directory_.file("a.tipsy");
};

TEST_F(Commands, generate_then_info_check_and_analyse) {
  const Json made = run({"generate", path_, "--size", "1MiB", "--seed", "3", "--threads", "2"});
  EXPECT_EQ(made.at("seed"), 3);
  EXPECT_EQ(made.at("model").at("name"), "plummer");
  const Json& snapshot = made.at("snapshot");
  EXPECT_EQ(snapshot, run({"info", path_}).at("snapshot"));
  EXPECT_EQ(snapshot.at("file_bytes"), std::filesystem::file_size(path_));
  EXPECT_EQ(snapshot.at("precision"), "single");
  EXPECT_EQ(snapshot.at("byte_order"), "standard");

  const Json checked = run({"check", path_, "--tasks=9"});
  EXPECT_EQ(checked.at("ok"), true);
  EXPECT_TRUE(checked.at("problems").empty());
  EXPECT_EQ(checked.at("particles_checked"), snapshot.at("counts").at("total"));
  EXPECT_LT(checked.at("ranges").at("dark").at("phi").at(1).get<double>(), 0);

  const Json analyzed = run({"analyze", path_, "--tasks", "50", "--shells", "20"});
  EXPECT_EQ(analyzed.at("profile").at("shells").size(), 20U);
  EXPECT_NEAR(analyzed.at("velocity_dispersion").at("total").get<double>(), 0.5427, 0.02);
}

TEST_F(Commands, every_variant_is_generated_and_identified) {
  const std::vector<std::vector<std::string_view>> precisions{
      {"--single"},
      {"--double-positions"},
      {"--double-velocities"},
      {"--double-positions", "--double-velocities"}};
  for (const auto& precision : precisions) {
    for (const std::string_view order : {"standard", "native"}) {
      for (const std::string_view header : {"32", "28"}) {
        std::vector<std::string_view> options{
            "--gas", "5", "--dark", "6", "--star", "7", "--byte-order", order, "--header", header};
        options.insert(options.end(), precision.begin(), precision.end());
        generate(options);
        const Json snapshot = run({"info", path_}).at("snapshot");
        EXPECT_EQ(snapshot.at("byte_order"), order);
        EXPECT_EQ(std::to_string(snapshot.at("header_bytes").get<int>()), header);
        EXPECT_EQ(snapshot.at("precision").is_null(), snapshot.at("candidates").size() == 2);
      }
    }
  }
}

TEST_F(Commands, info_reports_two_candidates_and_other_commands_fail) {
  generate({"--gas", "5", "--double-positions"});
  const Json snapshot = run({"info", path_}).at("snapshot");
  EXPECT_TRUE(snapshot.at("precision").is_null());
  EXPECT_TRUE(snapshot.at("record_bytes").is_null());
  EXPECT_EQ(snapshot.at("candidates"), Json::array({"double-positions", "double-velocities"}));
  EXPECT_EQ(run({"check", path_}, kExitFailure).at("class"), "invalid-argument");
  EXPECT_EQ(run({"check", path_, "--double-positions"}).at("ok"), true);
}

TEST_F(Commands, usage_errors_have_their_own_class_and_exit_code) {
  const std::vector<std::vector<std::string_view>> wrong{
      {},
      {"unknown", path_},
      {"info"},
      {"info", path_, "--tasks", "3"},
      {"analyze", path_, "--tasks", "0"},
      {"analyze", path_, "--threads", "x"},
      {"analyze", path_, "--source", "floppy"},
      {"analyze", path_, "--budget", "much"},
      {"analyze", path_, "--single", "--double-positions"},
      {"generate", path_, "--size", "1GiB", "--gas", "4"},
      {"generate", path_, "--header", "30"}};
  for (const auto& args : wrong) {
    const Json error = run(args, kExitUsage);
    EXPECT_EQ(error.at("class"), "usage");
    EXPECT_TRUE(error.at("offset").is_null());
    EXPECT_EQ(error.at("errno"), 0);
    EXPECT_FALSE(error.at("message").get<std::string>().empty());
  }
}

TEST_F(Commands, budget_option_accepts_what_the_variable_accepts) {
  generate({"--gas", "100"});
  for (const std::string text :
       {"65535", "64 KiB", "64 mib", "1TiB", "1025GiB", "4KiB", "0", "1.5GiB"}) {
    ::setenv("FOREBAY_BUDGET", text.c_str(), 1);
    const auto variable = options_from_environment();
    ::unsetenv("FOREBAY_BUDGET");
    const auto outcome =
        run_command(std::array<std::string_view, 4>{"analyze", path_, "--budget", text});
    EXPECT_EQ(outcome.exit_code, variable ? kExitSuccess : kExitUsage) << text << outcome.errors;
    if (variable) {
      EXPECT_EQ(Json::parse(outcome.output).at("budget_bytes"), variable->budget_bytes) << text;
    } else {
      EXPECT_NE(outcome.errors.find("--budget"), std::string::npos) << outcome.errors;
    }
  }
}

TEST_F(Commands, missing_file_is_an_error_with_path_and_errno) {
  for (const std::string_view command : {"info", "check", "analyze"}) {
    for (const std::string_view source : {"forebay", "ifstream"}) {
      std::vector<std::string_view> args{command, path_};
      if (command != "info") args.insert(args.end(), {"--source", source});
      const Json error = run(args, kExitFailure);
      EXPECT_EQ(error.at("class"), "not-found");
      EXPECT_EQ(error.at("path"), path_);
      EXPECT_EQ(error.at("errno"), ENOENT);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Commands, damage_is_an_error_of_info_and_a_problem_for_check) {
  generate({"--gas", "100", "--dark", "100"});
  const auto whole = testing::read_file(path_);
  struct Damage {
    std::string name;
    std::vector<std::byte> bytes;
    std::string class_name;
  };
  std::vector<Damage> damages{{"empty", {}, "damage"},
                              {"foreign", whole, "damage"},
                              {"count", whole, "damage"},
                              {"longer", whole, "damage"},
                              {"truncated", whole, "short-file"}};
  damages[1].bytes[15] = std::byte{4};
  damages[2].bytes[11] = std::byte{199};
  damages[3].bytes.resize(whole.size() + 1);
  damages[4].bytes.resize(whole.size() - 1);
  for (const Damage& damage : damages) {
    testing::write_file(path_, damage.bytes);
    for (const std::string_view source : {"forebay", "ifstream"}) {
      EXPECT_EQ(run({"info", path_}, kExitFailure).at("class"), damage.class_name) << damage.name;
      const Json found = run({"check", path_, "--source", source}, kExitProblemsFound);
      EXPECT_EQ(found.at("ok"), false);
      EXPECT_TRUE(found.at("snapshot").is_null());
      ASSERT_EQ(found.at("problems").size(), 1U);
      EXPECT_EQ(found.at("problems").at(0).at("class"), damage.class_name) << damage.name;
      EXPECT_FALSE(found.at("problems").at(0).at("offset").is_null());
    }
  }
}

TEST_F(Commands, check_reports_bad_numbers_with_offsets) {
  const Layout layout{{0, 1000, 0}, Precision::kDouble, ByteOrder::kNative, kHeaderBytes};
  auto particles = testing::random_particles(1000, 1);
  particles[300].position[2] = NAN;
  particles[700].velocity[0] = -INFINITY;
  particles[20].mass = -1;
  particles[21].mass = -2;
  particles[900].position[0] = 1e30;
  testing::write_file(path_, testing::encode_snapshot(layout, particles));
  for (const std::string_view tasks : {"1", "64"}) {
    const Json found = run({"check", path_, "--tasks", tasks}, kExitProblemsFound);
    const Json& problems = found.at("problems");
    ASSERT_EQ(problems.size(), 3U);
    EXPECT_EQ(problems.at(0).at("count"), 2);
    EXPECT_EQ(problems.at(0).at("offset"), 32 + 300 * 60);
    EXPECT_EQ(problems.at(1).at("count"), 1);
    EXPECT_EQ(problems.at(1).at("offset"), 32 + 900 * 60);
    EXPECT_EQ(problems.at(2).at("count"), 2);
    EXPECT_EQ(problems.at(2).at("offset"), 32 + 20 * 60);
    EXPECT_EQ(found.at("ranges").at("dark").at("mass").at(0), -2.0);
    EXPECT_TRUE(found.at("ranges").at("gas").is_null());
    EXPECT_EQ(found.at("particles_checked"), 1000);
  }
}

TEST_F(Commands, check_reports_an_invalid_time_and_zero_particles) {
  const Layout layout{{0, 9000, 0}, Precision::kSingle, ByteOrder::kNative, kHeaderBytes};
  auto particles = testing::random_particles(9000, 1);
  for (std::size_t i = 500; i < 500 + 7281; ++i)
    particles[i] = {};
  auto bytes = testing::encode_snapshot(layout, particles);
  for (const double time : {double{NAN}, double{INFINITY}, -1.16e200}) {
    std::memcpy(bytes.data(), &time, sizeof time);
    testing::write_file(path_, bytes);
    EXPECT_EQ(run({"info", path_}).at("snapshot").at("counts").at("dark"), 9000);
    const Json problems = run({"check", path_}, kExitProblemsFound).at("problems");
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems.at(0).at("offset"), 0);
    EXPECT_EQ(problems.at(1).at("count"), 7281);
    EXPECT_EQ(problems.at(1).at("offset"), 32 + 500 * 36);
  }
}

TEST_F(Commands, bonsai_ids_are_not_damage) {
  const Layout layout{{0, 20, 8}, Precision::kSingle, ByteOrder::kNative, kHeaderBytes};
  auto particles = testing::random_particles(28, 1);
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const std::size_t tail = tail_count(i < 20 ? Family::kDark : Family::kStar);
    const std::uint64_t id = 0x7fc0'0000'ff80'0000U + i;  // a NaN and an infinity
    std::memcpy(&particles[i].tail[tail - 2], &id, sizeof id);
  }
  auto bytes = testing::encode_snapshot(layout, particles);
  bytes[28] = std::byte{2};
  testing::write_file(path_, bytes);
  EXPECT_EQ(run({"info", path_}).at("snapshot").at("dialect"), "bonsai-2");
  const Json found = run({"check", path_});
  EXPECT_EQ(found.at("ok"), true) << found;
  EXPECT_TRUE(found.at("ranges").at("dark").at("phi").is_null());
  bytes[28] = std::byte{0};
  testing::write_file(path_, bytes);
  run({"check", path_}, kExitProblemsFound);
}

TEST_F(Commands, counts_from_families_ignores_wrong_nbodies) {
  generate({"--gas", "100", "--dark", "100"});
  auto bytes = testing::read_file(path_);
  bytes[11] = std::byte{199};
  testing::write_file(path_, bytes);
  EXPECT_EQ(run({"info", path_, "--counts-from", "families"}).at("snapshot").at("nbodies"), 200);
  const Json problems =
      run({"check", path_, "--counts-from", "families"}, kExitProblemsFound).at("problems");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.at(0).at("message"), "nbodies is 199, but the families sum to 200");
  run({"analyze", path_, "--counts-from", "families"});
}

TEST_F(Commands, pipe_is_rejected) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const Json error = run({"info", path_}, kExitFailure);
  EXPECT_EQ(error.at("class"), "invalid-argument");
  EXPECT_NE(error.at("message").get<std::string>().find("the file is a pipe"), std::string::npos);
}

TEST_F(Commands, named_precision_ignores_and_reports_trailing_bytes) {
  generate({"--gas", "100"});
  std::filesystem::resize_file(path_, 32 + 4800 + 7);
  EXPECT_EQ(run({"info", path_, "--single"}).at("snapshot").at("trailing_bytes"), 7);
  const Json found = run({"check", path_, "--single"}, kExitProblemsFound);
  EXPECT_EQ(found.at("problems").at(0).at("offset"), 4832);
  EXPECT_EQ(found.at("particles_checked"), 100);
  run({"analyze", path_, "--single"});
}

TEST_F(Commands, empty_snapshot_is_valid) {
  generate({"--gas", "0"});
  EXPECT_EQ(run({"info", path_}).at("snapshot").at("file_bytes"), 32);
  for (const std::string_view source : {"forebay", "ifstream"}) {
    EXPECT_EQ(run({"check", path_, "--source", source}).at("ok"), true);
  }
}

TEST_F(Commands, counts_over_2_to_the_32_are_read_from_a_sparse_file) {
  const Counts counts{5, (1ULL << 32U) + 17, 0};
  const Layout layout{counts, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes};
  testing::write_file(path_, encode_header(make_header(1, counts), layout.order));
  std::error_code refused;
  std::filesystem::resize_file(path_, layout.end_offset(), refused);
  if (refused) GTEST_SKIP() << "no sparse file of 144 GiB here: " << refused.message();
  const Json snapshot = run({"info", path_}).at("snapshot");
  EXPECT_EQ(snapshot.at("counts").at("dark"), counts.dark);
  EXPECT_EQ(snapshot.at("pad_used"), true);
  EXPECT_EQ(snapshot.at("offset_bytes").at("star"), layout.end_offset());
}

class Samples : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const directory = std::getenv("FOREBAY_SAMPLES");
    if (directory == nullptr)
      GTEST_SKIP() << "FOREBAY_SAMPLES does not name a directory of samples";
    directory_ = std::filesystem::path(directory) / "tipsy";
    if (!std::filesystem::exists(directory_)) GTEST_SKIP() << directory_ << " does not exist";
  }
  std::filesystem::path directory_;
};

TEST_F(Samples, cosmological_cube_is_valid_and_equal_through_both_sources) {
  const std::string path = directory_ / "cube300.tbin";
  const Json checked = run({"check", path});
  EXPECT_EQ(checked.at("particles_checked"), 110592);
  const Json ours = run({"analyze", path, "--tasks", "300"});
  const Json plain = run({"analyze", path, "--tasks", "300", "--source", "ifstream"});
  EXPECT_EQ(ours.at("center_of_mass"), plain.at("center_of_mass"));
  EXPECT_EQ(ours.at("profile"), plain.at("profile"));
  EXPECT_NEAR(ours.at("mass").get<double>(), 110592 * 2.712700052143191e-06, 1e-9);
}

TEST_F(Samples, one_star_with_arbitrary_pad_is_read) {
  const std::string path = directory_ / "onestar.tbin";
  const Json snapshot = run({"check", path}).at("snapshot");
  EXPECT_EQ(snapshot.at("pad"), 1);
  EXPECT_EQ(snapshot.at("pad_used"), false);
  EXPECT_EQ(snapshot.at("counts").at("gas"), 1088);
  EXPECT_EQ(snapshot.at("counts").at("star"), 1);
}

}  // namespace
}  // namespace forebay::tipsy
