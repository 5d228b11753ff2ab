// SPDX-License-Identifier: Apache-2.0
// Output streams of the C interface.
#include <cstring>
#include <filesystem>
#include <iterator>

#include "bindings/c/testing.hpp"

namespace forebay::bindings {
namespace {

struct CStream : CRuntimeFixture {
  CStream() {
    forebay_stream_plan plan FOREBAY_INIT(forebay_stream_plan);
    plan.buffer_bytes = 8192;
    plan.buffers = 2;
    EXPECT_EQ(forebay_stream_create(runtime, &plan, &stream, &error), FOREBAY_OK);
    EXPECT_EQ(
        forebay_stream_create_file(stream, (directory / "out").c_str(), nullptr, &file, &error),
        FOREBAY_OK);
  }
  ~CStream() override {
    forebay_output_file_close(file);
    if (stream == nullptr) return;
    EXPECT_EQ(forebay_stream_close(stream, &error), FOREBAY_OK);
  }
  std::string content(const std::string& name) const {
    std::ifstream in(directory / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  forebay_stream* stream = nullptr;
  forebay_output_file* file = nullptr;
};

TEST_F(CStream, submitted_and_written_bytes_are_in_the_file) {
  forebay_output_buffer buffer;
  FOREBAY_ASSERT_OK(forebay_stream_acquire(stream, file, 0, &buffer, &error));
  ASSERT_EQ(buffer.size, 8192U);
  std::memset(buffer.data, 'a', 10);
  FOREBAY_ASSERT_OK(forebay_stream_submit(stream, &buffer, file, {0, 10}, &error));
  EXPECT_EQ(buffer.data, nullptr);
  const std::string more(20'000, 'b');
  FOREBAY_ASSERT_OK(forebay_stream_write(stream, file, {10, more.size()}, more.data(), &error));
  FOREBAY_EXPECT_OK(forebay_stream_sync(stream, &error));
  EXPECT_EQ(content("out"), std::string(10, 'a') + more);
}

TEST_F(CStream, buffer_can_be_released_unwritten) {
  for (int i = 0; i < 5; ++i) {
    forebay_output_buffer buffer;
    FOREBAY_ASSERT_OK(forebay_stream_acquire(stream, nullptr, 0, &buffer, &error));
    forebay_output_buffer_release(&buffer);
    EXPECT_EQ(buffer.data, nullptr);
    forebay_output_buffer_release(&buffer);
  }
}

TEST_F(CStream, invalid_submissions_are_refused_and_release_the_buffer) {
  forebay_output_buffer buffer{};
  EXPECT_EQ(forebay_stream_submit(stream, &buffer, file, {0, 1}, &error), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "forebay_stream_acquire"));
  for (int i = 0; i < 4; ++i) {
    FOREBAY_ASSERT_OK(forebay_stream_acquire(stream, nullptr, 0, &buffer, &error));
    EXPECT_EQ(forebay_stream_submit(stream, &buffer, file, {0, 8193}, &error),
              FOREBAY_OUT_OF_RANGE);
    EXPECT_EQ(buffer.data, nullptr);
    FOREBAY_ASSERT_OK(forebay_stream_acquire(stream, nullptr, 0, &buffer, &error));
    EXPECT_EQ(forebay_stream_submit(stream, &buffer, nullptr, {0, 1}, &error),
              FOREBAY_INVALID_ARGUMENT);
    EXPECT_EQ(buffer.data, nullptr);
  }
}

TEST_F(CStream, file_is_visible_when_it_is_published) {
  forebay_output_file_options options FOREBAY_INIT(forebay_output_file_options);
  options.visibility = FOREBAY_VISIBLE_ON_PUBLISH;
  options.expected_bytes = 3;
  forebay_output_file* hidden = nullptr;
  const std::string path = directory / "hidden";
  FOREBAY_ASSERT_OK(forebay_stream_create_file(stream, path.c_str(), &options, &hidden, &error));
  FOREBAY_ASSERT_OK(forebay_stream_write(stream, hidden, {0, 3}, "abc", &error));
  FOREBAY_ASSERT_OK(forebay_stream_drain(stream, &error));
  EXPECT_FALSE(std::filesystem::exists(path));
  FOREBAY_EXPECT_OK(forebay_output_file_publish(hidden, &error));
  EXPECT_EQ(content("hidden"), "abc");
  forebay_output_file_close(hidden);
}

TEST_F(CStream, missing_directory_is_not_found) {
  forebay_output_file* other = nullptr;
  const std::string path = directory / "missing/file";
  EXPECT_EQ(forebay_stream_create_file(stream, path.c_str(), nullptr, &other, &error),
            FOREBAY_NOT_FOUND);
  EXPECT_EQ(other, nullptr);
}

TEST_F(CStream, cancelled_stream_returns_that_from_each_call) {
  FOREBAY_EXPECT_OK(forebay_stream_cancel(stream, &error));
  forebay_output_buffer buffer;
  EXPECT_EQ(forebay_stream_acquire(stream, nullptr, 0, &buffer, &error), FOREBAY_CANCELLED);
  EXPECT_EQ(buffer.data, nullptr);
  EXPECT_EQ(forebay_stream_write(stream, file, {0, 1}, "x", &error), FOREBAY_CANCELLED);
  EXPECT_EQ(forebay_stream_close(std::exchange(stream, nullptr), &error), FOREBAY_CANCELLED);
}

}  // namespace
}  // namespace forebay::bindings
