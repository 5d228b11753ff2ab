// SPDX-License-Identifier: Apache-2.0
// All rungs write the same profile, so that they differ in time and memory alone.
#include "bench/cube/original.hpp"

#include <filesystem>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cube/rungs.hpp"
#include "bench/cube/specification.hpp"
#include "bench/frame/work_folder.hpp"
#include "cube/check.hpp"
#include "cube/compare.hpp"
#include "cube/generate.hpp"
#include "cube/profile_file.hpp"

namespace forebay::bench::cube {
namespace {

namespace fs = std::filesystem;

class Rungs : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = WorkFolder::make(::testing::TempDir());
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    input_ = (folder_->path() / "in.cubex").string();
    const Status made =
        forebay::cube::generate({.path = input_, .shape = {.locations = 65}, .rows = 614});
    ASSERT_TRUE(made) << made.error().message();
  }

  std::string write(const Scheme& scheme, const std::string& name) {
    const std::string path = (folder_->path() / name).string();
    const auto times = run_original(scheme, input_, ladder_specification(), path);
    EXPECT_TRUE(times) << (times ? "" : times.error().message());
    const LadderTimes found = times.value_or(LadderTimes{});
    EXPECT_LE(found.compute_s + found.write_s, found.total_s);
    return path;
  }

  static void expect_same(const std::string& a, const std::string& b) {
    const auto document = forebay::cube::compare({.paths = {a, b}});
    ASSERT_TRUE(document) << document.error().message();
    EXPECT_EQ(document->at("ok"), true) << document->dump(2);
  }

  auto file_count() const {
    return std::distance(fs::directory_iterator(folder_->path()), fs::directory_iterator());
  }

  std::optional<WorkFolder> folder_;
  std::string input_;
};

TEST_F(Rungs, all_write_the_same_profile) {
  const std::string original = write({}, "original.cubex");
  std::size_t count = 0;
  for (const Rung& rung : all_rungs()) {
    if (!rung.scheme) continue;
    expect_same(original, write(*rung.scheme, "rung.cubex"));
    ++count;
  }
  EXPECT_EQ(count, 5U);
}

TEST_F(Rungs, compressed_ones_too) {
  const std::string original = write({}, "original.cubex");
  for (const Rung& rung : all_rungs()) {
    if (!rung.scheme) continue;
    Scheme scheme = *rung.scheme;
    scheme.packing_level = 1;
    const std::string packed = write(scheme, "packed.cubex");
    expect_same(original, packed);
    EXPECT_LT(fs::file_size(packed), fs::file_size(original));
  }
}

TEST_F(Rungs, temporary_files_are_gone_at_the_end) {
  write({.packing_level = 1}, "out.cubex");
  EXPECT_EQ(file_count(), 2);
}

TEST_F(Rungs, what_fails_leaves_no_output_and_no_temporary_files) {
  const std::string missing = (folder_->path() / "missing" / "out.cubex").string();
  EXPECT_FALSE(run_original({}, input_, ladder_specification(), missing));
  std::string other = ladder_specification();
  other.replace(other.find("metric::time(e)"), 15, "metric::tame(e)");
  EXPECT_FALSE(run_original({}, input_, other, (folder_->path() / "out.cubex").string()));
  EXPECT_EQ(file_count(), 1);
}

TEST_F(Rungs, derived_metrics_are_what_their_expressions_say) {
  const auto profile = forebay::cube::open_profile(write({}, "original.cubex"));
  ASSERT_TRUE(profile);
  const auto& anchor = profile->anchor();
  ASSERT_EQ(anchor.metrics.size(), 17U);
  EXPECT_EQ(anchor.metrics[0].unique_name, "mpi_time");
  forebay::cube::RowScratch scratch;
  std::vector<double> values(anchor.locations.size());
  const auto first_of = [&](std::size_t metric, std::string_view region) {
    std::uint32_t place = 0;
    while (anchor.name_at(place) != region)
      ++place;
    EXPECT_TRUE(
        profile->read_row(metric, place, std::as_writable_bytes(std::span(values)), scratch));
    return values.front();
  };
  EXPECT_GT(first_of(0, "MPI_Waitall"), 0);
  EXPECT_EQ(first_of(0, "add_"), 0);
  EXPECT_EQ(first_of(1, "MPI_Waitall"), 0);
  EXPECT_GT(first_of(2, "add_"), 0);
}

}  // namespace
}  // namespace forebay::bench::cube
