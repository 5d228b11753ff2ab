// SPDX-License-Identifier: Apache-2.0
// Datasets of the C interface: blocks of each type, attributes, receipts, failures.
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "bindings/c/testing.hpp"

namespace forebay::bindings {
namespace {

/// A dataset that is written, and read back.
struct CDataset : CRuntimeFixture {
  CDataset() : path(directory / "run.fb") {
    EXPECT_EQ(forebay_dataset_create(runtime, path.c_str(), nullptr, &writer, &error), FOREBAY_OK);
  }
  ~CDataset() override {
    forebay_step_close(stored);
    forebay_dataset_reader_close(reader);
    forebay_step_abort(step);
    forebay_dataset_writer_close(writer, nullptr);
  }

  void begin(std::uint64_t number) {
    FOREBAY_ASSERT_OK(forebay_dataset_begin_step(writer, number, &step, &error));
  }
  void commit() {
    FOREBAY_ASSERT_OK(forebay_step_commit(std::exchange(step, nullptr), nullptr, &error));
  }
  void open(std::uint64_t number) {
    FOREBAY_ASSERT_OK(forebay_dataset_open(runtime, path.c_str(), nullptr, &reader, &error));
    FOREBAY_ASSERT_OK(forebay_dataset_open_step(reader, number, &stored, &error));
  }

  std::string path;
  forebay_dataset_writer* writer = nullptr;
  forebay_step_writer* step = nullptr;
  forebay_dataset_reader* reader = nullptr;
  forebay_step_reader* stored = nullptr;
};

forebay_block part_block(int type, std::uint32_t dimensions, const std::uint64_t* count) {
  forebay_block block FOREBAY_INIT(forebay_block);
  block.field = "f";
  block.type = type;
  block.dimensions = dimensions;
  block.count = count;
  return block;
}

const std::uint64_t kCount[] = {2, 3};

TEST_F(CDataset, parts_of_each_type_are_read_back) {
  begin(1);
  std::vector<unsigned char> bytes(6 * 16);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(i);
  for (int type = FOREBAY_INT8; type <= FOREBAY_BYTES; ++type) {
    forebay_block block = part_block(type, 2, kCount);
    const std::string name = "type" + std::to_string(type);
    block.field = name.c_str();
    block.part = 7;
    FOREBAY_ASSERT_OK(forebay_step_put(step, &block, bytes.data(), &error));
  }
  commit();
  open(1);
  for (int type = FOREBAY_INT8; type <= FOREBAY_BYTES; ++type) {
    const std::string name = "type" + std::to_string(type);
    forebay_field_info info FOREBAY_INIT(forebay_field_info);
    FOREBAY_ASSERT_OK(forebay_step_get_field(stored, name.c_str(), 0, &info, &error));
    EXPECT_EQ(info.type, type);
    EXPECT_EQ(info.dimensions, 2U);
    EXPECT_FALSE(info.is_global);
    for (const int as : {type, static_cast<int>(FOREBAY_BYTES)}) {
      std::vector<unsigned char> found(info.bytes);
      forebay_block block = part_block(as, 2, kCount);
      block.field = name.c_str();
      block.part = 7;
      FOREBAY_ASSERT_OK(forebay_step_read(stored, &block, found.data(), nullptr, &error));
      EXPECT_EQ(std::memcmp(found.data(), bytes.data(), found.size()), 0) << name;
    }
  }
}

forebay_block global_block(const std::uint64_t* shape,
                           const std::uint64_t* start,
                           const std::uint64_t* count) {
  forebay_block block = part_block(FOREBAY_INT32, 2, count);
  block.global_shape = shape;
  block.start = start;
  return block;
}

TEST_F(CDataset, selection_of_a_global_array_is_filled_where_nothing_was_written) {
  const std::uint64_t shape[] = {4, 5};
  const std::uint64_t start[] = {1, 0};
  const std::uint64_t origin[] = {0, 0};
  const std::int32_t values[] = {1, 2, 3, 4, 5, 6};
  begin(3);
  forebay_block block = global_block(shape, start, kCount);
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, values, &error));
  commit();
  open(3);
  const std::uint64_t count[] = {2, 4};
  std::int32_t found[8] = {};
  block = global_block(shape, origin, count);
  EXPECT_EQ(forebay_step_read(stored, &block, found, nullptr, &error), FOREBAY_NOT_FOUND);
  const std::int32_t fill = -9;
  block.fill = &fill;
  FOREBAY_ASSERT_OK(forebay_step_read(stored, &block, found, nullptr, &error));
  EXPECT_EQ(std::vector<std::int32_t>(found, found + 8),
            (std::vector<std::int32_t>{-9, -9, -9, -9, 1, 2, 3, -9}));
  forebay_field_info info FOREBAY_INIT(forebay_field_info);
  FOREBAY_ASSERT_OK(forebay_step_get_field(stored, nullptr, 0, &info, &error));
  EXPECT_TRUE(info.is_global);
  EXPECT_EQ(info.shape[1], 5U);
  EXPECT_EQ(forebay_step_get_field(stored, nullptr, 1, &info, &error), FOREBAY_NOT_FOUND);
}

