// SPDX-License-Identifier: Apache-2.0
// A program that has closed its standard streams, as services do. No descriptor of the library may
// get one of their numbers, or output of the program would go into our files.
#include <forebay/dataset_writer.hpp>
#include <forebay/runtime.hpp>

#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

constexpr std::size_t kDescriptorInputBytes = 3'000'000;
constexpr int kNumbers = 3;

enum ExitCode : int { kSuccess = 0, kUseFailed = 10, kNumberTaken = 20 };

/// A thread of the library may have the number for the moment in which it moves a descriptor.
bool is_open(int number) {
  constexpr int kLooksMax = 1000;
  for (int look = 0; look < kLooksMax; ++look) {
    if (::fcntl(number, F_GETFD) < 0) return false;
    ::usleep(1000);
  }
  return true;
}

/// Reads, writes and commits while everything stays open, then tests the numbers.
int use_everything(const std::string& directory, BackendChoice backend) {
  for (int number = 0; number < kNumbers; ++number)
    ::close(number);
  Runtime runtime({.tuning = {.backend = backend}});
  const auto file = runtime.open_file(directory + "/in");
  if (!file) return kUseFailed;
  const auto session = file->read_session();
  if (!session) return kUseFailed + 1;
  std::vector<std::byte> bytes(kDescriptorInputBytes);
  auto read = session->read(0, bytes);
  if (!read.wait()) return kUseFailed + 2;
  auto out = runtime.create_output_stream();
  if (!out) return kUseFailed + 3;
  const auto written = out->create(directory + "/out", {.visibility = FileVisibility::kOnPublish});
  if (!written || !out->write(*written, 0, bytes)) return kUseFailed + 4;
  auto dataset = runtime.create_dataset(directory + "/data.fb");
  if (!dataset) return kUseFailed + 5;
  auto step = dataset->begin_step(1);
  if (!step || !step->put("bytes", Part{0}, std::span<const std::byte>(bytes)))
    return kUseFailed + 6;
  auto committed = step->commit();
  if (!committed.wait()) return kUseFailed + 7;
  EventLoop loop;
  if (loop.event_fd() < kNumbers) return kNumberTaken + 9;
  for (int number = 0; number < kNumbers; ++number)
    if (is_open(number)) return kNumberTaken + number;
  return kSuccess;
}

class StandardDescriptors : public ::testing::TestWithParam<BackendChoice> {};

TEST_P(StandardDescriptors, numbers_closed_by_the_program_are_not_used) {
  const TemporaryDirectory directory;
  storage::write_pattern_file(directory / "in", kDescriptorInputBytes);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(use_everything(directory.path(), GetParam()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kSuccess);
}

INSTANTIATE_TEST_SUITE_P(Engines,
                         StandardDescriptors,
                         ::testing::Values(BackendChoice::kAuto, BackendChoice::kThreads));

}  // namespace
}  // namespace forebay
