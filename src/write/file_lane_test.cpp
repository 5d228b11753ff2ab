// SPDX-License-Identifier: Apache-2.0
// Files of a dataset, written by one lane or two: bytes come where they belong, what fails is told
// to whom it concerns and stops nothing else, and nobody shortens what others have written.
#include "write/file_lane.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "format/data_header.hpp"
#include "storage/testing.hpp"
#include "stream/testing.hpp"

namespace forebay::write {
namespace {

using format::DataFileName;
using storage::AlignedMemory;
using storage::fill_pattern;
using storage::matching_pattern;
using stream::Site;
using stream::Way;
using stream::works;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::uint64_t kPage = format::kPageBytes;
constexpr format::DatasetId kDataset{std::byte{7}, std::byte{1}};
constexpr DataFileName kFirst{.group = 1, .file = 0};

/// An answer that comes on another thread.
template <class T>
class Answer {
 public:
  auto take() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  bool is_there() const { return future_.wait_for(std::chrono::seconds(0)) == kReady; }
  T wait() {
    if (future_.wait_for(kPatience) != kReady) {
      ADD_FAILURE() << "no answer";
      std::abort();
    }
    return future_.get();
  }

 private:
  static constexpr auto kReady = std::future_status::ready;
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::future<T> future_ = promise_->get_future();
};
using OpenedFile = Result<std::shared_ptr<DataFile>>;

Error the_end() {
  return Error({.kind = ErrorClass::kCancelled, .operation = "write", .cause = "the end"});
}

/// A lane, and calls that wait for their answers.
class Bench {
 public:
  explicit Bench(Site& site, Access access, std::uint64_t request_bytes = 64_KiB)
      : lane(stream::must(FileLane::start({.folder = site / "",
                                           .dataset = kDataset,
                                           .queues = &site.queues(),
                                           .access = access,
                                           .request_bytes = request_bytes}))) {}

  OpenedFile create(DataFileName name, std::uint64_t expected_bytes = 0) {
    Answer<OpenedFile> answer;
    lane->create(name, expected_bytes, answer.take());
    return answer.wait();
  }
  OpenedFile open(DataFileName name) {
    Answer<OpenedFile> answer;
    lane->open(name, answer.take());
    return answer.wait();
  }
  Status write(const std::shared_ptr<DataFile>& file, std::uint64_t at, std::uint64_t size) {
    const AlignedMemory memory(size);
    fill_pattern(memory.bytes(), at);
    Answer<Status> answer;
    lane->write(file, at, memory.bytes(), answer.take());
    return answer.wait();
  }
  Status sync(const std::shared_ptr<DataFile>& file) {
    Answer<Status> answer;
    lane->sync(file, answer.take());
    return answer.wait();
  }
  Status seal(const std::shared_ptr<DataFile>& file, std::uint64_t end) {
    Answer<Status> answer;
    lane->seal(file, end, answer.take());
    return answer.wait();
  }
  Status sync_folder() {
    Answer<Status> answer;
    lane->sync_folder(answer.take());
    return answer.wait();
  }
  Status recycle(DataFileName name) {
    Answer<Status> answer;
    lane->recycle(name, answer.take());
    return answer.wait();
  }
  Status remove(DataFileName name) {
    Answer<Status> answer;
    lane->remove(name, answer.take());
    return answer.wait();
  }

