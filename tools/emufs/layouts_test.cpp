// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/layouts.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

model::Machine machine_of(std::uint32_t servers) {
  model::Machine machine;
  machine.layout.stripe_bytes = 1_MiB;
  machine.servers.push_back({.count = servers});
  return machine;
}

TEST(LayoutRequest, text_round_trip) {
  for (const LayoutRequest& request : {LayoutRequest{}, LayoutRequest{65536, 2, 1},
                                       LayoutRequest{{}, 0, {}}, LayoutRequest{{}, {}, 3}}) {
    EXPECT_EQ(parse_layout_request(to_text(request)), request) << to_text(request);
  }
  EXPECT_EQ(to_text({65536, 2, 1}), "stripe_bytes=65536 stripe_count=2 first_server=1");
}

TEST(LayoutRequest, malformed_text_is_rejected) {
  for (const char* text : {"stripe_bytes", "stripe_bytes=", "stripe_bytes=x", "stripes=1",
                           "stripe_count=4294967296", "=", "stripe_count=1,first_server=0"}) {
    EXPECT_FALSE(parse_layout_request(text)) << text;
  }
}

TEST(LayoutRequest, values_are_checked_against_the_machine) {
  const model::Machine machine = machine_of(4);
  EXPECT_TRUE(with_value({}, "stripe_count", "4", machine));
  EXPECT_FALSE(with_value({}, "stripe_count", "5", machine));
  EXPECT_FALSE(with_value({}, "first_server", "4", machine));
  EXPECT_FALSE(with_value({}, "stripe_bytes", "65537", machine));
  EXPECT_FALSE(with_value({}, "stripe_bytes", "2048", machine));
  EXPECT_EQ(with_value({}, "color", "1", machine).error(), EINVAL);
  const auto rotating = with_value({{}, {}, 2}, "first_server", "rotate", machine);
  ASSERT_TRUE(rotating);
  EXPECT_FALSE(rotating->first_server);
}

TEST(LayoutRequest, absent_values_are_the_machines_defaults) {
  const model::Machine machine = machine_of(4);
  EXPECT_EQ(resolve_layout({}, machine, 5), (model::Layout{1_MiB, 4, 1}));
  EXPECT_EQ(resolve_layout({65536, 2, {}}, machine, 2), (model::Layout{65536, 2, 2}));
  EXPECT_EQ(resolve_layout({{}, 0, 3}, machine, 2), (model::Layout{1_MiB, 4, 3}));
}

}  // namespace
}  // namespace forebay::emufs
