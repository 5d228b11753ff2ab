// SPDX-License-Identifier: Apache-2.0
// Requests for the cost of plans: results of each method, and errors of requests.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "model/machine.hpp"
#include "tools/model/reads.hpp"
#include "tools/model/steps.hpp"

namespace forebay::model_tool {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ModelRequests : public ::testing::Test {
 protected:
  Result<json> steps(const json& request) {
    return describe_steps({request}, model::machine_directories({}));
  }
  Result<json> reads(const json& request) {
    return describe_reads(request, model::machine_directories({}));
  }

  TemporaryDirectory directory_;
};

const json kSteps = {{"machine", "lustre-small"},
                     {"ranks", 16},
                     {"nodes", 4},
                     {"bytes_per_rank", 4194304},
                     {"plans", {json::object(), {{"strategy", "baton"}, {"files", 2}}}}};

TEST_F(ModelRequests, methods_agree_on_even_steps) {
  std::vector<double> durable_s;
  for (const char* method : {"formula", "flow", "event"}) {
    json request = kSteps;
    request["method"] = method;
    const auto result = steps(request);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ((*result)["bytes"], json::array({16 * 4194304}));
    ASSERT_EQ((*result)["plans"].size(), 2U);
    EXPECT_EQ((*result)["plans"][1]["plan"]["strategy"], "baton");
    durable_s.push_back((*result)["plans"][0]["steps"][0]["durable_s"]);
  }
  EXPECT_NEAR(durable_s[0] / durable_s[2], 1, 0.1);
  EXPECT_NEAR(durable_s[1] / durable_s[2], 1, 0.1);
}

TEST_F(ModelRequests, program_waits_for_steps_that_take_longer_than_its_computation) {
  json request = kSteps;
  request.erase("bytes_per_rank");
  request["steps"] = json::array({json::array(), json::array(), json::array()});
  for (json& step : request["steps"])
    for (int rank = 0; rank < 16; ++rank)
      step.push_back(4194304);
  request["plans"] = {{{"steps_in_flight", 1}}};
  request["compute_s"] = 0;
  const json fast = (*steps(request))["plans"][0];
  const double step_s = fast["steps"][0]["durable_s"];
  EXPECT_NEAR(fast["total_s"].get<double>(), 3 * step_s, 0.1 * step_s);
  request["compute_s"] = 10;
  const json slow = (*steps(request))["plans"][0];
  EXPECT_NEAR(slow["total_s"].get<double>(), 30 + step_s, 0.1 * step_s);
  EXPECT_NEAR(slow["drain_s"].get<double>(), step_s, 0.1 * step_s);
}

TEST_F(ModelRequests, plan_that_exceeds_the_memory_of_a_node_has_an_error) {
  const std::string machine = directory_.path() + "/small.toml";
  std::ofstream(machine) << "format = 1\nname = \"small\"\n[client]\ncount = 4\n"
                            "memory_bytes = \"16 MiB\"\n[[servers]]\nlatency_us = 1\n"
                            "concurrency = 1\nbandwidth_mb_per_s = 100\n";
  json request = kSteps;
  request["machine"] = machine;
  const auto result = steps(request);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_THAT((*result)["plans"][0]["error"].get<std::string>(),
              HasSubstr("and has 16 MiB; use fewer ranks on each node"));
}

TEST_F(ModelRequests, errors_name_the_request_and_the_cause) {
  const auto cause = [&](const char* key, const json& value) {
    json request = kSteps;
    request[key] = value;
    const auto result = steps(request);
    EXPECT_FALSE(result) << key;
    return result ? std::string() : result.error().message();
  };
  EXPECT_THAT(cause("machine", "nowhere"), HasSubstr("nowhere"));
  EXPECT_THAT(cause("method", "guess"), HasSubstr("write \"formula\", \"flow\" or \"event\""));
  EXPECT_THAT(cause("ranks", 0), HasSubstr("ranks must be 1"));
  EXPECT_THAT(cause("ranks", "many"), HasSubstr("type must be number"));
  EXPECT_THAT(cause("bytes_per_rank", 0), HasSubstr("add bytes_per_rank, steps or kernel"));
  EXPECT_THAT(cause("steps", json::array({json::array({1})})), HasSubstr("bytes of all ranks"));
  json request = kSteps;
  request["plans"] = {{{"writers", 99}}};
  EXPECT_THAT((*steps(request))["plans"][0]["error"].get<std::string>(),
              HasSubstr("writers is 99"));
  EXPECT_FALSE(describe_steps({json::array()}, {}));
}

TEST_F(ModelRequests, sessions_take_what_the_library_chooses) {
  const auto result = reads({{"machine", "lustre-small"},
                             {"ranks", 4},
                             {"nodes", 4},
                             {"bytes", 268435456},
                             {"tasks", {4, 4096}},
                             {"plans", {{{"method", "session"}}, {{"method", "per-call"}}}}});
  ASSERT_TRUE(result) << result.error().message();
  const json& session = (*result)["plans"][0];
  EXPECT_EQ(session["plan"]["agents"], 4);
  EXPECT_GE(session["plan"]["queue_depth"].get<int>(), 1);
  ASSERT_EQ(session["times"].size(), 2U);
  const double limit_s = 268.435456 / 500;
  EXPECT_NEAR(session["times"][1]["total_s"].get<double>(), limit_s, 0.1 * limit_s);
  EXPECT_GT((*result)["plans"][1]["times"][1]["total_s"].get<double>(), 2.0);
  EXPECT_FALSE(reads({{"machine", "lustre-small"}})) << "no bytes";
}

}  // namespace
}  // namespace forebay::model_tool
