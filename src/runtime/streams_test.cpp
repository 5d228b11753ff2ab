// SPDX-License-Identifier: Apache-2.0
// Streams as a program has them: made by a Runtime, on real files, and outlived by it.
#include <forebay/forebay.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "base/processors.hpp"
#include "runtime/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using storage::fill_pattern;
using storage::matching_pattern;

void write_file(OutputStream& out, const std::string& path, std::uint64_t size_bytes) {
  const auto file = out.create(path, size_bytes);
  ASSERT_TRUE(file) << file.error().message();
  const std::uint64_t piece = out.plan().buffer_bytes;
  for (std::uint64_t at = 0; at < size_bytes; at += piece) {
    auto buffer = out.acquire();
    ASSERT_TRUE(buffer);
    const std::uint64_t size = std::min(piece, size_bytes - at);
    fill_pattern(buffer->bytes().first(size), at);
    ASSERT_TRUE(out.submit(std::move(*buffer), *file, at, size));
  }
}

/// A variable of this process, until its end. Tests run one after the other in a process.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Variable() { set(old_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value)
      ::setenv(name_, value->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  const char* const name_;
  std::optional<std::string> old_;
};

void expect_pattern(Runtime& runtime, const std::string& path, std::uint64_t size_bytes) {
  const auto file = runtime.open(path);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->size(), size_bytes);
  std::vector<std::byte> bytes(size_bytes);
  ASSERT_TRUE(file->read_session()->read(0, std::span(bytes)).wait());
  EXPECT_EQ(matching_pattern(bytes, 0), size_bytes);
}

TEST(RuntimeStreams, what_is_written_can_be_read) {
  const TemporaryFolder folder;
  Runtime runtime(tested());
  auto out = runtime.output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out) << out.error().message();
  write_file(*out, folder / "data", 5_MiB + 123);
  ASSERT_TRUE(out->sync());
  expect_pattern(runtime, folder / "data", 5_MiB + 123);
}

TEST(RuntimeStreams, two_devices_are_written_by_a_queue_each) {
  const TemporaryFolder disk;
  const TemporaryFolder memory("/dev/shm");
  if (memory.path().empty()) GTEST_SKIP() << "there is no /dev/shm here";
  Runtime runtime(tested());
  auto out = runtime.output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out);
  write_file(*out, disk / "data", 3_MiB);
  write_file(*out, memory / "data", 3_MiB);
  ASSERT_TRUE(out->drain());
  EXPECT_EQ(out->report().devices.size(), 2U);
  expect_pattern(runtime, disk / "data", 3_MiB);
  expect_pattern(runtime, memory / "data", 3_MiB);
}

TEST(RuntimeStreams, long_files_are_direct_and_short_ones_buffered) {
  const TemporaryFolder folder;
  if (!storage::open_file(folder / "probe",
                          {.intent = storage::Intent::kCreate, .access = Access::kDirect})) {
    GTEST_SKIP() << "no direct access here";
  }
  Runtime runtime(tested());
  auto out = runtime.output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->create(folder / "short", 1_MiB)->plan().access, Access::kBuffered);
  EXPECT_EQ(out->create(folder / "long", 1_GiB)->plan().access, Access::kDirect);
}

/// Where threads of this process may run that copy for streams.
std::vector<std::vector<int>> places_of_copiers() {
  std::vector<std::vector<int>> places;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    const pid_t thread = std::stoi(task.path().filename().string());
    cpu_set_t set;
    CPU_ZERO(&set);
    if (name != "forebay-io" || ::sched_getaffinity(thread, sizeof set, &set) != 0) continue;
    std::vector<int>& place = places.emplace_back();
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<std::size_t>(i), &set)) place.push_back(i);
    }
  }
  return places;
}

/// Opens a buffered file on a thread that is bound to one processor.
std::vector<std::vector<int>> copiers_beside_a_bound_thread(WriterCores cores) {
  const TemporaryFolder folder;
  std::vector<std::vector<int>> places;
  std::thread([&] {
    run_this_thread_on({processors_at_start().front()});
    Runtime runtime(tested({.writer_cores = cores}));
    auto out = runtime.output_stream({.access = Access::kBuffered, .buffer_bytes = 1_MiB});
    write_file(*out, folder / "data", 2_MiB);
    EXPECT_TRUE(out->drain());  // from then on those who copied have their names
    places = places_of_copiers();
  }).join();
  return places;
}

TEST(RuntimeStreams, copying_keeps_away_from_a_core_that_computes) {
  if (processors_at_start().size() < 2) GTEST_SKIP() << "this process has one processor";
  const auto places = copiers_beside_a_bound_thread(WriterCores::kApart);
  ASSERT_FALSE(places.empty());
  for (const auto& place : places) {
    EXPECT_FALSE(place.empty());
    EXPECT_EQ(std::ranges::count(place, processors_at_start().front()), 0);
  }
}

