// SPDX-License-Identifier: Apache-2.0
// What every make of PartStore must keep. For tests only.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "flow/part_store.hpp"

namespace forebay::flow::testing {

inline constexpr std::uint32_t kStoredParts = 7;

/// Uneven parts, one of which is empty.
inline std::vector<double> stored_values(std::uint64_t step, std::uint32_t part) {
  std::vector<double> values(part == 4 ? 0 : 3 * (10 + 5 * part));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(step) + part * 0.25 + static_cast<double>(i) / 3;
  return values;
}

/// Collective. Each part is put by the rank that its number names, so some ranks may have none.
inline void write_step(PartStore& store, Team& team, std::uint64_t step) {
  const auto writer = store.begin_step(step);
  ASSERT_TRUE(writer) << writer.error().message();
  for (std::uint32_t part = 0; part < kStoredParts; ++part) {
    if (part * part % team.size() != team.rank()) continue;
    const std::vector<std::uint32_t> numbers(part, static_cast<std::uint32_t>(step));
    const std::vector<double> values = stored_values(step, part);
    ASSERT_TRUE((*writer)->put_values<double>({"values", part}, values, 3));
    ASSERT_TRUE((*writer)->put_values<std::uint32_t>({"numbers", part}, numbers));
  }
  const Status committed = (*writer)->commit();
  ASSERT_TRUE(committed) << committed.error().message();
}

/// Collective; every rank reads all.
inline void expect_step(PartStore& store, std::uint64_t step) {
  const auto reader = store.open_step(step);
  ASSERT_TRUE(reader) << reader.error().message();
  for (std::uint32_t part = 0; part < kStoredParts; ++part) {
    const auto values = (*reader)->get_values<double>({"values", part}, 3);
    ASSERT_TRUE(values) << values.error().message();
    EXPECT_EQ(*values, stored_values(step, part));
    const auto numbers = (*reader)->get_values<std::uint32_t>({"numbers", part});
    ASSERT_TRUE(numbers) << numbers.error().message();
    EXPECT_EQ(numbers->size(), part);
  }
  const auto missing = (*reader)->get_values<double>({"nothing", 1});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
  EXPECT_FALSE((*reader)->get_values<double>({"values", kStoredParts + 5}, 3));
  const auto other_width = (*reader)->get_values<double>({"values", 1}, 1);
  ASSERT_FALSE(other_width);
  EXPECT_EQ(other_width.error().kind(), ErrorClass::kDamage);
  EXPECT_FALSE((*reader)->get_values<std::uint64_t>({"values", 1}, 3));
}

/// Collective.
inline void expect_numbers(PartStore& store, const std::vector<std::uint64_t>& wanted) {
  const auto steps = store.steps();
  ASSERT_TRUE(steps) << steps.error().message();
  EXPECT_EQ(*steps, wanted);
}

/// What expect_steps_are_kept() has left behind.
inline void expect_steps_are_there(PartStore& store) {
  expect_numbers(store, {0, 2, 100});
  for (const std::uint64_t step : {0U, 2U, 100U})
    expect_step(store, step);
}

/// Collective. Numbers that do not rise are refused, and nothing changes.
inline void expect_refused(PartStore& store, const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t step : numbers) {
    const auto begun = store.begin_step(step);
    ASSERT_FALSE(begun) << step;
    EXPECT_EQ(begun.error().kind(), ErrorClass::kInvalidArgument);
  }
}

/// Collective. Begins a step and does not commit it.
inline void drop_step(PartStore& store, std::uint64_t step) {
  const auto dropped = store.begin_step(step);
  ASSERT_TRUE(dropped) << dropped.error().message();
  ASSERT_TRUE((*dropped)->put_values<double>({"values", 0}, std::vector<double>{1}));
}

/// Of the steps of expect_steps_are_kept(), where the store tells.
inline void expect_receipts(const std::vector<StepReceipt>& receipts) {
  if (receipts.empty()) return;
  ASSERT_EQ(receipts.size(), 3U);
  EXPECT_EQ(receipts.back().step, 100U);
  for (const StepReceipt& receipt : receipts) {
    EXPECT_GT(receipt.durable.count(), 0);
    EXPECT_LE(receipt.perceived, receipt.durable);
  }
}

/// Collective, on an empty store.
inline void expect_steps_are_kept(PartStore& store, Team& team) {
  expect_numbers(store, {});
  for (const std::uint64_t step : {0U, 2U})
    write_step(store, team, step);
  drop_step(store, 7);
  expect_refused(store, {0, 2, 7});
  write_step(store, team, 100);
  const Status durable = store.wait();
  ASSERT_TRUE(durable) << durable.error().message();
  expect_receipts(store.receipts());
  expect_steps_are_there(store);
  const auto missing = store.open_step(7);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
}

/// Collective, on a store that is opened again after expect_steps_are_kept().
inline void expect_it_goes_on(PartStore& store, Team& team) {
  expect_refused(store, {3, 100});
  write_step(store, team, 101);
  const Status durable = store.wait();
  ASSERT_TRUE(durable) << durable.error().message();
  expect_numbers(store, {0, 2, 100, 101});
  expect_step(store, 101);
}

}  // namespace forebay::flow::testing