  std::unique_ptr<FileLane> lane;
};

/// Whether the file has its own header and the pattern from there to `end`.
::testing::AssertionResult is_written(const std::string& path,
                                      DataFileName name,
                                      std::uint64_t end) {
  const auto content = content_of(path);
  if (content.size() != end)
    return ::testing::AssertionFailure() << path << " has " << content.size() << " bytes";
  const auto header = format::decode_header(std::span(content).first(kPage), path);
  if (!header) return ::testing::AssertionFailure() << header.error().message();
  if (header->name != name || header->dataset != kDataset)
    return ::testing::AssertionFailure() << path << " is another file";
  const std::size_t right = matching_pattern(std::span(content).subspan(kPage), kPage);
  if (right == end - kPage) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << ": wrong at " << kPage + right;
}

class FileLaneTest : public stream::StreamTest {
 protected:
  Bench make() { return Bench(site, GetParam().access); }
  std::string path(DataFileName name = kFirst) { return site / text_of(name); }
};
INSTANTIATE_TEST_SUITE_P(Ways,
                         FileLaneTest,
                         ::testing::ValuesIn(stream::all_ways()),
                         stream::way_name);

TEST_P(FileLaneTest, bytes_in_any_order_come_where_they_belong) {
  Bench bench = make();
  const std::uint64_t end = kPage + 3_MiB;
  const auto file = stream::must(bench.create(kFirst, end));
  const AlignedMemory memory(3_MiB);
  fill_pattern(memory.bytes(), kPage);
  std::vector<std::uint64_t> cuts{0, 4_KiB, 68_KiB, 1_MiB, 1_MiB, 2_MiB + 12_KiB, 3_MiB};
  std::vector<Answer<Status>> answers(cuts.size() - 1);
  for (std::size_t i = cuts.size() - 1; i-- > 0;) {
    const auto piece = memory.bytes().subspan(cuts[i], cuts[i + 1] - cuts[i]);
    bench.lane->write(file, kPage + cuts[i], piece, answers[i].take());
  }
  EXPECT_TRUE(works(bench.sync(file)));
  for (auto& answer : answers) {
    EXPECT_TRUE(answer.is_there()) << "a sync comes after what was before it";
    EXPECT_TRUE(works(answer.wait()));
  }
  EXPECT_TRUE(works(bench.seal(file, end)));
  EXPECT_TRUE(works(bench.sync_folder()));
  EXPECT_TRUE(is_written(path(), kFirst, end));
}

TEST_P(FileLaneTest, two_lanes_share_a_file_and_only_seal_shortens_it) {
  Bench owner = make();
  Site other_site(GetParam());  // as another process has it: its own queues
  const std::uint64_t half = 512_KiB;
  const auto owned = stream::must(owner.create(kFirst, 8_MiB));
  Bench guest(other_site, GetParam().access);
  guest.lane = stream::must(FileLane::start({.folder = site / "",
                                             .dataset = kDataset,
                                             .queues = &other_site.queues(),
                                             .access = GetParam().access,
                                             .request_bytes = 64_KiB}));
  auto visited = stream::must(guest.open(kFirst));
  EXPECT_TRUE(works(guest.write(visited, kPage + half, half)));
  EXPECT_TRUE(works(owner.write(owned, kPage, half)));
  EXPECT_TRUE(works(owner.sync(owned)));
  EXPECT_TRUE(works(guest.sync(visited)));
  visited.reset();
  guest.lane.reset();
  EXPECT_EQ(std::filesystem::file_size(path()), 8_MiB) << "space for later is still there";
  EXPECT_TRUE(works(owner.seal(owned, kPage + 2 * half)));
  EXPECT_TRUE(is_written(path(), kFirst, kPage + 2 * half));
}

TEST_P(FileLaneTest, two_lanes_of_one_process_share_what_is_known_of_a_file) {
  Bench owner = make();
  Bench guest = make();
  const auto owned = stream::must(owner.create(kFirst, 1_MiB));
  const auto visited = stream::must(guest.open(kFirst));
  EXPECT_TRUE(works(guest.write(visited, kPage + 64_KiB, 64_KiB)));
  EXPECT_TRUE(works(owner.write(owned, kPage, 64_KiB)));
  owner.lane.reset();
  EXPECT_TRUE(works(guest.seal(visited, kPage + 128_KiB)));
  EXPECT_TRUE(is_written(path(), kFirst, kPage + 128_KiB));
}

TEST_P(FileLaneTest, a_recycled_file_keeps_its_bytes_but_not_its_header) {
  Bench bench = make();
  auto file = stream::must(bench.create(kFirst, 1_MiB));
  EXPECT_TRUE(works(bench.write(file, kPage, 1_MiB - kPage)));
  EXPECT_TRUE(works(bench.seal(file, 1_MiB)));
  struct stat before{};
  ASSERT_EQ(::stat(path().c_str(), &before), 0);
  file.reset();
  EXPECT_TRUE(works(bench.recycle(kFirst)));
  EXPECT_FALSE(std::filesystem::exists(path()));
  const DataFileName second{.group = 2, .file = 3};
  file = stream::must(bench.create(second, 64_KiB));
  struct stat after{};
  ASSERT_EQ(::stat(path(second).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(is_written(path(second), second, 1_MiB));
  EXPECT_TRUE(works(bench.seal(file, 128_KiB)));
  EXPECT_TRUE(is_written(path(second), second, 128_KiB));
}

TEST_P(FileLaneTest, what_a_lost_step_left_behind_goes) {
  Bench bench = make();
  storage::write_pattern_file(path(), 100'000);
  const auto file = stream::must(bench.create(kFirst, 0));
  EXPECT_EQ(std::filesystem::file_size(path()), kPage);
}

TEST_P(FileLaneTest, dropping_a_file_at_once_loses_nothing) {
  Bench bench = make();
  const AlignedMemory memory(1_MiB);
  fill_pattern(memory.bytes(), kPage);
  Answer<Status> answer;
  {
    const auto file = stream::must(bench.create(kFirst));
    bench.lane->write(file, kPage, memory.bytes(), answer.take());
  }
  EXPECT_TRUE(works(answer.wait()));
  EXPECT_TRUE(is_written(path(), kFirst, kPage + 1_MiB));
}

TEST_P(FileLaneTest, what_is_not_begun_at_the_end_is_told_why) {
  Bench bench = make();
  auto file = stream::must(bench.create(kFirst));
  const AlignedMemory memory(64_KiB);
  site.gate.close();
  std::vector<Answer<Status>> answers(200);
  for (auto& answer : answers)
    bench.lane->write(file, kPage, memory.bytes(), answer.take());
  Answer<Status> sync;
  bench.lane->sync(file, sync.take());
  auto ended = std::async(std::launch::async, [&] { bench.lane->stop(the_end()); });
  bool has_begun_to_end = false;
  while (!has_begun_to_end) {
    Answer<OpenedFile> late;
    bench.lane->open(kFirst, late.take());
    has_begun_to_end = !late.wait();
  }
  site.gate.open();
  ended.get();
  std::size_t refused = 0;
  for (auto& answer : answers) {
    const Status told = answer.wait();
    if (told) continue;
    EXPECT_EQ(told.error().kind(), ErrorClass::kCancelled) << told.error().message();
    ++refused;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_FALSE(sync.wait());
  EXPECT_FALSE(bench.sync(file)) << "after the end";
  EXPECT_FALSE(bench.write(file, kPage, 4_KiB));
}

Way failing_at(std::uint64_t offset, int error_number) {
  Way way{"", storage::BackendChoice::kThreads, Access::kBuffered};
  way.faults = storage::FaultPlan{.bad_offsets = {offset}, .bad_error_number = error_number};
  return way;
}

TEST(FileLane, a_write_that_fails_is_told_and_stops_no_other) {
  for (const int error_number : {ENOSPC, EDQUOT, EIO}) {
    Site site(failing_at(kPage + 100'000, error_number));
    Bench bench(site, Access::kBuffered);
    const auto file = stream::must(bench.create(kFirst));
    EXPECT_TRUE(works(bench.write(file, kPage, 64_KiB)));
    const Status failed = bench.write(file, kPage + 64_KiB, 256_KiB);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().error_number(), error_number);
    EXPECT_TRUE(failed.error().path().ends_with(text_of(kFirst))) << failed.error().message();
    EXPECT_TRUE(works(bench.write(file, kPage + 320_KiB, 64_KiB)));
    EXPECT_TRUE(works(bench.sync(file)));
    EXPECT_TRUE(works(bench.remove(kFirst)));
  }
}

TEST(FileLane, lost_bytes_are_told_to_all_who_write_the_file_from_then_on) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench owner(site, Access::kBuffered);
  Bench guest(site, Access::kBuffered);
  const auto owned = stream::must(owner.create(kFirst));
  const auto visited = stream::must(guest.open(kFirst));
  EXPECT_TRUE(works(owner.write(owned, kPage, 64_KiB)));
  EXPECT_TRUE(works(guest.write(visited, kPage + 64_KiB, 64_KiB)));
  site.gate.lose_bytes();
  const Status lost = owner.sync(owned);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().error_number(), EIO);
  site.gate.lose_no_more();
  EXPECT_FALSE(guest.sync(visited));
  EXPECT_FALSE(owner.sync(owned));
  EXPECT_FALSE(owner.write(owned, kPage, 4_KiB));
  EXPECT_TRUE(works(owner.recycle(kFirst)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(site / ""), {}), 0)
      << "it is not kept for another step";
  const auto next = stream::must(owner.create({.group = 2, .file = 0}));
  EXPECT_TRUE(works(owner.write(next, kPage, 64_KiB))) << "other files are as good as ever";
  EXPECT_TRUE(works(owner.sync(next)));
}

TEST(FileLane, a_folder_that_takes_no_files_is_an_error_with_its_path) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  const auto lane = stream::must(
      FileLane::start({.folder = "/sys", .dataset = kDataset, .queues = &site.queues()}));
  Answer<OpenedFile> answer;
  lane->create(kFirst, 0, answer.take());
  const auto file = answer.wait();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorClass::kPermission) << file.error().message();
  EXPECT_EQ(file.error().path(), "/sys/data-000001.00000");
}

TEST(FileLane, a_file_that_is_not_there_is_not_made_and_another_one_is_not_taken) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  EXPECT_EQ(bench.open(kFirst).error().kind(), ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(site / text_of(kFirst)));
  ASSERT_TRUE(bench.create({.group = 3, .file = 0}));
  std::filesystem::rename(site / text_of(DataFileName{.group = 3, .file = 0}),
                          site / text_of(kFirst));
  EXPECT_EQ(bench.open(kFirst).error().kind(), ErrorClass::kDamage);
}

TEST(FileLane, more_than_half_of_what_is_free_is_not_reserved_ahead) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  const std::uint64_t free_bytes = std::filesystem::space(site / "").available;
  ASSERT_TRUE(bench.create(kFirst, free_bytes / 3 * 2));
  EXPECT_LT(std::filesystem::file_size(site / text_of(kFirst)), 1_MiB);
  const DataFileName second{.group = 2, .file = 0};
  ASSERT_TRUE(bench.create(second, 2_MiB));
  EXPECT_EQ(std::filesystem::file_size(site / text_of(second)), 2_MiB);
}

TEST(FileLane, places_in_the_midst_of_a_file_are_given_back) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  const auto file = stream::must(bench.create(kFirst, 0));
  EXPECT_TRUE(works(bench.write(file, kPage, 1_MiB)));
  EXPECT_TRUE(works(bench.sync(file)));
  const auto blocks = [&] {
    struct stat facts{};
    EXPECT_EQ(::stat((site / text_of(kFirst)).c_str(), &facts), 0);
    return facts.st_blocks;
  };
  const auto before = blocks();
  bench.lane->punch(file, {{kPage, 256_KiB}, {512_KiB, 256_KiB}});
  std::promise<void> punched;
  bench.lane->run([&punched] { punched.set_value(); });
  ASSERT_EQ(punched.get_future().wait_for(kPatience), std::future_status::ready);
  if (blocks() == before) GTEST_SKIP() << "the file system does not give back places";
  EXPECT_EQ(before - blocks(), static_cast<blkcnt_t>(512_KiB / 512));
  EXPECT_EQ(std::filesystem::file_size(site / text_of(kFirst)), kPage + 1_MiB);
}