TEST(RuntimeStreams, keeping_away_can_be_switched_off) {
  const auto places = copiers_beside_a_bound_thread(WriterCores::kAnywhere);
  ASSERT_FALSE(places.empty());
  for (const auto& place : places)
    EXPECT_EQ(place, std::vector<int>{processors_at_start().front()});
}

/// A profile that has `in_flight_bytes` for `folder`.
void write_profile(const std::string& path, const std::string& folder, const std::string& size) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "format = 1\n[[mounts]]\npath = \""
                      << std::filesystem::canonical(folder).string() << "\"\nin_flight_bytes = \""
                      << size << "\"\nsource = \"a test\"\n";
}

/// What a stream of `options` may have under way in `folder`.
std::uint64_t limit_in(const std::string& folder, const RuntimeOptions& options) {
  Runtime runtime(options);
  auto out = runtime.output_stream({.buffer_bytes = 1_MiB});
  if (!out) return 0;
  const auto file = out->create(folder + "/data");
  return file ? file->plan().in_flight_bytes : 0;
}

TEST(RuntimeStreams, the_profile_says_what_may_be_under_way) {
  const TemporaryFolder folder;
  const std::string place = std::filesystem::canonical(folder.path());
  write_profile(folder / "profile.toml", place, "5 MiB");
  Runtime runtime(tested({.profile = folder / "profile.toml"}));
  auto out = runtime.output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out) << out.error().message();
  write_file(*out, folder / "data", 1_MiB);
  const std::string word = "as the profile has it for " + place + " (a test)";
  const auto file = out->create(folder / "more");
  EXPECT_EQ(file->plan().in_flight_bytes, 5_MiB);
  EXPECT_TRUE(file->plan().reason.ends_with(word)) << file->plan().reason;
  ASSERT_TRUE(out->drain());
  EXPECT_TRUE(out->report().devices.at(0).reason.ends_with(word));
}

TEST(RuntimeStreams, the_profile_of_who_runs_the_program_counts_unless_another_is_named) {
  const TemporaryFolder folder;
  write_profile(folder / "forebay/profile.toml", folder.path(), "5 MiB");
  write_profile(folder / "other.toml", folder.path(), "6 MiB");
  const Variable settings("XDG_CONFIG_HOME", folder.path());
  {
    const Variable unset("FOREBAY_PROFILE", std::nullopt);
    EXPECT_EQ(limit_in(folder.path(), tested()), 5_MiB);
    EXPECT_EQ(limit_in(folder.path(), tested({.profile = folder / "other.toml"})), 6_MiB);
    EXPECT_GT(limit_in(folder.path(), tested({.profile = ""})), 6_MiB) << "empty: none";
  }
  const Variable empty("FOREBAY_PROFILE", "");
  EXPECT_GT(limit_in(folder.path(), tested()), 6_MiB);
  const Variable named("FOREBAY_PROFILE", folder / "other.toml");
  EXPECT_EQ(limit_in(folder.path(), tested()), 6_MiB);
}

TEST(RuntimeStreams, a_profile_that_cannot_be_read_is_an_error_of_each_stream) {
  Runtime runtime(tested({.profile = "/no/such/profile.toml"}));
  EXPECT_EQ(error_class(runtime.output_stream()), ErrorClass::kNotFound);
}

TEST(RuntimeStreams, a_profile_that_nobody_named_and_is_wrong_is_an_error_too) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "forebay");
  std::ofstream(folder / "forebay/profile.toml") << "format = 2\n";
  const Variable settings("XDG_CONFIG_HOME", folder.path());
  const Variable unset("FOREBAY_PROFILE", std::nullopt);
  Runtime runtime(tested());
  const auto out = runtime.output_stream();
  ASSERT_EQ(error_class(out), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(mentions(out.error(), folder / "forebay/profile.toml")) << out.error().message();
}

TEST(RuntimeStreams, a_plan_that_cannot_work_is_refused) {
  Runtime runtime(tested());
  const auto out = runtime.output_stream({.buffer_bytes = 5});
  EXPECT_EQ(error_class(out), ErrorClass::kInvalidArgument);
}

TEST(RuntimeStreams, after_the_end_of_the_runtime_a_stream_is_closed) {
  const TemporaryFolder folder;
  auto runtime = std::make_unique<Runtime>(tested());
  auto out = runtime->output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out);
  write_file(*out, folder / "data", 2_MiB);
  runtime.reset();
  EXPECT_EQ(error_class(out->acquire()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(out->drain()), ErrorClass::kClosed);
}

}  // namespace
}  // namespace forebay