TEST_F(CDataset, ghost_layers_are_not_written_and_not_overwritten) {
  const std::uint64_t memory[] = {4, 5};
  const std::uint64_t start[] = {1, 1};
  std::int32_t values[20];
  std::iota(values, values + 20, 0);
  begin(1);
  forebay_block block = part_block(FOREBAY_INT32, 2, kCount);
  block.memory_shape = memory;
  block.memory_start = start;
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, values, &error));
  commit();
  open(1);
  std::int32_t found[20] = {};
  FOREBAY_ASSERT_OK(forebay_step_read(stored, &block, found, nullptr, &error));
  EXPECT_EQ(
      std::vector<std::int32_t>(found, found + 20),
      (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 6, 7, 8, 0, 0, 11, 12, 13, 0, 0, 0, 0, 0, 0}));
}

TEST_F(CDataset, strides_and_order_of_memory_are_those_of_the_block) {
  const std::int32_t values[] = {1, 2, 3, 4, 5, 6};
  begin(1);
  forebay_block block = part_block(FOREBAY_INT32, 2, kCount);
  block.memory_order = FOREBAY_ORDER_FORTRAN;
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, values, &error));
  commit();
  open(1);
  const std::uint64_t strides[] = {7, 2};
  std::int32_t found[12] = {};
  block.memory_order = FOREBAY_ORDER_C;
  block.memory_strides = strides;
  FOREBAY_ASSERT_OK(forebay_step_read(stored, &block, found, nullptr, &error));
  EXPECT_EQ(std::vector<std::int32_t>(found, found + 12),
            (std::vector<std::int32_t>{1, 0, 3, 0, 5, 0, 0, 2, 0, 4, 0, 6}));
  const std::uint64_t huge[] = {UINT64_MAX, 2};
  block.memory_strides = huge;
  EXPECT_EQ(forebay_step_read(stored, &block, found, nullptr, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "strides")) << error.message;
  block.memory_order = 7;
  EXPECT_EQ(forebay_step_read(stored, &block, found, nullptr, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "order is 7"));
}

TEST_F(CDataset, adopted_buffer_is_written_without_a_copy) {
  begin(1);
  void* data = nullptr;
  forebay_buffer* buffer = nullptr;
  FOREBAY_ASSERT_OK(forebay_buffer_allocate(runtime, 1U << 20U, &data, &buffer, &error));
  std::memset(data, 5, 1U << 20U);
  const std::uint64_t count[] = {1U << 20U};
  forebay_block block = part_block(FOREBAY_UINT8, 1, count);
  FOREBAY_ASSERT_OK(forebay_step_adopt(step, &block, buffer, &error));
  forebay_request* committed = nullptr;
  FOREBAY_ASSERT_OK(forebay_step_commit(std::exchange(step, nullptr), &committed, &error));
  FOREBAY_ASSERT_OK(forebay_request_wait(committed, -1, nullptr, &error));
  forebay_receipt receipt FOREBAY_INIT(forebay_receipt);
  FOREBAY_ASSERT_OK(forebay_request_receipt(committed, &receipt, &error));
  EXPECT_EQ(receipt.step, 1U);
  EXPECT_EQ(receipt.adopted_bytes, 1U << 20U);
  EXPECT_EQ(receipt.copied_bytes, 0U);
  EXPECT_GT(receipt.durable_ns, 0U);
  forebay_request_free(committed);
}

