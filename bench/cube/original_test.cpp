// SPDX-License-Identifier: Apache-2.0
// All stages write the same profile, so they differ only in time and memory.
#include "bench/cube/original.hpp"

#include <filesystem>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/work_directory.hpp"
#include "cube/check.hpp"
#include "cube/compare.hpp"
#include "cube/generate.hpp"
#include "cube/profile_file.hpp"

namespace forebay::bench::cube {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpecification = R"(<metrics title="stages">
  <metric type="PREDERIVED_EXCLUSIVE">
    <disp_name>mpi_time</disp_name> <uniq_name>mpi_time</uniq_name>
    <dtype>FLOAT</dtype> <uom>sec</uom>
    <cubeplinit>
    {
      global(is_mpi);
      ${i} = 0;
      while ( ${i} < ${cube::#callpaths} )
      {
        ${paradigm} = ${cube::region::paradigm}[${cube::callpath::calleeid}[${i}]];
        if ( ${paradigm} eq "mpi" ) { ${is_mpi}[${i}] = 1; };
        ${i} = ${i} + 1;
      };
      return 0;
    }
    </cubeplinit>
    <cubepl>${is_mpi}[${calculation::callpath::id}] * metric::time(e)</cubepl>
  </metric>
  <metric type="PREDERIVED_EXCLUSIVE">
    <disp_name>rate</disp_name> <uniq_name>rate</uniq_name> <dtype>FLOAT</dtype> <uom>1</uom>
    <cubepl>metric::PAPI_TOT_INS(e) / metric::PAPI_TOT_CYC(e)</cubepl>
  </metric>
</metrics>
)";

class OptimizationStages : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = WorkDirectory::make(::testing::TempDir());
    ASSERT_TRUE(directory);
    directory_.emplace(std::move(*directory));
    input_ = (directory_->path() / "in.cubex").string();
    const Status made =
        forebay::cube::generate({.path = input_, .shape = {.locations = 65}, .rows = 614});
    ASSERT_TRUE(made) << made.error().message();
  }

  std::string write(const Scheme& scheme, const std::string& name) {
    const std::string path = (directory_->path() / name).string();
    const auto times = run_original(scheme, input_, kSpecification, path);
    EXPECT_TRUE(times) << (times ? "" : times.error().message());
    const RemapTimes found = times.value_or(RemapTimes{});
    EXPECT_LE(found.compute_s + found.write_s, found.total_s);
    return path;
  }

  static void expect_same(const std::string& a, const std::string& b) {
    const auto document = forebay::cube::compare({.paths = {a, b}});
    ASSERT_TRUE(document) << document.error().message();
    EXPECT_EQ(document->at("ok"), true) << document->dump(2);
  }

  auto file_count() const {
    return std::distance(fs::directory_iterator(directory_->path()), fs::directory_iterator());
  }

  std::optional<WorkDirectory> directory_;
  std::string input_;
};

TEST_F(OptimizationStages, all_stages_write_equal_profiles) {
  const std::string original = write({}, "original.cubex");
  EXPECT_EQ(stages().size(), 5U);
  for (const auto& [name, scheme] : stages())
    expect_same(original, write(scheme, "stage.cubex"));
}

TEST_F(OptimizationStages, compressed_stages_write_equal_profiles) {
  const std::string original = write({}, "original.cubex");
  for (auto [name, scheme] : stages()) {
    scheme.compression_level = 1;
    const std::string compressed = write(scheme, "compressed.cubex");
    expect_same(original, compressed);
    EXPECT_LT(fs::file_size(compressed), fs::file_size(original));
  }
}

TEST_F(OptimizationStages, temporary_files_are_removed) {
  write({.compression_level = 1}, "out.cubex");
  EXPECT_EQ(file_count(), 2);
}

TEST_F(OptimizationStages, failure_leaves_no_files) {
  const std::string missing = (directory_->path() / "missing" / "out.cubex").string();
  EXPECT_FALSE(run_original({}, input_, kSpecification, missing));
  std::string other = kSpecification;
  other.replace(other.find("metric::time(e)"), 15, "metric::tame(e)");
  EXPECT_FALSE(run_original({}, input_, other, (directory_->path() / "out.cubex").string()));
  EXPECT_EQ(file_count(), 1);
}

TEST_F(OptimizationStages, derived_metrics_have_values_of_expressions) {
  const auto profile = forebay::cube::open_profile(write({}, "original.cubex"));
  ASSERT_TRUE(profile);
  const auto& anchor = profile->anchor();
  ASSERT_EQ(anchor.metrics.size(), 13U);
  EXPECT_EQ(anchor.metrics[0].unique_name, "mpi_time");
  forebay::cube::RowScratch scratch;
  std::vector<double> values(anchor.locations.size());
  const auto first_of = [&](std::size_t metric, std::string_view region) {
    std::uint32_t region_index = 0;
    while (anchor.region_name_at(region_index) != region)
      ++region_index;
    EXPECT_TRUE(profile->read_row(metric, region_index, std::as_writable_bytes(std::span(values)),
                                  scratch));
    return values.front();
  };
  EXPECT_GT(first_of(0, "MPI_Waitall"), 0);
  EXPECT_EQ(first_of(0, "add_"), 0);
  EXPECT_GT(first_of(1, "add_"), 0);
}

}  // namespace
}  // namespace forebay::bench::cube
