// SPDX-License-Identifier: Apache-2.0
// A program that forks while everything is open: the child gets errors at once, exits without
// waiting, and does not affect its parent.
#include <forebay/dataset_reader.hpp>
#include <forebay/dataset_writer.hpp>
#include <forebay/runtime.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "base/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

constexpr std::size_t kInputBytes = 3'000'000;
/// A signal ends a hanging child, which the parent detects.
constexpr unsigned kChildSeconds = 60;

/// Everything that a program can have open.
struct OpenObjects {
  explicit OpenObjects(const std::string& directory)
      : file(runtime.open_file(directory + "/in").value()),
        session(file.read_session().value()),
        view(session.view({0, 100}).wait().value()),
        reading(session.read(0, std::span(bytes))),
        buffer(runtime.allocate(10'000'000).value()),
        stream(runtime.create_output_stream().value()),
        output(
            stream.create(directory + "/out", {.visibility = FileVisibility::kOnPublish}).value()),
        block(stream.acquire().value()),
        dataset(runtime.create_dataset(directory + "/data.fb").value()) {
    StepWriter first = dataset.begin_step(1).value();
    EXPECT_TRUE(first.put("bytes", Part{0}, std::span<const std::byte>(bytes)));
    first.commit().wait().value();
    stored = std::make_unique<DatasetReader>(runtime.open_dataset(directory + "/data.fb").value());
    stored_step = std::make_unique<StepReader>(stored->open_step(1).value());
    step = dataset.begin_step(2).value();
    EXPECT_TRUE(step->put("bytes", Part{0}, std::span<const std::byte>(bytes)));
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(kInputBytes);
  Runtime runtime;
  File file;
  Session session;
  View view;
  Future<ByteCount> reading;
  Buffer buffer;
  OutputStream stream;
  OutputFile output;
  OutputBuffer block;
  DatasetWriter dataset;
  std::unique_ptr<DatasetReader> stored;
  std::unique_ptr<StepReader> stored_step;
  std::optional<StepWriter> step;
};

template <class T>
bool is_closed(const Result<T>& result) {
  return !result && result.error().kind() == ErrorClass::kClosed;
}

/// The number of the first call that does not fail with kClosed; 0 if all do.
int first_working_call(OpenObjects& opened) {
  std::vector<std::byte> into(100);
  const std::span<const std::byte> bytes(into);
  int number = 0;
  int working = 0;
  const auto check = [&](bool is_refused) {
    ++number;
    if (!is_refused && working == 0) working = number;
  };
  check(is_closed(opened.reading.wait()));
  check(is_closed(opened.session.read(0, into).wait()));
  check(is_closed(opened.session.read(kInputBytes - 100, into).wait()));
  check(is_closed(opened.session.view({0, 100}).wait()));
  check(is_closed(opened.file.read_session()));
  check(is_closed(opened.runtime.open_file(opened.file.path())));
  check(is_closed(opened.runtime.allocate(100)));
  check(is_closed(opened.runtime.create_output_stream()));
  check(is_closed(opened.runtime.create_dataset("another.fb")));
  check(is_closed(opened.runtime.open_dataset(opened.dataset.path())));
  check(is_closed(opened.runtime.find_session(opened.session.handle())));
  check(is_closed(opened.runtime.serve()));
  check(is_closed(opened.stored->open_step(1)));
  check(is_closed(opened.stored_step->read("bytes", Part{0}, std::span(opened.bytes)).wait()));
  check(is_closed(opened.stream.acquire()));
  check(is_closed(opened.stream.try_acquire()));
  check(is_closed(opened.stream.acquire_async().wait()));
  check(is_closed(opened.stream.write(opened.output, 0, bytes)));
  check(is_closed(opened.stream.submit(std::move(opened.block), opened.output, 0)));
  check(is_closed(opened.stream.create("another", {})));
  check(is_closed(opened.stream.sync()));
  check(is_closed(opened.output.publish()));
  check(is_closed(opened.step->put("bytes", Part{1}, bytes)));
  check(is_closed(opened.step->commit().wait()));
  check(is_closed(opened.dataset.begin_step(3)));
  check(is_closed(opened.dataset.close()));
  check(opened.runtime.event_loop().wait() == 0);
  opened.session.prefetch({0, 100});
  opened.session.close();
  opened.stream.cancel();
  check(opened.session.report().bytes_served == 0);
  return working;
}

/// The exit status of a child, or the negative number of its signal.
int run_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kChildSeconds);
    work();
    ::_exit(EXIT_FAILURE);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class ForkedChild : public ::testing::Test {
 protected:
  ForkedChild() {
    storage::write_pattern_file(directory_ / "in", kInputBytes);
    objects_ = std::make_unique<OpenObjects>(directory_.path());
  }

  /// Expects that all open objects of the parent still work.
  void expect_parent_works() {
    ASSERT_TRUE(objects_->step->commit().wait());
    ASSERT_TRUE(objects_->reading.wait());
    ASSERT_TRUE(objects_->stream.write(objects_->output, 0, std::span(objects_->bytes)));
    ASSERT_TRUE(objects_->output.publish());
    EXPECT_TRUE(objects_->dataset.close());
    EXPECT_EQ(objects_->dataset.newest_step(), 2);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<OpenObjects> objects_;
};

TEST_F(ForkedChild, calls_fail_with_closed) {
  EXPECT_EQ(run_child([this] { ::_exit(first_working_call(*objects_)); }), 0);
  expect_parent_works();
}

TEST_F(ForkedChild, destroys_its_copies_without_effect) {
  EXPECT_EQ(run_child([this] {
              objects_.reset();
              ::_exit(0);
            }),
            0);
  expect_parent_works();
}

TEST_F(ForkedChild, exits_while_everything_is_open) {
  EXPECT_EQ(run_child([this] {
              // Runs after the destructor of the static object below. Memory on the stacks of the
              // parent's threads would count as leaked.
              if (kAddressSanitizer) std::atexit([] { ::_exit(0); });
              static std::unique_ptr<OpenObjects> until_exit;
              until_exit = std::move(objects_);
              std::exit(0);  // NOLINT(concurrency-mt-unsafe): the child has one thread
            }),
            0);
  expect_parent_works();
}

TEST_F(ForkedChild, may_create_a_runtime) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer ends a child that starts threads";
  EXPECT_EQ(run_child([this] {
              Runtime runtime;
              std::vector<std::byte> into(kInputBytes);
              const auto file = runtime.open_file(directory_ / "in");
              const auto session = file->read_session();
              ::_exit(session->read(0, into).wait() ? 0 : 1);
            }),
            0);
  expect_parent_works();
}

}  // namespace
}  // namespace forebay
