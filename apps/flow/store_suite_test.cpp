// SPDX-License-Identifier: Apache-2.0
// What every store that keeps files must do, on all teams that can write it.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "flow/dataset_store.hpp"
#include "flow/folder_store.hpp"
#include "flow/shared_folder_testing.hpp"
#include "flow/store_suite_testing.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::on_each_store;
using testing::SharedFolder;

TEST(Store, keeps_what_every_store_must) {
  on_each_store([](Team& team, const StoreOpener& open_store) {
    const SharedFolder folder(team);
    const std::string path = folder.file("store");
    {
      const auto store = open_store(path, StoreUse::kWrite, team);
      ASSERT_TRUE(store) << store.error().message();
      testing::expect_steps_are_kept(**store, team);
    }
    {
      const auto again = open_store(path, StoreUse::kRead, team);
      ASSERT_TRUE(again) << again.error().message();
      testing::expect_steps_are_there(**again);
    }
    const auto more = open_store(path, StoreUse::kWrite, team);
    ASSERT_TRUE(more) << more.error().message();
    testing::expect_it_goes_on(**more, team);
  });
}

TEST(Store, that_is_not_there_is_told_to_all_who_read) {
  on_each_store([](Team& team, const StoreOpener& open_store) {
    const SharedFolder folder(team);
    const auto store = open_store(folder.file("none"), StoreUse::kRead, team);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().kind(), ErrorClass::kNotFound);
    EXPECT_NE(store.error().path().find("none"), std::string::npos);
  });
}

TEST(Store, a_step_that_one_rank_gives_up_is_not_there) {
  on_each_store([](Team& team, const StoreOpener& open_store) {
    const SharedFolder folder(team);
    const auto store = open_store(folder.file("store"), StoreUse::kWrite, team);
    ASSERT_TRUE(store) << store.error().message();
    testing::write_step(**store, team, 1);
    testing::drop_step(**store, 2);
    testing::write_step(**store, team, 3);
    const Status durable = (*store)->wait();
    ASSERT_TRUE(durable) << durable.error().message();
    testing::expect_numbers(**store, {1, 3});
  });
}

/// Collective. The last rank puts parts of two types in one array.
void write_two_types(PartStore& store, Team& team, std::uint64_t number) {
  const auto step = store.begin_step(number);
  ASSERT_TRUE(step) << step.error().message();
  ASSERT_TRUE((*step)->put_values<double>({"x", team.rank()}, std::vector<double>{1, 2}));
  if (team.rank() + 1 == team.size()) {
    const std::vector<std::uint64_t> numbers{1, 2};
    EXPECT_FALSE((*step)->put_values<std::uint64_t>({"x", 100}, numbers));
  }
  EXPECT_TRUE((*step)->commit());
}

/// Collective.
void expect_told_by_the_next_step(PartStore& store, std::uint64_t number, const Error& failure) {
  const auto next = store.begin_step(number);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().cause(), failure.cause());
}

TEST(DatasetStore, an_array_of_two_types_fails_the_step_for_all_and_is_told_soon) {
  testing::on_dataset_teams([](Team& team, const StoreOpener& open_store) {
    const SharedFolder folder(team);
    const auto store = open_store(folder.file("store.fb"), StoreUse::kWrite, team);
    ASSERT_TRUE(store) << store.error().message();
    testing::write_step(**store, team, 1);
    write_two_types(**store, team, 2);
    const Status durable = (*store)->wait();
    ASSERT_FALSE(durable);
    EXPECT_NE(durable.error().message().find("field 'x'"), std::string::npos);
    const std::optional<std::uint32_t> last(team.size() - 1);
    EXPECT_EQ(durable.error().rank(), team.size() > 1 ? last : std::nullopt);
    testing::expect_numbers(**store, {1});
    expect_told_by_the_next_step(**store, 3, durable.error());
  });
}

TEST(DatasetStore, several_threads_read_what_others_wrote_and_may_not_write) {
  testing::on_dataset_teams([](Team& team, const StoreOpener& open_store) {
    const SharedFolder folder(team);
    const std::string path = folder.file("store.fb");
    {
      const auto store = open_store(path, StoreUse::kWrite, team);
      ASSERT_TRUE(store) << store.error().message();
      testing::expect_steps_are_kept(**store, team);
    }
    team.gather(0);
    run_as_threads(3, [&](Team& threads) {
      Runtime runtime;
      const StoreOpener open_alone = dataset_opener(runtime);
      const auto store = open_alone(path, StoreUse::kRead, threads);
      ASSERT_TRUE(store) << store.error().message();
      testing::expect_steps_are_there(**store);
      const auto refused = open_alone(path, StoreUse::kWrite, threads);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind(), ErrorClass::kInvalidArgument);
    });
  });
}

}  // namespace
}  // namespace forebay::flow
