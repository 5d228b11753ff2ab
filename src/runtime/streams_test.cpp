// SPDX-License-Identifier: Apache-2.0
// Streams as a program uses them: created by a Runtime, on real files, and alive after it.
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

/// Sets a variable of this process during its lifetime. Tests of a process run one after the other.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

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
  const auto file = runtime.open_file(path);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->size(), size_bytes);
  std::vector<std::byte> bytes(size_bytes);
  ASSERT_TRUE(file->read_session()->read(0, std::span(bytes)).wait());
  EXPECT_EQ(matching_pattern(bytes, 0), size_bytes);
}

TEST(RuntimeStreams, written_bytes_are_read_back) {
  const TemporaryDirectory directory;
  Runtime runtime(test_options());
  auto out = runtime.create_output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out) << out.error().message();
  write_file(*out, directory / "data", 5_MiB + 123);
  ASSERT_TRUE(out->sync());
  expect_pattern(runtime, directory / "data", 5_MiB + 123);
}

TEST(RuntimeStreams, two_devices_have_a_queue_each) {
  const TemporaryDirectory disk;
  const TemporaryDirectory memory("/dev/shm");
  if (memory.path().empty()) GTEST_SKIP() << "no /dev/shm here";
  Runtime runtime(test_options());
  auto out = runtime.create_output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out);
  write_file(*out, disk / "data", 3_MiB);
  write_file(*out, memory / "data", 3_MiB);
  ASSERT_TRUE(out->drain());
  EXPECT_EQ(out->report().devices.size(), 2U);
  expect_pattern(runtime, disk / "data", 3_MiB);
  expect_pattern(runtime, memory / "data", 3_MiB);
}

TEST(RuntimeStreams, long_files_are_direct_and_short_ones_buffered) {
  const TemporaryDirectory directory;
  if (!storage::open_file(directory / "probe",
                          {.intent = storage::Intent::kCreate, .access = Access::kDirect})) {
    GTEST_SKIP() << "no direct access here";
  }
  Runtime runtime(test_options());
  auto out = runtime.create_output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->create(directory / "short", 1_MiB)->plan().access, Access::kBuffered);
  EXPECT_EQ(out->create(directory / "long", 1_GiB)->plan().access, Access::kDirect);
}

/// Affinities of the threads of this process that copy for streams.
std::vector<std::vector<int>> copy_thread_affinities() {
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
std::vector<std::vector<int>> affinities_beside_bound_thread(WriteThreadAffinity cores) {
  const TemporaryDirectory directory;
  std::vector<std::vector<int>> places;
  std::thread([&] {
    set_thread_affinity({initial_affinity().front()});
    Runtime runtime(test_options({.tuning = {.write_thread_affinity = cores}}));
    auto out = runtime.create_output_stream({.access = Access::kBuffered, .buffer_bytes = 1_MiB});
    write_file(*out, directory / "data", 2_MiB);
    EXPECT_TRUE(out->drain());  // afterwards the copying threads have their names
    places = copy_thread_affinities();
  }).join();
  return places;
}

TEST(RuntimeStreams, copying_threads_avoid_the_core_of_a_bound_thread) {
  if (initial_affinity().size() < 2) GTEST_SKIP() << "this process has one processor";
  const auto places = affinities_beside_bound_thread(WriteThreadAffinity::kSeparate);
  ASSERT_FALSE(places.empty());
  for (const auto& place : places) {
    EXPECT_FALSE(place.empty());
    EXPECT_EQ(std::ranges::count(place, initial_affinity().front()), 0);
  }
}

TEST(RuntimeStreams, inherited_affinity_disables_avoiding) {
  const auto places = affinities_beside_bound_thread(WriteThreadAffinity::kInherited);
  ASSERT_FALSE(places.empty());
  for (const auto& place : places)
    EXPECT_EQ(place, std::vector<int>{initial_affinity().front()});
}

/// A profile with `in_flight_bytes` for `directory`.
void write_profile(const std::string& path, const std::string& directory, const std::string& size) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "format = 1\n[[mounts]]\npath = \""
                      << std::filesystem::canonical(directory).string()
                      << "\"\nin_flight_bytes = \"" << size << "\"\nsource = \"a test\"\n";
}

