// SPDX-License-Identifier: Apache-2.0
// Writes small datasets by one process, for tests of this module and of modules above it: files x
// parts x fields x steps, with bytes that identify their position. For tests only.
#pragma once

#include <functional>
#include <map>

#include "format/commits.hpp"
#include "format/index_builder.hpp"

namespace forebay::format {

/// One block of a step to be written.
struct TestBlock {
  FieldDefinition field = {};
  std::uint64_t part = 0;
  std::vector<std::uint64_t> start = {};
  std::vector<std::uint64_t> shape = {};  ///< of the part; the count in a global array
  std::vector<std::byte> raw = {};
  std::uint32_t file = 0;
};

/// Content of a step.
struct TestStep {
  std::uint64_t step = 0;
  std::uint32_t files = 1;
  Codec codec = Codec::kNone;
  std::vector<TestBlock> blocks = {};
  std::map<std::uint32_t, AttributeTable> attributes = {};  ///< by file
};

/// Writes steps into a directory, and publishes each. Aborts the test program on failure.
class TestWriter {
 public:
  TestWriter(std::string directory, const DatasetId& dataset, std::uint64_t steps_per_group = 1);

  /// Writes data, indexes and headers of the step, then `commits`.
  void write(const TestStep& step);
  /// The same without `commits`: the state that a crash before publication leaves.
  StepEntry write_data(const TestStep& step);
  void commit(const StepEntry& entry);
  void drop_before(std::uint64_t first_step);
  const CommitsState& state() const { return state_; }

 private:
  void write_plan(const CommitPlan& plan);

  std::string directory_;
  std::uint64_t steps_per_group_;
  std::uint64_t steps_ = 0;
  CommitsState state_;
  std::map<std::uint32_t, std::uint64_t> file_ends_;  ///< of files of the group
};

/// 00 01 02 ... 0f
DatasetId test_dataset_id();

/// `parts` parts of the fields "pressure" (float64, 1 dimension) and "velocity" (float32, n x 3),
/// of uneven sizes with part 1 empty, in `files` files; the values do not depend on `files`.
TestStep test_step(std::uint64_t step, std::uint64_t parts, std::uint32_t files);

}  // namespace forebay::format