TEST_F(CDataset, buffer_of_a_refused_adoption_keeps_its_bytes) {
  begin(1);
  void* data = nullptr;
  forebay_buffer* buffer = nullptr;
  FOREBAY_ASSERT_OK(forebay_buffer_allocate(runtime, 8, &data, &buffer, &error));
  std::memset(data, 5, 8);
  forebay_block block = part_block(FOREBAY_FLOAT64, 2, kCount);
  EXPECT_EQ(forebay_step_adopt(nullptr, &block, buffer, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(forebay_step_adopt(step, &block, buffer, &error), FOREBAY_INVALID_ARGUMENT);
  forebay_step_abort(std::exchange(step, nullptr));
  EXPECT_EQ(static_cast<unsigned char*>(data)[7], 5);
  begin(2);
  const std::uint64_t count[] = {8};
  block = part_block(FOREBAY_UINT8, 1, count);
  FOREBAY_ASSERT_OK(forebay_step_adopt(step, &block, buffer, &error));
}

TEST_F(CDataset, attributes_are_read_back) {
  begin(1);
  const double time = 0.25;
  const char* const axes[] = {"y", "x"};
  const std::uint64_t two[] = {2};
  forebay_attribute value FOREBAY_INIT(forebay_attribute);
  value.name = "time";
  value.type = FOREBAY_FLOAT64;
  value.data = &time;
  FOREBAY_ASSERT_OK(forebay_step_set_attribute(step, nullptr, &value, &error));
  value.type = FOREBAY_TEXT;
  value.name = "units";
  value.data = "K";
  FOREBAY_ASSERT_OK(forebay_step_set_attribute(step, "f", &value, &error));
  value.name = "axes";
  value.dimensions = 1;
  value.shape = two;
  value.data = axes;
  FOREBAY_ASSERT_OK(forebay_step_set_attribute(step, "f", &value, &error));
  FOREBAY_ASSERT_OK(forebay_dataset_set_attribute(writer, &value, &error));
  const std::int32_t numbers[6] = {};
  forebay_block block = part_block(FOREBAY_INT32, 2, kCount);
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, numbers, &error));
  commit();
  open(1);

  forebay_step_info info FOREBAY_INIT(forebay_step_info);
  FOREBAY_ASSERT_OK(forebay_step_get_info(stored, &info, &error));
  EXPECT_EQ(info.number, 1U);
  EXPECT_EQ(info.field_count, 1U);
  EXPECT_EQ(info.attribute_count, 1U);
  EXPECT_EQ(info.dataset_attribute_count, 1U);
  EXPECT_GT(info.begin_time_ns, 0);
  forebay_attribute found FOREBAY_INIT(forebay_attribute);
  FOREBAY_ASSERT_OK(forebay_step_get_attribute(stored, FOREBAY_OF_STEP, 0, &found, &error));
  EXPECT_STREQ(found.name, "time");
  EXPECT_EQ(found.type, FOREBAY_FLOAT64);
  EXPECT_EQ(found.dimensions, 0U);
  EXPECT_EQ(*static_cast<const double*>(found.data), 0.25);
  for (const char* of : {"f", FOREBAY_OF_DATASET}) {
    FOREBAY_ASSERT_OK(forebay_step_get_attribute(stored, of, 0, &found, &error));
    EXPECT_STREQ(found.name, "axes");
    EXPECT_EQ(found.type, FOREBAY_TEXT);
    ASSERT_EQ(found.dimensions, 1U);
    EXPECT_EQ(found.shape[0], 2U);
    EXPECT_STREQ(static_cast<const char* const*>(found.data)[1], "x");
  }
  FOREBAY_ASSERT_OK(forebay_step_get_attribute(stored, "f", 1, &found, &error));
  EXPECT_STREQ(static_cast<const char*>(found.data), "K");
  EXPECT_EQ(forebay_step_get_attribute(stored, "f", 2, &found, &error), FOREBAY_NOT_FOUND);
  EXPECT_EQ(forebay_step_get_attribute(stored, "g", 0, &found, &error), FOREBAY_NOT_FOUND);
}

TEST_F(CDataset, invalid_attributes_are_refused) {
  begin(1);
  const std::uint64_t two[] = {2, 2};
  const char* const texts[] = {"a", nullptr};
  forebay_attribute value FOREBAY_INIT(forebay_attribute);
  const auto refused = [&](const char* text) {
    return forebay_step_set_attribute(step, nullptr, &value, &error) == FOREBAY_INVALID_ARGUMENT &&
           has_text(error, text);
  };
  EXPECT_TRUE(refused("name is NULL")) << error.message;
  value.name = "a";
  EXPECT_TRUE(refused("type is 0")) << error.message;
  value.type = FOREBAY_TEXT;
  EXPECT_TRUE(refused("NULL")) << error.message;
  value.dimensions = 2;
  value.shape = two;
  EXPECT_TRUE(refused("2 dimensions")) << error.message;
  value.dimensions = 1;
  value.data = texts;
  EXPECT_TRUE(refused("text 1 of the list is NULL")) << error.message;
  value.dimensions = 0;
  value.data = "\xff";
  EXPECT_TRUE(refused("UTF-8")) << error.message;
}

