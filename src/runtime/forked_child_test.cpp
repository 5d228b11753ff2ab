// SPDX-License-Identifier: Apache-2.0
// A program that forks while everything is open: the child gets errors at once, ends without
// waiting, and takes nothing from its parent.
#include <forebay/dataset.hpp>
#include <forebay/runtime.hpp>
#include <forebay/stored_dataset.hpp>

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
/// A child that hangs is ended by a signal, which the parent sees.
constexpr unsigned kChildSeconds = 60;

/// Everything that a program can have open.
struct Opened {
  explicit Opened(const std::string& folder)
      : file(runtime.open(folder + "/in").value()),
        session(file.read_session({}).value()),
        view(session.view({0, 100}).wait().value()),
        reading(session.read(0, std::span(bytes))),
        buffer(runtime.allocate(10'000'000).value()),
        stream(runtime.output_stream().value()),
        output(stream.create(folder + "/out", {.publication = Publication::kWhenComplete}).value()),
        block(stream.acquire().value()),
        dataset(runtime.dataset(folder + "/data.fb").value()) {
    Step first = dataset.begin_step(1).value();
    EXPECT_TRUE(first.put("bytes", Part{0}, std::span<const std::byte>(bytes)));
    first.commit().wait().value();
    stored = std::make_unique<StoredDataset>(runtime.open_dataset(folder + "/data.fb").value());
    stored_step = std::make_unique<StoredStep>(stored->step(1).value());
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
  Dataset dataset;
  std::unique_ptr<StoredDataset> stored;
  std::unique_ptr<StoredStep> stored_step;
  std::optional<Step> step;
};

template <class T>
bool is_closed(const Result<T>& result) {
  return !result && result.error().kind() == ErrorClass::kClosed;
}

/// The number of the first call that does not fail with kClosed; 0 if all do.
int first_that_works(Opened& opened) {
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
  check(is_closed(opened.file.read_session({})));
  check(is_closed(opened.runtime.open(opened.file.path())));
  check(is_closed(opened.runtime.allocate(100)));
  check(is_closed(opened.runtime.output_stream()));
  check(is_closed(opened.runtime.dataset("another.fb")));
  check(is_closed(opened.runtime.open_dataset(opened.dataset.path())));
  check(is_closed(opened.runtime.session(opened.session.handle())));
  check(is_closed(opened.runtime.serve()));
  check(is_closed(opened.stored->step(1)));
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
  check(opened.runtime.loop().wait() == 0);
  opened.session.prefetch({0, 100});
  opened.session.close();
  opened.stream.cancel();
  check(opened.session.report().bytes_served == 0);
  return working;
}

/// How a child ended: its exit status, or the negative number of the signal.
int status_of_child(const std::function<void()>& work) {
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
    storage::write_pattern_file(folder_ / "in", kInputBytes);
    opened_ = std::make_unique<Opened>(folder_.path());
  }

  /// What the parent has open still works, to the end.
  void expect_parent_works() {
    ASSERT_TRUE(opened_->step->commit().wait());
    ASSERT_TRUE(opened_->reading.wait());
    ASSERT_TRUE(opened_->stream.write(opened_->output, 0, std::span(opened_->bytes)));
    ASSERT_TRUE(opened_->output.publish());
    EXPECT_TRUE(opened_->dataset.close());
    EXPECT_EQ(opened_->dataset.newest_step(), 2);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Opened> opened_;
};

TEST_F(ForkedChild, calls_fail_with_closed) {
  EXPECT_EQ(status_of_child([this] { ::_exit(first_that_works(*opened_)); }), 0);
  expect_parent_works();
}

TEST_F(ForkedChild, destroys_its_copies_without_effect) {
  EXPECT_EQ(status_of_child([this] {
              opened_.reset();
              ::_exit(0);
            }),
            0);
  expect_parent_works();
}

TEST_F(ForkedChild, exits_while_everything_is_open) {
  EXPECT_EQ(status_of_child([this] {
              // After the destructor of what is made next; memory that threads of the parent hold
              // on their stacks would count as leaked.
              if (kAddressSanitizer) std::atexit([] { ::_exit(0); });
              static std::unique_ptr<Opened> until_exit;
              until_exit = std::move(opened_);
              std::exit(0);  // NOLINT(concurrency-mt-unsafe): the child has one thread
            }),
            0);
  expect_parent_works();
}

TEST_F(ForkedChild, may_make_a_runtime) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer ends a child that starts threads";
  EXPECT_EQ(status_of_child([this] {
              Runtime runtime;
              std::vector<std::byte> into(kInputBytes);
              const auto file = runtime.open(folder_ / "in");
              const auto session = file->read_session({});
              ::_exit(session->read(0, into).wait() ? 0 : 1);
            }),
            0);
  expect_parent_works();
}

}  // namespace
}  // namespace forebay
