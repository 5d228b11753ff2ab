// SPDX-License-Identifier: Apache-2.0
// Documents of machine files: of shipped ones, and of unreadable ones.
#include "tools/machine/document.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::machine_tool {
namespace {

using ::testing::HasSubstr;

TEST(List, has_every_shipped_machine_with_its_numbers) {
  const auto directories = model::machine_directories({});
  const nlohmann::json document = list_machines(directories);
  ASSERT_EQ(document["machines"].size(), model::machine_names(directories).size());
  for (const nlohmann::json& machine : document["machines"]) {
    EXPECT_FALSE(machine.contains("error")) << machine.dump();
    if (machine["name"] != "lustre-small") continue;
    EXPECT_EQ(machine["summary"]["servers"], 4);
    EXPECT_EQ(machine["summary"]["read_mb_per_s"], 500);
    EXPECT_EQ(machine["summary"]["lock_unit"], "object");
  }
}

TEST(List, wrong_file_has_an_error) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "broken.toml") << "format = 1";
  const std::vector<std::filesystem::path> directories{directory.path()};
  const nlohmann::json document = list_machines(directories);
  ASSERT_EQ(document["machines"].size(), 1U);
  EXPECT_THAT(document["machines"][0]["error"], HasSubstr("broken.toml: line 1: name is missing"));
}

TEST(Show, has_values_with_sources_and_the_rewritten_file) {
  const auto document = show_machine("local", model::machine_directories({}));
  ASSERT_TRUE(document.has_value()) << document.error().message();
  EXPECT_EQ((*document)["summary"]["read_mb_per_s"], nullptr) << "nothing limits it";
  EXPECT_TRUE((*document)["without_source"].empty());
  EXPECT_EQ((*document)["numbers_hash"].get<std::string>().size(), 16U);
  EXPECT_EQ((*document)["values"][0]["key"], "client.count");
  EXPECT_EQ((*document)["values"][0]["value"], 1);
  EXPECT_TRUE((*document)["values"][0]["source"].is_string());
  EXPECT_TRUE(model::parse_machine((*document)["toml"].get<std::string>(), "again").has_value());
}

TEST(Show, unknown_name_fails) {
  const auto document = show_machine("lustre", model::machine_directories({}));
  ASSERT_FALSE(document.has_value());
  EXPECT_THAT(document.error().message(),
              HasSubstr("known machines are bgl, bridges2, gpfs-small"));
}

}  // namespace
}  // namespace forebay::machine_tool