TEST_F(CDataset, parts_are_listed_and_shared_among_ranks) {
  begin(1);
  for (const std::uint64_t part : {3U, 5U, 8U, 9U}) {
    forebay_block block = part_block(FOREBAY_UINT8, 2, kCount);
    block.part = part;
    FOREBAY_ASSERT_OK(forebay_step_put(step, &block, "abcdef", &error));
  }
  commit();
  open(1);
  std::uint64_t numbers[3] = {};
  forebay_part_list parts FOREBAY_INIT(forebay_part_list);
  FOREBAY_ASSERT_OK(forebay_step_list_parts(stored, "f", &parts, &error));
  EXPECT_EQ(parts.count, 4U);
  parts.numbers = numbers;
  parts.capacity = 3;
  FOREBAY_ASSERT_OK(forebay_step_list_parts(stored, "f", &parts, &error));
  EXPECT_EQ(parts.count, 4U);
  EXPECT_EQ(numbers[2], 8U);
  parts.rank = 1;
  parts.rank_count = 2;
  FOREBAY_ASSERT_OK(forebay_step_list_parts(stored, "f", &parts, &error));
  EXPECT_EQ(parts.count, 2U);
  EXPECT_EQ(numbers[1], 9U);
  parts.numbers = nullptr;
  EXPECT_EQ(forebay_step_list_parts(stored, "f", &parts, &error), FOREBAY_INVALID_ARGUMENT);
  std::uint64_t shape[2] = {};
  FOREBAY_ASSERT_OK(forebay_step_part_shape(stored, "f", 8, shape, &error));
  EXPECT_EQ(shape[1], 3U);
  EXPECT_EQ(forebay_step_part_shape(stored, "f", 4, shape, &error), FOREBAY_NOT_FOUND);
  FOREBAY_EXPECT_OK(forebay_step_damage(stored, 0, &error));
}

TEST_F(CDataset, reads_with_another_type_or_shape_are_refused) {
  begin(1);
  forebay_block block = part_block(FOREBAY_INT32, 2, kCount);
  std::int32_t values[6] = {};
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, values, &error));
  commit();
  open(1);
  block.type = FOREBAY_FLOAT32;
  EXPECT_EQ(forebay_step_read(stored, &block, values, nullptr, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "int32")) << error.message;
  const std::uint64_t transposed[] = {3, 2};
  block = part_block(FOREBAY_INT32, 2, transposed);
  EXPECT_EQ(forebay_step_read(stored, &block, values, nullptr, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "(3, 2)")) << error.message;
  EXPECT_TRUE(has_text(error, "(2, 3)")) << error.message;
  block = part_block(FOREBAY_BYTES, 2, kCount);
  block.field = "g";
  EXPECT_EQ(forebay_step_read(stored, &block, values, nullptr, &error), FOREBAY_NOT_FOUND);
}

TEST_F(CDataset, invalid_blocks_are_refused) {
  begin(1);
  forebay_block block = part_block(0, 2, kCount);
  const auto status = [&] { return forebay_step_put(step, &block, "abcdef", &error); };
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "type is 0"));
  block = part_block(FOREBAY_TEXT, 2, kCount);
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  block = part_block(FOREBAY_INT8, 2, nullptr);
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "count is NULL"));
  block = part_block(FOREBAY_INT8, 33, kCount);
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  block = part_block(FOREBAY_INT8, 2, kCount);
  block.field = nullptr;
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "field of the block is NULL"));
  block = part_block(FOREBAY_INT8, 2, kCount);
  EXPECT_EQ(forebay_step_put(step, &block, nullptr, &error), FOREBAY_INVALID_ARGUMENT);
}

TEST_F(CDataset, refused_call_fails_the_step_with_its_cause) {
  const forebay_block valid = part_block(FOREBAY_INT8, 2, kCount);
  const forebay_block invalid = part_block(FOREBAY_INT8, 2, nullptr);
  const forebay_attribute unnamed FOREBAY_INIT(forebay_attribute);
  const std::pair<std::function<int()>, const char*> refused[] = {
      {[&] { return forebay_step_put(step, &valid, nullptr, &error); }, "6 bytes is NULL"},
      {[&] { return forebay_step_put(step, nullptr, "abcdef", &error); }, "block is NULL"},
      {[&] { return forebay_step_put(step, &invalid, "abcdef", &error); }, "count is NULL"},
      {[&] { return forebay_step_adopt(step, &valid, nullptr, &error); }, "buffer is NULL"},
      {[&] { return forebay_step_set_attribute(step, nullptr, &unnamed, &error); }, "name is NULL"},
      {[&] { return forebay_step_set_attribute(step, "f", nullptr, &error); }, "attribute is NULL"},
  };
  std::uint64_t number = 0;
  for (const auto& [call, cause] : refused) {
    begin(++number);
    FOREBAY_ASSERT_OK(forebay_step_put(step, &valid, "abcdef", &error));
    EXPECT_EQ(call(), FOREBAY_INVALID_ARGUMENT);
    EXPECT_TRUE(has_text(error, cause)) << error.message;
    error = {};
    EXPECT_EQ(forebay_step_commit(std::exchange(step, nullptr), nullptr, &error),
              FOREBAY_INVALID_ARGUMENT);
    EXPECT_TRUE(has_text(error, cause)) << error.message;
  }
  EXPECT_EQ(forebay_dataset_writer_close(std::exchange(writer, nullptr), &error),
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "the first of 6 steps that failed")) << error.message;
}