/// Bytes in flight of a stream with these options in `directory`.
std::uint64_t in_flight_bytes_in(const std::string& directory, const RuntimeOptions& options) {
  Runtime runtime(options);
  auto out = runtime.create_output_stream({.buffer_bytes = 1_MiB});
  if (!out) return 0;
  const auto file = out->create(directory + "/data");
  return file ? file->plan().in_flight_bytes : 0;
}

TEST(RuntimeStreams, profile_sets_the_bytes_in_flight) {
  const TemporaryDirectory directory;
  const std::string place = std::filesystem::canonical(directory.path());
  write_profile(directory / "profile.toml", place, "5 MiB");
  Runtime runtime(test_options({.tuning = {.profile = directory / "profile.toml"}}));
  auto out = runtime.create_output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out) << out.error().message();
  write_file(*out, directory / "data", 1_MiB);
  const std::string word = "as the profile has it for " + place + " (a test)";
  const auto file = out->create(directory / "more");
  EXPECT_EQ(file->plan().in_flight_bytes, 5_MiB);
  EXPECT_TRUE(file->plan().reason.ends_with(word)) << file->plan().reason;
  ASSERT_TRUE(out->drain());
  EXPECT_TRUE(out->report().devices.at(0).reason.ends_with(word));
}

TEST(RuntimeStreams, profile_of_the_user_applies_unless_another_is_named) {
  const TemporaryDirectory directory;
  write_profile(directory / "forebay/profile.toml", directory.path(), "5 MiB");
  write_profile(directory / "other.toml", directory.path(), "6 MiB");
  const ScopedVariable settings("XDG_CONFIG_HOME", directory.path());
  {
    const ScopedVariable unset("FOREBAY_PROFILE", std::nullopt);
    EXPECT_EQ(in_flight_bytes_in(directory.path(), test_options()), 5_MiB);
    EXPECT_EQ(in_flight_bytes_in(directory.path(),
                                 test_options({.tuning = {.profile = directory / "other.toml"}})),
              6_MiB);
    EXPECT_GT(in_flight_bytes_in(directory.path(), test_options({.tuning = {.profile = ""}})),
              6_MiB)
        << "empty: no profile";
  }
  const ScopedVariable empty("FOREBAY_PROFILE", "");
  EXPECT_GT(in_flight_bytes_in(directory.path(), test_options()), 6_MiB);
  const ScopedVariable named("FOREBAY_PROFILE", directory / "other.toml");
  EXPECT_EQ(in_flight_bytes_in(directory.path(), test_options()), 6_MiB);
}

TEST(RuntimeStreams, unreadable_profile_is_an_error_of_each_stream) {
  Runtime runtime(test_options({.tuning = {.profile = "/no/such/profile.toml"}}));
  EXPECT_EQ(error_class(runtime.create_output_stream()), ErrorClass::kNotFound);
}

TEST(RuntimeStreams, invalid_profile_of_the_user_is_an_error) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "forebay");
  std::ofstream(directory / "forebay/profile.toml") << "format = 2\n";
  const ScopedVariable settings("XDG_CONFIG_HOME", directory.path());
  const ScopedVariable unset("FOREBAY_PROFILE", std::nullopt);
  Runtime runtime(test_options());
  const auto out = runtime.create_output_stream();
  ASSERT_EQ(error_class(out), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(out.error(), directory / "forebay/profile.toml"))
      << out.error().message();
}

TEST(RuntimeStreams, invalid_plan_is_rejected) {
  Runtime runtime(test_options());
  const auto out = runtime.create_output_stream({.buffer_bytes = 5});
  EXPECT_EQ(error_class(out), ErrorClass::kInvalidArgument);
}

TEST(RuntimeStreams, stream_is_closed_after_the_end_of_the_runtime) {
  const TemporaryDirectory directory;
  auto runtime = std::make_unique<Runtime>(test_options());
  auto out = runtime->create_output_stream({.buffer_bytes = 1_MiB});
  ASSERT_TRUE(out);
  write_file(*out, directory / "data", 2_MiB);
  runtime.reset();
  EXPECT_EQ(error_class(out->acquire()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(out->drain()), ErrorClass::kClosed);
}

}  // namespace
}  // namespace forebay