TEST(FileLane, what_does_not_suit_direct_access_is_refused) {
  Site site({"", storage::BackendChoice::kThreads, Access::kDirect});
  if (const std::string reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
  Bench bench(site, Access::kDirect);
  const auto file = stream::must(bench.create(kFirst));
  const Status written = bench.write(file, kPage + 1, 4_KiB);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorClass::kInvalidArgument);
}

TEST(FileLane, a_device_that_stands_still_holds_up_no_names) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  const auto file = stream::must(bench.create(kFirst));
  const AlignedMemory memory(1_MiB);
  site.gate.close();
  Answer<Status> written;
  bench.lane->write(file, kPage, memory.bytes(), written.take());
  EXPECT_TRUE(bench.create({.group = 2, .file = 0}, 1_MiB));
  EXPECT_TRUE(works(bench.sync_folder()));
  EXPECT_FALSE(written.is_there());
  site.gate.open();
  EXPECT_TRUE(works(written.wait()));
}

TEST(FileLane, errands_are_run_in_order_and_before_what_is_made_ahead) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  std::promise<void> go;
  bench.lane->run([gone = go.get_future().share()] { gone.wait(); });
  std::vector<int> order;
  Answer<OpenedFile> ahead;
  bench.lane->create(kFirst, 0, [&, tell = ahead.take()](OpenedFile file) {
    order.push_back(3);
    tell(std::move(file));
  });
  bench.lane->run([&] { order.push_back(1); });
  bench.lane->run([&] { order.push_back(2); });
  go.set_value();
  EXPECT_TRUE(ahead.wait());
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

