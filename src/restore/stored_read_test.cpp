// SPDX-License-Identifier: Apache-2.0
// Whole datasets read by ranks in turns: how many ranks read at a time, counted where bytes come
// from.
#include "restore/stored_read.hpp"

#include <condition_variable>
#include <map>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "comm/testing.hpp"
#include "format/testing.hpp"
#include "read/testing.hpp"

namespace forebay::restore {
namespace {

constexpr std::uint32_t kReaders = 5;
constexpr std::uint64_t kReadParts = 6;
constexpr std::uint64_t kReadBytesMax = format::kPieceBytes * 3 / 2;
constexpr std::chrono::milliseconds kNeverLate = std::chrono::minutes(10);

/// Which ranks have reads under way, and how many had at most. Any thread.
class ReaderCount {
 public:
  /// `gathered`: a read ends only when so many ranks have one under way, or did once.
  explicit ReaderCount(std::size_t gathered) : gathered_(gathered) {}

  void begin(std::uint32_t rank) {
    std::unique_lock lock(mutex_);
    ++under_way_[rank];
    most_ = std::max(most_, under_way_.size());
    changed_.notify_all();
    changed_.wait_for(lock, read::kPatience, [this] { return most_ >= gathered_; });
  }
  void end(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    if (--under_way_[rank] == 0) under_way_.erase(rank);
  }
  std::size_t most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  const std::size_t gathered_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, int> under_way_;
  std::size_t most_ = 0;
};

/// A file as one rank reads it: slowly, and counted.
class CountedFile final : public storage::File {
 public:
  CountedFile(std::shared_ptr<storage::File> inner, ReaderCount& count, std::uint32_t rank)
      : inner_(std::move(inner)), count_(count), rank_(rank) {}

  const std::string& path() const noexcept override { return inner_->path(); }
  storage::FileSystem file_system() const noexcept override { return inner_->file_system(); }
  Access access() const noexcept override { return Access::kDirect; }
  std::size_t alignment_bytes() const noexcept override { return 1; }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override {
    count_.begin(rank_);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    auto got = inner_->read_at(into, offset_bytes);
    count_.end(rank_);
    return got;
  }
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override {
    return inner_->write_at(from, offset_bytes);
  }
  Status sync() override { return inner_->sync(); }
  Status allocate(ByteRange range) override { return inner_->allocate(range); }
  Status truncate(std::uint64_t size_bytes) override { return inner_->truncate(size_bytes); }
  std::optional<double> cached_fraction(ByteRange /*range*/) const override { return 0; }

 private:
  const std::shared_ptr<storage::File> inner_;
  ReaderCount& count_;
  const std::uint32_t rank_;
};

/// Parts of bytes, uneven, some of several pieces, in two files.
format::TestStep step_of_bytes() {
  format::TestStep step{.step = 1, .files = 2};
  for (std::uint64_t part = 0; part < kReadParts; ++part) {
    const std::uint64_t bytes = kReadBytesMax / (part + 1) + part;
    step.blocks.push_back({.field = {.name = "x"},
                           .part = part,
                           .shape = {bytes},
                           .raw = read::word_bytes({part * 8, bytes}),
                           .file = static_cast<std::uint32_t>(part % 2)});
  }
  return step;
}

/// What one rank needs to read a dataset without a Runtime.
class Reader {
 public:
  Reader(const std::string& path,
         comm::Communicator& ranks,
         ReaderCount& count,
         std::shared_ptr<comm::Turns> turns)
      : rank_(ranks.rank().number),
        agent_(read::EngineAgent::start(
                   {.choice = storage::BackendChoice::kThreads, .queue_depth = 8}, nullptr)
                   .value()),
        dataset_({.folder = path,
                  .steps = read_together(ranks, path).value(),
                  .options = {},
                  .open_session =
                      [this, &count](const auto& file, ByteRange extent, const auto&, Width) {
                        return open(file, extent, count);
                      },
                  .executor = &loop_,
                  .turns = std::move(turns)}) {}
  ~Reader() { agent_->stop(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// One part of the step, as it was put.
  void expect_part(const format::TestBlock& block) {
    const auto step = dataset_.step(1).value();
    std::vector<std::byte> bytes(block.raw.size());
    const Part part{block.part};
    auto wanted = step->want_parts({"x", ElementType::kBytes, bytes.size()}, std::span(&part, 1));
    ASSERT_TRUE(wanted) << wanted.error().message();
    const auto got = read::result_of(Future<ByteCount>(
        std::make_unique<StoredRead>(step, std::move(*wanted), std::span(bytes))));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(bytes, block.raw) << "part " << block.part << " on rank " << rank_;
  }

 private:
  Result<std::shared_ptr<read::SessionCore>> open(const std::shared_ptr<storage::File>& file,
                                                  ByteRange extent,
                                                  ReaderCount& count) {
    const auto plan = plan_read({.extent = extent,
                                 .access = Access::kDirect,
                                 .access_reason = {},
                                 .available_bytes = windows_->available_bytes(),
                                 .total_bytes = windows_->budget_bytes()},
                                {.eager_bytes = 0, .reason = {}});
    if (!plan) return failure(plan.error());
    auto host = read::SessionHost::open({.file = std::make_shared<CountedFile>(file, count, rank_),
                                         .extent = extent,
                                         .plan = *plan,
                                         .windows = windows_,
                                         .agent = agent_,
                                         .executor = &loop_});
    if (!host) return failure(host.error());
    agent_->serve(*host);
    return *host;
  }

  const std::uint32_t rank_;
  EventLoop loop_;
  const std::shared_ptr<read::WindowPool> windows_ = std::make_shared<read::WindowPool>(64_MiB);
  const std::shared_ptr<read::Agent> agent_;
  DatasetCore dataset_;
};

class StoredReadsByTurns : public testing::Test {
 protected:
  StoredReadsByTurns() { format::TestWriter(path_, format::test_dataset()).write(written_); }
  /// All ranks read all parts, each from another one on; 0: without turns.
  void read_all(std::uint32_t at_once, ReaderCount& count) const {
    const Status ran = comm::run_ranks({.count = kReaders}, [&](const comm::Ranks& ranks) {
      std::shared_ptr<comm::Turns> turns;
      if (at_once > 0)
        turns = comm::Turns::open(*ranks, {}, {.at_once = at_once, .lease = kNeverLate}).value();
      {
        Reader reader(path_, *ranks, count, turns);
        for (std::uint64_t i = 0; i < kReadParts; ++i)
          reader.expect_part(written_.blocks[(i + ranks->rank().number) % kReadParts]);
      }
      return ranks->barrier();
    });
    EXPECT_TRUE(ran) << ran.error().message();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const format::TestStep written_ = step_of_bytes();
};

TEST_F(StoredReadsByTurns, are_never_of_more_ranks_than_may_read) {
  for (const std::uint32_t at_once : {1U, 2U}) {
    ReaderCount count(1);
    read_all(at_once, count);
    EXPECT_GE(count.most(), 1U);
    EXPECT_LE(count.most(), at_once);
  }
}

TEST_F(StoredReadsByTurns, of_all_groups_go_on_at_once) {
  ReaderCount count(2);
  read_all(2, count);
  EXPECT_EQ(count.most(), 2U);
}

TEST_F(StoredReadsByTurns, without_turns_are_of_all_ranks_at_once) {
  ReaderCount count(kReaders);
  read_all(0, count);
  EXPECT_EQ(count.most(), kReaders);
}

}  // namespace
}  // namespace forebay::restore
