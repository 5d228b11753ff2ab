// SPDX-License-Identifier: Apache-2.0
// The contract of PartStore, checked for every implementation. For tests only.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "flow/part_store.hpp"

namespace forebay::flow::testing {

inline constexpr std::uint32_t kContractParts = 7;

/// Parts of uneven size, one of them empty.
inline std::vector<double> contract_values(std::uint64_t step, std::uint32_t part) {
  std::vector<double> values(part == 4 ? 0 : 3 * (10 + 5 * part));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(step) + part * 0.25 + static_cast<double>(i) / 3;
  return values;
}

/// Collective. A rank is chosen for each part by its number, so some ranks may have none.
inline void write_step(PartStore& store, SolverComm& comm, std::uint64_t step) {
  const auto writer = store.begin_step(step);
  ASSERT_TRUE(writer) << writer.error().message();
  for (std::uint32_t part = 0; part < kContractParts; ++part) {
    if (part * part % comm.size() != comm.rank()) continue;
    const std::vector<std::uint32_t> numbers(part, static_cast<std::uint32_t>(step));
    const std::vector<double> values = contract_values(step, part);
    ASSERT_TRUE((*writer)->put_values<double>({"values", part}, values, 3));
    ASSERT_TRUE((*writer)->put_values<std::uint32_t>({"numbers", part}, numbers));
  }
  const Status committed = (*writer)->commit();
  ASSERT_TRUE(committed) << committed.error().message();
}

/// Collective; every rank reads all parts.
inline void expect_step(PartStore& store, std::uint64_t step) {
  const auto reader = store.open_step(step);
  ASSERT_TRUE(reader) << reader.error().message();
  for (std::uint32_t part = 0; part < kContractParts; ++part) {
    const auto values = (*reader)->get_values<double>({"values", part}, 3);
    ASSERT_TRUE(values) << values.error().message();
    EXPECT_EQ(*values, contract_values(step, part));
    const auto numbers = (*reader)->get_values<std::uint32_t>({"numbers", part});
    ASSERT_TRUE(numbers) << numbers.error().message();
    EXPECT_EQ(numbers->size(), part);
  }
  const auto missing = (*reader)->get_values<double>({"nothing", 1});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
  EXPECT_FALSE((*reader)->get_values<double>({"values", kContractParts + 5}, 3));
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

/// Steps that check_store_contract() has written.
inline void expect_contract_steps(PartStore& store) {
  expect_numbers(store, {0, 2, 100});
  for (const std::uint64_t step : {0U, 2U, 100U})
    expect_step(store, step);
}

/// Collective. Numbers that do not ascend are rejected, without effect.
inline void expect_steps_rejected(PartStore& store, const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t step : numbers) {
    const auto begun = store.begin_step(step);
    ASSERT_FALSE(begun) << step;
    EXPECT_EQ(begun.error().kind(), ErrorClass::kInvalidArgument);
  }
}

/// Collective. Begins a step and does not commit it.
inline void abandon_step(PartStore& store, std::uint64_t step) {
  const auto dropped = store.begin_step(step);
  ASSERT_TRUE(dropped) << dropped.error().message();
  ASSERT_TRUE((*dropped)->put_values<double>({"values", 0}, std::vector<double>{1}));
}

/// Receipts of the steps of check_store_contract(), if the store has any.
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
inline void check_store_contract(PartStore& store, SolverComm& comm) {
  expect_numbers(store, {});
  for (const std::uint64_t step : {0U, 2U})
    write_step(store, comm, step);
  abandon_step(store, 7);
  expect_steps_rejected(store, {0, 2, 7});
  write_step(store, comm, 100);
  const Status durable = store.wait();
  ASSERT_TRUE(durable) << durable.error().message();
  expect_receipts(store.receipts());
  expect_contract_steps(store);
  const auto missing = store.open_step(7);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
}

/// Collective, on a store that was opened again after check_store_contract().
inline void check_reopened_store(PartStore& store, SolverComm& comm) {
  expect_steps_rejected(store, {3, 100});
  write_step(store, comm, 101);
  const Status durable = store.wait();
  ASSERT_TRUE(durable) << durable.error().message();
  expect_numbers(store, {0, 2, 100, 101});
  expect_step(store, 101);
}

}  // namespace forebay::flow::testing
