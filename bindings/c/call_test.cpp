// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/call.hpp"

#include <functional>
#include <new>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.hpp"
#include "bindings/c/testing.hpp"

namespace forebay::bindings {
namespace {

TEST(CVersion, macros_are_those_of_the_library) {
  const std::string version = std::to_string(FOREBAY_VERSION_MAJOR) + "." +
                              std::to_string(FOREBAY_VERSION_MINOR) + "." +
                              std::to_string(FOREBAY_VERSION_PATCH);
  EXPECT_EQ(forebay_version(), version);
}

TEST(CStatus, names_are_those_of_error_classes) {
  EXPECT_STREQ(forebay_status_name(FOREBAY_OK), "ok");
  EXPECT_EQ(forebay_status_name(FOREBAY_INVALID_ARGUMENT), name_of(ErrorClass::kInvalidArgument));
  EXPECT_EQ(forebay_status_name(FOREBAY_SHORT_FILE), name_of(ErrorClass::kShortFile));
  EXPECT_EQ(forebay_status_name(FOREBAY_LIMIT), name_of(ErrorClass::kLimit));
  EXPECT_EQ(forebay_status_name(FOREBAY_EXCEPTION), name_of(ErrorClass::kException));
  EXPECT_STREQ(forebay_status_name(-1), "unknown");
  EXPECT_STREQ(forebay_status_name(FOREBAY_EXCEPTION + 1), "unknown");
}

TEST(CCall, error_has_all_members_of_the_failure) {
  forebay_error error;
  const Error failed =
      with_rank(system_error({.operation = "read", .path = "f", .offset_bytes = 4096}, EIO), 3);
  EXPECT_EQ(fail(&error, failed), FOREBAY_IO);
  EXPECT_EQ(error.status, FOREBAY_IO);
  EXPECT_EQ(error.error_number, EIO);
  EXPECT_EQ(error.rank, 3);
  EXPECT_EQ(error.offset, 4096);
  EXPECT_EQ(error.message, failed.message());
}

TEST(CCall, error_without_rank_and_offset_has_minus_one) {
  forebay_error error;
  EXPECT_EQ(fail(&error, Error({.kind = ErrorClass::kLimit})), FOREBAY_LIMIT);
  EXPECT_EQ(error.rank, -1);
  EXPECT_EQ(error.offset, -1);
  EXPECT_EQ(fail(nullptr, Error({.kind = ErrorClass::kLimit})), FOREBAY_LIMIT);
}

TEST(CCall, long_message_is_cut_at_a_character) {
  for (std::size_t shift = 0; shift < 3; ++shift) {
    std::string cause(shift, 'x');
    for (int i = 0; i < 1000; ++i)
      cause += "\u20ac";  // three bytes
    forebay_error error;
    fail(&error, Error({.operation = "read", .cause = cause}));
    const std::string_view message(error.message);
    EXPECT_TRUE(is_utf8(message));
    EXPECT_GE(message.size(), sizeof error.message - 4);
  }
}

TEST(CCall, exceptions_become_a_status) {
  forebay_error error;
  EXPECT_EQ(run({"work", &error}, {}, [] { throw std::runtime_error("broken"); }),
            FOREBAY_EXCEPTION);
  EXPECT_STREQ(error.message, "work: broken");
  EXPECT_EQ(run({"work", &error}, {}, [] { throw std::bad_alloc(); }), FOREBAY_LIMIT);
  EXPECT_TRUE(has_text(error, "memory of the process is exhausted"));
  EXPECT_EQ(run({"work", &error}, {}, [] { throw 7; }), FOREBAY_EXCEPTION);
  EXPECT_EQ(run({"work", nullptr}, {}, [] { throw 7; }), FOREBAY_EXCEPTION);
}

TEST(CCall, struct_of_an_older_version_keeps_its_size) {
  forebay_receipt receipt{};
  receipt.size = offsetof(forebay_receipt, bytes);
  forebay_receipt value{};
  value.step = 7;
  value.bytes = 9;
  write_struct("test", &receipt, value);
  EXPECT_EQ(receipt.step, 7U);
  EXPECT_EQ(receipt.bytes, 0U);
  EXPECT_EQ(receipt.size, offsetof(forebay_receipt, bytes));
}

TEST(CCall, struct_of_a_newer_version_is_read_if_its_new_members_are_zero) {
  struct Newer {
    forebay_receipt receipt;
    std::uint64_t added;
  } newer{};
  newer.receipt.size = sizeof newer;
  newer.receipt.bytes = 5;
  EXPECT_EQ(read_struct("test", &newer.receipt).bytes, 5U);
  newer.added = 1;
  forebay_error error;
  EXPECT_EQ(run({"test", &error}, {}, [&] { read_struct("test", &newer.receipt); }),
            FOREBAY_UNSUPPORTED);
}

TEST(CCall, struct_without_size_is_refused) {
  forebay_runtime_options options{};
  forebay_runtime* runtime = nullptr;
  forebay_error error;
  EXPECT_EQ(forebay_runtime_create(&options, &runtime, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "FOREBAY_INIT"));
  EXPECT_EQ(runtime, nullptr);
}

using NullCall = std::function<int(forebay_error*)>;

void expect_null_is_refused(const std::vector<NullCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    forebay_error error{};
    EXPECT_EQ(calls[i](&error), FOREBAY_INVALID_ARGUMENT) << "call " << i;
    EXPECT_TRUE(has_text(error, "is NULL")) << "call " << i << ": " << error.message;
    EXPECT_EQ(calls[i](nullptr), FOREBAY_INVALID_ARGUMENT) << "call " << i;
  }
}

TEST(CNull, handles_of_reading_are_refused) {
  forebay_file* file = nullptr;
  forebay_session* session = nullptr;
  forebay_view view;
  char buffer[8];
  bool flag = false;
  int descriptor = 0;
  uint64_t size = 0;
  auto report = forebay_session_report FOREBAY_INIT(forebay_session_report);
  expect_null_is_refused({
      [&](auto* e) { return forebay_runtime_create(nullptr, nullptr, e); },
      [&](auto* e) { return forebay_runtime_rank(nullptr, nullptr, nullptr, nullptr, e); },
      [&](auto* e) { return forebay_runtime_serve(nullptr, e); },
      [&](auto* e) { return forebay_file_open(nullptr, "f", &file, e); },
      [&](auto* e) { return forebay_file_size(nullptr, &size, e); },
      [&](auto* e) { return forebay_session_open(nullptr, {0, 1}, nullptr, &session, e); },
      [&](auto* e) { return forebay_session_read(nullptr, {0, 8}, buffer, nullptr, e); },
      [&](auto* e) { return forebay_session_read_ranges(nullptr, {}, buffer, nullptr, e); },
      [&](auto* e) { return forebay_session_read_subarray(nullptr, nullptr, buffer, nullptr, e); },
      [&](auto* e) { return forebay_session_view(nullptr, {0, 8}, &view, nullptr, e); },
      [&](auto* e) { return forebay_session_prefetch(nullptr, {0, 8}, e); },
      [&](auto* e) { return forebay_session_hint(nullptr, "read {}", e); },
      [&](auto* e) { return forebay_session_hint_reads(nullptr, {}, e); },
      [&](auto* e) { return forebay_session_get_report(nullptr, &report, e); },
      [&](auto* e) { return forebay_request_test(nullptr, &flag, e); },
      [&](auto* e) { return forebay_request_wait(nullptr, -1, nullptr, e); },
      [&](auto* e) { return forebay_request_wait_all(nullptr, 1, e); },
      [&](auto* e) { return forebay_request_event_fd(nullptr, &descriptor, e); },
      [&](auto* e) { return forebay_request_cancel(nullptr, e); },
  });
}

TEST(CNull, handles_of_writing_are_refused) {
  forebay_stream* stream = nullptr;
  forebay_output_file* file = nullptr;
  forebay_output_buffer buffer{};
  forebay_dataset_writer* dataset = nullptr;
  forebay_step_writer* step = nullptr;
  forebay_buffer* adopted = nullptr;
  void* data = nullptr;
  auto receipt = forebay_receipt FOREBAY_INIT(forebay_receipt);
  expect_null_is_refused({
      [&](auto* e) { return forebay_stream_create(nullptr, nullptr, &stream, e); },
      [&](auto* e) { return forebay_stream_create_file(nullptr, "f", nullptr, &file, e); },
      [&](auto* e) { return forebay_stream_acquire(nullptr, nullptr, 0, &buffer, e); },
      [&](auto* e) { return forebay_stream_submit(nullptr, &buffer, nullptr, {0, 1}, e); },
      [&](auto* e) { return forebay_stream_write(nullptr, nullptr, {0, 1}, "x", e); },
      [&](auto* e) { return forebay_stream_drain(nullptr, e); },
      [&](auto* e) { return forebay_stream_sync(nullptr, e); },
      [&](auto* e) { return forebay_stream_cancel(nullptr, e); },
      [&](auto* e) { return forebay_output_file_publish(nullptr, e); },
      [&](auto* e) { return forebay_dataset_create(nullptr, "d", nullptr, &dataset, e); },
      [&](auto* e) { return forebay_dataset_begin_step(nullptr, 1, &step, e); },
      [&](auto* e) { return forebay_step_put(nullptr, nullptr, nullptr, e); },
      [&](auto* e) { return forebay_buffer_allocate(nullptr, 1, &data, &adopted, e); },
      [&](auto* e) { return forebay_step_adopt(nullptr, nullptr, nullptr, e); },
      [&](auto* e) { return forebay_step_set_attribute(nullptr, nullptr, nullptr, e); },
      [&](auto* e) { return forebay_dataset_set_attribute(nullptr, nullptr, e); },
      [&](auto* e) { return forebay_step_commit(nullptr, nullptr, e); },
      [&](auto* e) { return forebay_request_receipt(nullptr, &receipt, e); },
  });
  EXPECT_EQ(forebay_stream_close(nullptr, nullptr), FOREBAY_OK);
  EXPECT_EQ(forebay_dataset_writer_close(nullptr, nullptr), FOREBAY_OK);
}

TEST(CNull, handles_of_stored_steps_are_refused) {
  forebay_dataset_reader* dataset = nullptr;
  forebay_step_reader* step = nullptr;
  const uint64_t* numbers = nullptr;
  size_t count = 0;
  uint64_t shape[1];
  auto info = forebay_step_info FOREBAY_INIT(forebay_step_info);
  auto field = forebay_field_info FOREBAY_INIT(forebay_field_info);
  auto attribute = forebay_attribute FOREBAY_INIT(forebay_attribute);
  auto parts = forebay_part_list FOREBAY_INIT(forebay_part_list);
  expect_null_is_refused({
      [&](auto* e) { return forebay_dataset_open(nullptr, "d", nullptr, &dataset, e); },
      [&](auto* e) { return forebay_dataset_steps(nullptr, &numbers, &count, e); },
      [&](auto* e) { return forebay_dataset_open_step(nullptr, 1, &step, e); },
      [&](auto* e) { return forebay_step_get_info(nullptr, &info, e); },
      [&](auto* e) { return forebay_step_get_field(nullptr, nullptr, 0, &field, e); },
      [&](auto* e) { return forebay_step_get_attribute(nullptr, nullptr, 0, &attribute, e); },
      [&](auto* e) { return forebay_step_list_parts(nullptr, "f", &parts, e); },
      [&](auto* e) { return forebay_step_part_shape(nullptr, "f", 0, shape, e); },
      [&](auto* e) { return forebay_step_read(nullptr, nullptr, nullptr, nullptr, e); },
      [&](auto* e) { return forebay_step_damage(nullptr, 0, e); },
  });
}

TEST(CNull, functions_that_free_ignore_it) {
  forebay_runtime_destroy(nullptr);
  forebay_file_close(nullptr);
  forebay_session_close(nullptr);
  forebay_view_release(nullptr);
  forebay_request_free(nullptr);
  forebay_output_buffer_release(nullptr);
  forebay_output_file_close(nullptr);
  forebay_buffer_free(nullptr);
  forebay_step_abort(nullptr);
  forebay_dataset_reader_close(nullptr);
  forebay_step_close(nullptr);
}

TEST(CRuntime, options_are_in_force) {
  auto options = forebay_runtime_options FOREBAY_INIT(forebay_runtime_options);
  options.machine = "no-such-machine";
  options.budget_bytes = 8U << 20U;
  forebay_runtime* runtime = nullptr;
  forebay_stream* stream = nullptr;
  forebay_output_file* file = nullptr;
  forebay_error error;
  const TemporaryDirectory directory;
  FOREBAY_ASSERT_OK(forebay_runtime_create(&options, &runtime, &error));
  int status = forebay_stream_create(runtime, nullptr, &stream, &error);
  if (status == FOREBAY_OK)
    status = forebay_stream_create_file(stream, (directory / "f").c_str(), nullptr, &file, &error);
  EXPECT_NE(status, FOREBAY_OK);
  EXPECT_TRUE(has_text(error, "no-such-machine"));
  forebay_output_file_close(file);
  if (stream != nullptr) forebay_stream_close(stream, nullptr);
  forebay_runtime_destroy(runtime);
}

TEST(CRuntime, unknown_enumerator_is_refused_by_name) {
  auto options = forebay_runtime_options FOREBAY_INIT(forebay_runtime_options);
  options.placement = 9;
  forebay_runtime* runtime = nullptr;
  forebay_error error;
  EXPECT_EQ(forebay_runtime_create(&options, &runtime, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "create a runtime: placement is 9, it must be from 0 to 2");
}

TEST(CRuntime, has_one_rank_without_mpi) {
  forebay_runtime* runtime = nullptr;
  forebay_error error;
  FOREBAY_ASSERT_OK(forebay_runtime_create(nullptr, &runtime, &error));
  std::uint32_t rank = 7;
  std::uint32_t ranks = 7;
  bool is_io_rank = true;
  FOREBAY_EXPECT_OK(forebay_runtime_rank(runtime, &rank, &ranks, &is_io_rank, &error));
  EXPECT_EQ(rank, 0U);
  EXPECT_EQ(ranks, 1U);
  EXPECT_FALSE(is_io_rank);
  EXPECT_EQ(forebay_runtime_serve(runtime, &error), FOREBAY_INVALID_ARGUMENT);
  forebay_runtime_destroy(runtime);
}

TEST_F(CSessionFixture, missing_file_is_not_found_with_errno) {
  forebay_file* missing = file;
  EXPECT_EQ(forebay_file_open(runtime, (directory / "missing").c_str(), &missing, &error),
            FOREBAY_NOT_FOUND);
  EXPECT_EQ(missing, nullptr);
  EXPECT_EQ(error.error_number, ENOENT);
  EXPECT_TRUE(has_text(error, directory / "missing"));
}

TEST_F(CSessionFixture, child_of_fork_gets_closed) {
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t number = 0;
    _exit(forebay_session_read(session, {8, 8}, &number, nullptr, nullptr));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), FOREBAY_CLOSED);
}

}  // namespace
}  // namespace forebay::bindings
