// SPDX-License-Identifier: Apache-2.0
// The doctor reports what the library would do: the uses of a directory, their backends, and the
// effect of settings.
#include "tools/doctor/backends.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"

namespace forebay::doctor {
namespace {

namespace fs = std::filesystem;
using storage::FileSystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const storage::BackendFacts kRingWorks{.is_ring_available = true, .ring_reason = "single issuer"};

TEST(Uses, disk_has_long_reads_past_the_page_cache_and_others_through_it) {
  const auto uses =
      uses_of({.file_system = FileSystem::kExt, .is_direct_supported = true}, kRingWorks);
  ASSERT_THAT(uses, SizeIs(3));
  EXPECT_EQ(uses[0].access.access, Access::kDirect);
  EXPECT_EQ(uses[0].backend.chosen, "io_uring");
  EXPECT_EQ(uses[1].access.access, Access::kBuffered);
  EXPECT_EQ(uses[1].backend.chosen, "threads");
  EXPECT_EQ(uses[2].what, "output streams");
  EXPECT_EQ(uses[2].backend.chosen, "io_uring");
}

TEST(Uses, memory_is_buffered_with_a_reason) {
  const auto uses = uses_of({.file_system = FileSystem::kTmpfs}, kRingWorks);
  ASSERT_THAT(uses, SizeIs(2));
  for (const AccessUse& use : uses) {
    EXPECT_EQ(use.backend.chosen, "threads");
    EXPECT_THAT(use.access.reason, HasSubstr("tmpfs"));
  }
}

TEST(Uses, network_file_system_is_read_directly_where_its_storage_is_known) {
  storage::AccessFacts nfs{.file_system = FileSystem::kNfs, .is_direct_supported = true};
  EXPECT_EQ(uses_of(nfs, kRingWorks)[0].access.access, Access::kBuffered);
  nfs.is_storage_known = true;
  const auto uses = uses_of(nfs, kRingWorks);
  EXPECT_EQ(uses.front().access.access, Access::kDirect);
  EXPECT_EQ(uses.back().access.access, Access::kBuffered) << "streams use the page cache on NFS";
}

TEST(DoctorSettings, backend_is_taken_from_the_environment) {
  const DoctorSettings settings = read_settings({{"FOREBAY_BACKEND", "aio"}});
  EXPECT_EQ(settings.options.tuning.backend, BackendChoice::kAio);
  EXPECT_THAT(settings.error_text, IsEmpty());
}

TEST(DoctorSettings, invalid_value_is_reported_and_leaves_the_defaults) {
  const DoctorSettings settings = read_settings({{"FOREBAY_BACKEND", "steam"}});
  EXPECT_EQ(settings.options.tuning.backend, BackendChoice::kAuto);
  EXPECT_THAT(settings.error_text, HasSubstr("steam"));
}

TEST(Backends, each_line_has_the_chosen_one_and_a_reason_for_each_other) {
  const TemporaryDirectory directory(fs::current_path());
  const std::array<fs::path, 2> places{directory.path(), "/no/such/place"};
  const auto document =
      backends_json(places, {.is_ring_available = true, .ring_reason = "no flags"},
                    read_settings({{"FOREBAY_BACKEND", "aio"}}));
  EXPECT_EQ(document.at("requested"), "aio");
  ASSERT_FALSE(document.at("uses").empty());
  for (const auto& line : document.at("uses")) {
    EXPECT_TRUE(fs::equivalent(line.at("place").get<std::string>(), directory.path()));
    EXPECT_EQ(line.at("chosen"), line.at("access") == "direct" ? "aio" : "threads");
    EXPECT_EQ(line.at("others").size(), 2U);
    EXPECT_FALSE(line.at("file_system").get<std::string>().empty());
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(Backends, refused_ring_by_name_leaves_no_backend) {
  const TemporaryDirectory directory(fs::current_path());
  const std::array<fs::path, 1> places{directory.path()};
  const auto document =
      backends_json(places, {.is_ring_available = false, .ring_reason = "EPERM, it is refused"},
                    read_settings({{"FOREBAY_BACKEND", "io_uring"}}));
  for (const auto& line : document.at("uses")) {
    if (line.at("access") != "direct") continue;
    EXPECT_TRUE(line.at("chosen").is_null());
    EXPECT_THAT(line.at("others").at(0).at("reason").get<std::string>(), HasSubstr("refused"));
  }
}

TEST(Backends, each_place_has_a_limit_with_its_source) {
  const TemporaryDirectory directory(fs::current_path());
  const std::string place = fs::canonical(directory.path());
  std::ofstream(directory / "profile.toml")
      << "format = 1\n[[mounts]]\npath = \"" << place << "\"\nin_flight_bytes = \"5 MiB\"\n";
  const std::array<fs::path, 1> places{directory.path()};
  const auto usual = backends_json(places, {}, read_settings({{"FOREBAY_PROFILE", ""}}));
  EXPECT_TRUE(usual.at("profile").at("path").is_null());
  EXPECT_EQ(usual.at("limits").at(0).at("by"), "default");
  const DoctorSettings settings = read_settings({{"FOREBAY_PROFILE", directory / "profile.toml"}});
  const auto measured = backends_json(places, {}, settings);
  EXPECT_EQ(measured.at("profile").at("path"), directory / "profile.toml");
  EXPECT_EQ(measured.at("limits").at(0).at("by"), "profile");
  EXPECT_EQ(measured.at("limits").at(0).at("bytes"), 5 << 20);
  EXPECT_EQ(measured.at("limits").at(0).at("place"), place);
}

TEST(DoctorSettings, wrong_profile_is_reported) {
  const DoctorSettings settings = read_settings({{"FOREBAY_PROFILE", "/no/such/profile.toml"}});
  const auto document = backends_json({}, {}, settings);
  EXPECT_THAT(document.at("profile").at("error").get<std::string>(),
              HasSubstr("/no/such/profile.toml"));
}

}  // namespace
}  // namespace forebay::doctor
