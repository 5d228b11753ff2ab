// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tune_session.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"

namespace forebay::model_tool {
namespace {

using nlohmann::json;

constexpr const char* kThreeCandidates =
    R"({"candidates":[{"features":[0],"predicted_s":2},{"features":[1],"predicted_s":1},)"
    R"({"features":[2]}],"seed":1})";

std::vector<json> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<json> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(json::parse(line));
  return lines;
}

TEST(Tune, proposes_candidates_and_ends_with_the_best) {
  std::istringstream input(std::string(kThreeCandidates) + "\n{\"seconds\":2}\n{\"seconds\":1}\n" +
                           "{\"failed\":true}\n{\"seconds\":1}\n{\"end\":true}\n");
  std::ostringstream output;
  ASSERT_TRUE(tune(input, output));
  const std::vector<json> lines = lines_of(output.str());
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], json({{"candidate", 0}, {"best", 0}, {"phase", "start"}}));
  EXPECT_EQ(lines[1]["candidate"], 1);
  EXPECT_EQ(lines[5]["best"], 1);
  EXPECT_FALSE(lines[5]["why"].get<std::string>().empty());
}

TEST(Tune, end_of_input_ends_the_session) {
  std::istringstream input(kThreeCandidates);
  std::ostringstream output;
  EXPECT_TRUE(tune(input, output));
  EXPECT_EQ(lines_of(output.str()).back()["best"], 0);
}

TEST(Tune, invalid_line_fails_with_its_number) {
  for (const std::string first : {"", "[]", "{", "{\"candidates\":[]}", "{\"candidates\":[1]}",
                                  "{\"candidates\":[{\"features\":[\"a\"]}]}",
                                  "{\"candidates\":[{\"features\":[1],\"predicted_s\":0}]}",
                                  "{\"candidates\":[{\"features\":[1]},{\"features\":[]}]}",
                                  "{\"candidates\":[{\"features\":[1]}],\"seed\":-1}"}) {
    std::istringstream input(first + "\n");
    std::ostringstream output;
    const Status status = tune(input, output);
    ASSERT_EQ(error_class(status), ErrorClass::kInvalidArgument) << first;
    EXPECT_NE(status.error().message().find("line 1"), std::string::npos);
  }
  std::istringstream input(std::string(kThreeCandidates) + "\n{\"seconds\":0}\n");
  std::ostringstream output;
  const Status status = tune(input, output);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("line 2"), std::string::npos);
}

}  // namespace
}  // namespace forebay::model_tool
