// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of stored datasets: datasets in which each value identifies its place. For
// tests only.
#pragma once

#include <forebay/runtime.hpp>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/testing.hpp"
#include "runtime/testing.hpp"

namespace forebay {

/// Behavior of a dataset that ranks read together, for any kind of communicator.
class DatasetReaderRanksSuite : public comm::CommunicatorTest {};

/// The value of an element of a part.
inline double value_at(std::uint64_t step, std::uint64_t part, std::uint64_t element) {
  return static_cast<double>(step) * 1e12 + static_cast<double>(part) * 1e7 +
         static_cast<double>(element);
}

inline std::vector<double> values_of(std::uint64_t step, std::uint64_t part, std::uint64_t count) {
  std::vector<double> values(count);
  for (std::uint64_t i = 0; i < count; ++i)
    values[i] = value_at(step, part, i);
  return values;
}

template <class T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Number of elements of the parts of large_step(): uneven, one part empty, some of several pieces.
inline std::uint64_t elements_in(std::uint64_t part) {
  constexpr std::array<std::uint64_t, 6> kElements = {1000, 0, 131'072, 300'001, 1, 140'000};
  return kElements.at(part % kElements.size()) + part / kElements.size();
}

/// A step with parts of the field "speed", stored in another order than their numbers.
inline format::TestStep large_step(std::uint64_t step, std::uint64_t parts, std::uint32_t files) {
  format::TestStep result{.step = step, .files = files};
  for (std::uint64_t i = 0; i < parts; ++i) {
    const std::uint64_t part = parts - 1 - i;
    result.blocks.push_back({.field = {.name = "speed", .type = ElementType::kFloat64},
                             .part = part,
                             .start = {},
                             .shape = {elements_in(part)},
                             .raw = to_bytes(values_of(step, part, elements_in(part))),
                             .file = static_cast<std::uint32_t>((part * 7 + 3) % files)});
  }
  return result;
}

/// Reads a whole part. An Error or a wrong value fails the test.
inline void expect_part(const StepReader& step, Part part) {
  std::vector<double> values(elements_in(part.number), -1.0);
  const auto got = step.read("speed", part, std::span(values)).wait();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, values.size() * sizeof(double));
  EXPECT_EQ(values, values_of(step.number(), part.number, values.size()));
}

/// Flips one bit of a byte.
inline void flip_bit(const std::string& path, std::uint64_t offset) {
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  const int byte = stream.get();
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(static_cast<char>(byte ^ 0x10));
  ASSERT_TRUE(stream.good());
}

inline StepReader open_newest_step(Runtime& runtime,
                                   const std::string& path,
                                   const DatasetReadOptions& options = {}) {
  auto dataset = runtime.open_dataset(path, options);
  EXPECT_TRUE(dataset) << (dataset ? "" : dataset.error().message());
  auto step = dataset.value().open_step(dataset->newest_step().value());
  EXPECT_TRUE(step) << (step ? "" : step.error().message());
  return step.value();
}

}  // namespace forebay
