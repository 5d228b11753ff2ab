// SPDX-License-Identifier: Apache-2.0
// Writes small datasets by one process, for tests of this module and of those above: files x parts
// x fields x steps, with bytes that tell where they belong. For tests only.
#pragma once

#include <functional>
#include <map>

#include "format/commits.hpp"
#include "format/index_builder.hpp"

namespace forebay::format {

/// One block of a step that is to be written.
struct TestBlock {
  FieldDefinition field = {};
  std::uint64_t part = 0;
  std::vector<std::uint64_t> start = {};
  std::vector<std::uint64_t> shape = {};  ///< of the part; the count in a global array
  std::vector<std::byte> raw = {};
  std::uint32_t file = 0;
};

/// Of what a step consists.
struct TestStep {
  std::uint64_t step = 0;
  std::uint32_t files = 1;
  Codec codec = Codec::kNone;
  std::vector<TestBlock> blocks = {};
};

/// Writes steps into a folder, publishing each. Aborts the test program on failures.
class TestWriter {
 public:
  TestWriter(std::string folder, const DatasetId& dataset, std::uint64_t steps_per_group = 1);

  /// Data, indexes and headers of the step; then `commits`.
  void write(const TestStep& step);
  /// The same without the last act: what a death before publishing leaves.
  StepEntry write_data(const TestStep& step);
  void publish(const StepEntry& entry);
  void drop_before(std::uint64_t first_step);
  const CommitsState& state() const { return state_; }

 private:
  void write_plan(const CommitPlan& plan);

  std::string folder_;
  std::uint64_t steps_per_group_;
  std::uint64_t steps_ = 0;
  CommitsState state_;
  std::map<std::uint32_t, std::uint64_t> ends_;  ///< of files of the group
};

/// 00 01 02 ... 0f
DatasetId test_dataset();

/// `parts` parts of the fields "pressure" (float64, 1 dimension) and "velocity" (float32, n x 3),
/// of uneven sizes with part 1 empty, spread over `files` files; the same values whatever the
/// files.
TestStep test_step(std::uint64_t step, std::uint64_t parts, std::uint32_t files);

}  // namespace forebay::format
