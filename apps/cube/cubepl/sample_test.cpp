// SPDX-License-Identifier: Apache-2.0
// The specification that Score-P stored in a profile: all of its expressions are executed.
// FOREBAY_SAMPLES is the directory of the profile. The test reads the names and trees that scripts
// can read; the rows are synthetic.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "cube/cubepl/testing.hpp"

namespace forebay::cubepl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file in a tar archive; empty if there is none of that name.
std::string member_of(const std::string& archive, std::string_view name) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t at = 0; at + kBlock <= archive.size();) {
    const std::string_view header = std::string_view(archive).substr(at, kBlock);
    const std::size_t size = std::strtoul(std::string(header.substr(124, 12)).c_str(), nullptr, 8);
    if (header.starts_with(name) && header[name.size()] == '\0')
      return archive.substr(at + kBlock, size);
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return {};
}

void add_regions(const pugi::xml_node& cube, ProfileInfo& info) {
  for (const pugi::xml_node& node : cube.child("program").children("region"))
    info.regions.push_back({.name = node.child_value("name"),
                            .mangled_name = node.child_value("mangled_name"),
                            .paradigm = node.child_value("paradigm"),
                            .role = node.child_value("role"),
                            .url = node.child_value("url"),
                            .description = node.child_value("descr"),
                            .module = node.attribute("mod").value()});
}

void add_callpaths(const pugi::xml_node& parent,
                   std::optional<std::size_t> above,
                   ProfileInfo& info) {
  for (const pugi::xml_node& node : parent.children("cnode")) {
    const std::size_t index = node.attribute("id").as_uint();
    if (info.callpaths.size() <= index) info.callpaths.resize(index + 1);
    info.callpaths[index] = {.region = node.attribute("calleeId").as_uint(), .parent = above};
    add_callpaths(node, index, info);
  }
}

class Sample : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const directory = std::getenv("FOREBAY_SAMPLES");
    if (directory == nullptr)
      GTEST_SKIP() << "FOREBAY_SAMPLES does not name a directory of samples";
    std::ifstream file(std::string(directory) + "/cubex/time.p4.cubex", std::ios::binary);
    if (!file) GTEST_SKIP() << "FOREBAY_SAMPLES has no cubex/time.p4.cubex";
    const std::string archive{std::istreambuf_iterator<char>(file), {}};
    specification_ = member_of(archive, "remapping.spec");
    read_profile(member_of(archive, "anchor.xml"));
  }

  void read_profile(const std::string& anchor) {
    pugi::xml_document parsed;
    ASSERT_TRUE(parsed.load_buffer(anchor.data(), anchor.size()));
    const pugi::xml_node cube = parsed.child("cube");
    add_regions(cube, profile_.profile_info);
    add_callpaths(cube.child("program"), std::nullopt, profile_.profile_info);
    profile_.add_locations(4);
    for (const pugi::xml_node& node : cube.child("metrics").children("metric")) {
      const std::size_t index = profile_.add_metric(node.child_value("uniq_name"));
      for (std::size_t callpath = 0; callpath < profile_.profile_info.callpaths.size(); ++callpath)
        profile_.set(index, callpath, synthetic_row(index, callpath));
    }
  }

  static std::vector<double> synthetic_row(std::size_t metric, std::size_t callpath) {
    const auto base = static_cast<double>(100 * metric + callpath);
    return {base, base + 0.25, 0, -base};
  }

  std::vector<std::size_t> callpaths_of(std::string_view region) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < profile_.profile_info.callpaths.size(); ++i)
      if (profile_.profile_info.regions[profile_.profile_info.callpaths[i].region].name == region)
        found.push_back(i);
    return found;
  }

  std::string specification_;
  testing::MemoryProfile profile_;
};

/// Computes all rows of a metric.
void evaluate_everywhere(Evaluator& evaluator, std::size_t metric, std::size_t callpath_count) {
  std::vector<double> values(4);
  for (std::size_t callpath = 0; callpath < callpath_count; ++callpath) {
    for (const auto flavor : {Flavor::kExclusive, Flavor::kInclusive}) {
      const Status done = evaluator.evaluate({metric, callpath, flavor}, {0, 4}, values);
      ASSERT_TRUE(done) << done.error().message();
    }
  }
}

TEST_F(Sample, all_105_expressions_of_score_p_are_executed) {
  const auto derived = testing::bind_text(specification_, profile_);
  ASSERT_TRUE(derived.bound_program) << derived.error();
  const Program& program = (*derived.bound_program)->program();
  Evaluator evaluator(**derived.bound_program, profile_);
  std::size_t expression_count = 0;
  for (std::size_t metric = 0; metric < program.metrics.size(); ++metric) {
    if (!is_derived(program.specification.metrics[metric].kind)) continue;
    EXPECT_FALSE(program.metrics[metric].expression.empty());
    evaluate_everywhere(evaluator, metric, profile_.profile_info.callpaths.size());
    ++expression_count;
  }
  EXPECT_EQ(expression_count, 105U);
  EXPECT_EQ(program.metrics.size(), 119U);
}

TEST_F(Sample, values_match_call_paths_of_named_regions) {
  const auto derived = testing::bind_text(specification_, profile_);
  const auto time = [&](std::size_t callpath) {
    const auto index = (*derived.bound_program)->program().specification.find("time");
    return synthetic_row(*(*derived.bound_program)->stored_index(*index), callpath);
  };
  const auto init = callpaths_of("MPI_Init");
  ASSERT_FALSE(init.empty());
  EXPECT_EQ(derived.row(profile_, "mpi", init[0]), time(init[0]));
  EXPECT_EQ(derived.row(profile_, "mpi_init_exit", init[0]), time(init[0]));
  EXPECT_EQ(derived.row(profile_, "mpi_management", init[0]), time(init[0]));
  EXPECT_THAT(derived.row(profile_, "mpi_point2point", init[0]), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(derived.row(profile_, "comp", init[0]), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(derived.row(profile_, "execution", 1), time(1));
  EXPECT_EQ(derived.row(profile_, "comp", 1), time(1));
}

TEST_F(Sample, unused_paradigms_are_switched_off) {
  const auto derived = testing::bind_text(specification_, profile_);
  const BoundProgram& bound_program = **derived.bound_program;
  const auto is_excluded = [&](std::string_view name) {
    return bound_program.is_excluded(*bound_program.program().specification.find(name));
  };
  EXPECT_FALSE(is_excluded("mpi"));
  EXPECT_FALSE(is_excluded("comp"));
  EXPECT_TRUE(is_excluded("cuda_time"));
  EXPECT_TRUE(is_excluded("shmem_time"));
}

TEST_F(Sample, unknown_profile_variable_is_the_only_note) {
  const auto program = testing::program_of(specification_);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_THAT(program->notes, ElementsAre(HasSubstr("cube::region::mangled_name"),
                                          HasSubstr("cube::region::mangled_name")));
  // All metrics that expressions read are in the specification: 14 stored ones.
  EXPECT_EQ(required_metrics(*program).size(), 14U);
}

}  // namespace
}  // namespace forebay::cubepl