TEST_F(CDataset, failures_of_opening_have_their_class) {
  begin(1);
  forebay_block block = part_block(FOREBAY_INT8, 2, kCount);
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, "abcdef", &error));
  commit();
  forebay_dataset_writer* other = nullptr;
  EXPECT_EQ(forebay_dataset_create(runtime, path.c_str(), nullptr, &other, &error), FOREBAY_EXISTS);
  forebay_dataset_options options FOREBAY_INIT(forebay_dataset_options);
  options.existing = FOREBAY_EXISTING_APPEND;
  EXPECT_EQ(forebay_dataset_create(runtime, path.c_str(), &options, &other, &error),
            FOREBAY_PERMISSION);
  FOREBAY_EXPECT_OK(forebay_dataset_writer_close(std::exchange(writer, nullptr), &error));
  const std::string missing = directory / "missing.fb";
  EXPECT_EQ(forebay_dataset_open(runtime, missing.c_str(), nullptr, &reader, &error),
            FOREBAY_NOT_FOUND);
  EXPECT_EQ(reader, nullptr);
  open(1);
  forebay_step_reader* none = stored;
  EXPECT_EQ(forebay_dataset_open_step(reader, 2, &none, &error), FOREBAY_NOT_FOUND);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CDataset, aborted_step_is_never_visible) {
  begin(1);
  forebay_step_abort(std::exchange(step, nullptr));
  begin(2);
  forebay_block block = part_block(FOREBAY_INT8, 2, kCount);
  FOREBAY_ASSERT_OK(forebay_step_put(step, &block, "abcdef", &error));
  commit();
  open(2);
  const std::uint64_t* numbers = nullptr;
  std::size_t count = 0;
  FOREBAY_ASSERT_OK(forebay_dataset_steps(reader, &numbers, &count, &error));
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(numbers[0], 2U);
}

TEST(CDatasetPlan, is_a_strategy_a_file_or_a_text) {
  const TemporaryDirectory directory;
  forebay_runtime* runtime = nullptr;
  forebay_dataset_writer* dataset = nullptr;
  forebay_error error;
  FOREBAY_ASSERT_OK(forebay_runtime_create(nullptr, &runtime, &error));
  std::ofstream(directory / "plan.toml") << "retained_steps = 2\n";
  const std::string file = directory / "plan.toml";
  forebay_dataset_options options FOREBAY_INIT(forebay_dataset_options);
  for (const char* plan : {"serial", file.c_str()}) {
    options.plan = plan;
    FOREBAY_EXPECT_OK(
        forebay_dataset_create(runtime, (directory / "a").c_str(), &options, &dataset, &error));
    FOREBAY_EXPECT_OK(forebay_dataset_writer_close(dataset, &error));
    EXPECT_EQ(forebay_runtime_rank(runtime, nullptr, nullptr, nullptr, nullptr), FOREBAY_OK);
    std::filesystem::remove_all(directory / "a");
  }
  options.plan_toml = "files = 1";
  const auto create = [&](const char* name) {
    return forebay_dataset_create(runtime, (directory / name).c_str(), &options, &dataset, &error);
  };
  EXPECT_EQ(create("b"), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "both set"));
  options.plan = nullptr;
  FOREBAY_EXPECT_OK(create("b"));
  FOREBAY_EXPECT_OK(forebay_dataset_writer_close(dataset, &error));
  options.plan_toml = "no_such_key = 1";
  EXPECT_EQ(create("c"), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "no_such_key"));
  options.plan_toml = nullptr;
  options.plan = "no-such-strategy";
  EXPECT_EQ(create("c"), FOREBAY_NOT_FOUND) << error.message;
  forebay_runtime_destroy(runtime);
}

}  // namespace
}  // namespace forebay::bindings
