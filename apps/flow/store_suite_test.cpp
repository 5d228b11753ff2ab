// SPDX-License-Identifier: Apache-2.0
// The contract of persistent stores, on all communicators that can write them.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "flow/dataset_store.hpp"
#include "flow/directory_store.hpp"
#include "flow/shared_directory_testing.hpp"
#include "flow/store_suite_testing.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::for_each_store;
using testing::SharedDirectory;

TEST(Store, fulfills_the_store_contract) {
  for_each_store([](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    const std::string path = directory.file("store");
    {
      const auto store = open_store(path, StoreMode::kWrite, comm);
      ASSERT_TRUE(store) << store.error().message();
      testing::check_store_contract(**store, comm);
    }
    {
      const auto again = open_store(path, StoreMode::kRead, comm);
      ASSERT_TRUE(again) << again.error().message();
      testing::expect_contract_steps(**again);
    }
    const auto more = open_store(path, StoreMode::kWrite, comm);
    ASSERT_TRUE(more) << more.error().message();
    testing::check_reopened_store(**more, comm);
  });
}

TEST(Store, read_of_missing_store_fails_on_all_ranks) {
  for_each_store([](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    const auto store = open_store(directory.file("none"), StoreMode::kRead, comm);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().kind(), ErrorClass::kNotFound);
    EXPECT_NE(store.error().path().find("none"), std::string::npos);
  });
}

TEST(Store, abandoned_step_is_not_visible) {
  for_each_store([](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    const auto store = open_store(directory.file("store"), StoreMode::kWrite, comm);
    ASSERT_TRUE(store) << store.error().message();
    testing::write_step(**store, comm, 1);
    testing::abandon_step(**store, 2);
    testing::write_step(**store, comm, 3);
    const Status durable = (*store)->wait();
    ASSERT_TRUE(durable) << durable.error().message();
    testing::expect_numbers(**store, {1, 3});
  });
}

/// Collective. The last rank puts parts of two types in one array.
void write_two_types(PartStore& store, SolverComm& comm, std::uint64_t number) {
  const auto step = store.begin_step(number);
  ASSERT_TRUE(step) << step.error().message();
  ASSERT_TRUE((*step)->put_values<double>({"x", comm.rank()}, std::vector<double>{1, 2}));
  if (comm.rank() + 1 == comm.size()) {
    const std::vector<std::uint64_t> numbers{1, 2};
    EXPECT_FALSE((*step)->put_values<std::uint64_t>({"x", 100}, numbers));
  }
  EXPECT_TRUE((*step)->commit());
}

/// Collective.
void expect_error_at_next_step(PartStore& store, std::uint64_t number, const Error& failure) {
  const auto next = store.begin_step(number);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().cause(), failure.cause());
}

TEST(DatasetStore, array_of_two_types_fails_the_step_on_all_ranks) {
  testing::for_each_dataset_comm([](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    const auto store = open_store(directory.file("store.fb"), StoreMode::kWrite, comm);
    ASSERT_TRUE(store) << store.error().message();
    testing::write_step(**store, comm, 1);
    write_two_types(**store, comm, 2);
    const Status durable = (*store)->wait();
    ASSERT_FALSE(durable);
    EXPECT_NE(durable.error().message().find("field 'x'"), std::string::npos);
    const std::optional<std::uint32_t> last(comm.size() - 1);
    EXPECT_EQ(durable.error().rank(), comm.size() > 1 ? last : std::nullopt);
    testing::expect_numbers(**store, {1});
    expect_error_at_next_step(**store, 3, durable.error());
  });
}

TEST(DatasetStore, several_threads_can_read_but_not_write) {
  testing::for_each_dataset_comm([](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    const std::string path = directory.file("store.fb");
    {
      const auto store = open_store(path, StoreMode::kWrite, comm);
      ASSERT_TRUE(store) << store.error().message();
      testing::check_store_contract(**store, comm);
    }
    comm.allgather(0);
    run_thread_ranks(3, [&](SolverComm& threads) {
      Runtime runtime;
      const StoreOpener open_alone = dataset_opener(runtime);
      const auto store = open_alone(path, StoreMode::kRead, threads);
      ASSERT_TRUE(store) << store.error().message();
      testing::expect_contract_steps(**store);
      const auto refused = open_alone(path, StoreMode::kWrite, threads);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind(), ErrorClass::kInvalidArgument);
    });
  });
}

}  // namespace
}  // namespace forebay::flow