// What was made after it was removed stayed, with all that is reserved for it.
TEST(FileLane, a_file_that_is_removed_before_it_is_made_is_not_there_afterwards) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  std::promise<void> go;
  bench.lane->run([gone = go.get_future().share()] { gone.wait(); });
  Answer<OpenedFile> made;
  bench.lane->create(kFirst, 1_MiB, made.take());
  Answer<Status> removed;
  bench.lane->remove(kFirst, removed.take());
  go.set_value();
  EXPECT_TRUE(made.wait());
  EXPECT_TRUE(works(removed.wait()));
  EXPECT_FALSE(std::filesystem::exists(site / text_of(kFirst)));
}

TEST(FileLane, room_that_nobody_needs_is_given_back_after_the_end_too) {
  Site site({"", storage::BackendChoice::kThreads, Access::kBuffered});
  Bench bench(site, Access::kBuffered);
  const auto file = stream::must(bench.create(kFirst, 1_MiB));
  EXPECT_TRUE(works(bench.write(file, kPage, kPage)));
  ASSERT_EQ(std::filesystem::file_size(site / text_of(kFirst)), 1_MiB);
  std::promise<void> go;
  bench.lane->run([gone = go.get_future().share()] { gone.wait(); });
  bench.lane->cut(file, 2 * kPage);
  std::thread end([&] { bench.lane->stop(the_end()); });
  go.set_value();
  end.join();
  EXPECT_TRUE(is_written(site / text_of(kFirst), kFirst, 2 * kPage));
}

}  // namespace
}  // namespace forebay::write
