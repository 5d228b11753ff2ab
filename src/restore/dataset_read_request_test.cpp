// SPDX-License-Identifier: Apache-2.0
// Datasets read by ranks with a limit on concurrent readers: the number of ranks that read at a
// time, counted at the file.
#include "restore/dataset_read_request.hpp"

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
constexpr std::chrono::milliseconds kLongLease = std::chrono::minutes(10);

/// Counts the ranks with reads in flight, and their maximum. Thread-safe.
class ActiveReaders {
 public:
  /// A read ends only when `required` ranks have a read in flight, or have had one at the same time
  /// before.
  explicit ActiveReaders(std::size_t required) : required_(required) {}

  void begin(std::uint32_t rank) {
    std::unique_lock lock(mutex_);
    ++in_flight_[rank];
    max_ = std::max(max_, in_flight_.size());
    changed_.notify_all();
    changed_.wait_for(lock, read::kTestTimeout, [this] { return max_ >= required_; });
  }
  void end(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    if (--in_flight_[rank] == 0) in_flight_.erase(rank);
  }
  std::size_t max() const {
    const std::lock_guard lock(mutex_);
    return max_;
  }

 private:
  const std::size_t required_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, int> in_flight_;
  std::size_t max_ = 0;
};

/// A file as one rank reads it: slowly, and counted.
class CountedFile final : public storage::File {
 public:
  CountedFile(std::shared_ptr<storage::File> inner, ActiveReaders& count, std::uint32_t rank)
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
  ActiveReaders& count_;
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

/// Reads a dataset on one rank without a Runtime.
class TestReader {
 public:
  TestReader(const std::string& path,
             comm::Communicator& ranks,
             ActiveReaders& count,
             std::shared_ptr<comm::ConcurrencyLimiter> limiter)
      : rank_(ranks.rank().number),
        agent_(
            read::EngineAgent::start({.choice = BackendChoice::kThreads, .queue_depth = 8}, nullptr)
                .value()),
        dataset_({.directory = path,
                  .steps = read_step_list(ranks, path).value(),
                  .options = {},
                  .open_session =
                      [this, &count](const auto& file, ByteRange extent, const auto&, WindowSize) {
                        return open(file, extent, count);
                      },
                  .executor = &loop_,
                  .limiter = std::move(limiter)}) {}
  ~TestReader() { agent_->stop(); }
  TestReader(const TestReader&) = delete;
  TestReader& operator=(const TestReader&) = delete;

  /// Reads the first bytes of a part. Returns what the cache has of its first piece then.
  PieceCache::Bytes cached_after_reading(std::uint64_t part, std::uint64_t count) {
    const auto step = dataset_.step(1).value();
    std::vector<std::byte> bytes(count);
    auto wanted = step->request_range({"x", ElementType::kBytes, count}, Part{part}, 0).value();
    const format::BlockLocation location = wanted.requests.front().location;
    const format::Block block = step->catalog().block(location);
    EXPECT_EQ(read::result_of(Future<ByteCount>(
                  std::make_unique<DatasetReadRequest>(step, std::move(wanted), std::span(bytes)))),
              count);
    return step->pieces().find({1, location.file, block.stored_range(0).offset});
  }

  /// Expects the bytes of one part as they were put.
  void expect_part(const format::TestBlock& block) {
    const auto step = dataset_.step(1).value();
    std::vector<std::byte> bytes(block.raw.size());
    const Part part{block.part};
    auto wanted =
        step->request_parts({"x", ElementType::kBytes, bytes.size()}, std::span(&part, 1));
    ASSERT_TRUE(wanted) << wanted.error().message();
    const auto got = read::result_of(Future<ByteCount>(
        std::make_unique<DatasetReadRequest>(step, std::move(*wanted), std::span(bytes))));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(bytes, block.raw) << "part " << block.part << " on rank " << rank_;
  }

 private:
  Result<std::shared_ptr<read::SessionCore>> open(const std::shared_ptr<storage::File>& file,
                                                  ByteRange extent,
                                                  ActiveReaders& count) {
    const auto plan = plan_read({.extent = extent,
                                 .access = Access::kDirect,
                                 .access_reason = {},
                                 .available_bytes = windows_->available_bytes(),
                                 .total_bytes = windows_->budget_bytes()},
                                {.readahead_bytes = 0, .reason = {}});
    if (!plan) return failure(plan.error());
    auto host = read::LocalSession::open({.file = std::make_shared<CountedFile>(file, count, rank_),
                                          .extent = extent,
                                          .plan = *plan,
                                          .windows = windows_,
                                          .agent = agent_,
                                          .executor = &loop_});
    if (!host) return failure(host.error());
    agent_->notify(*host);
    return *host;
  }

  const std::uint32_t rank_;
  EventLoop loop_;
  const std::shared_ptr<read::WindowPool> windows_ = std::make_shared<read::WindowPool>(64_MiB);
  const std::shared_ptr<read::ReadAgent> agent_;
  DatasetReaderCore dataset_;
};

class LimitedReadersTest : public testing::Test {
 protected:
  LimitedReadersTest() { format::TestWriter(path_, format::test_dataset_id()).write(written_); }
  /// All ranks read all parts, each beginning with another one. With 0: without a limit.
  void read_all(std::uint32_t permit_count, ActiveReaders& count) const {
    const Status ran =
        comm::run_ranks({.count = kReaders}, [&](const comm::CommunicatorPtr& ranks) {
          std::shared_ptr<comm::ConcurrencyLimiter> limiter;
          if (permit_count > 0)
            limiter = comm::ConcurrencyLimiter::open(
                          *ranks, {}, {.permit_count = permit_count, .lease = kLongLease})
                          .value();
          {
            TestReader reader(path_, *ranks, count, limiter);
            for (std::uint64_t i = 0; i < kReadParts; ++i)
              reader.expect_part(written_.blocks[(i + ranks->rank().number) % kReadParts]);
          }
          return ranks->barrier();
        });
    EXPECT_TRUE(ran) << ran.error().message();
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const format::TestStep written_ = step_of_bytes();
};

TEST_F(LimitedReadersTest, at_most_the_limit_read_at_a_time) {
  for (const std::uint32_t permit_count : {1U, 2U}) {
    ActiveReaders count(1);
    read_all(permit_count, count);
    EXPECT_GE(count.max(), 1U);
    EXPECT_LE(count.max(), permit_count);
  }
}

TEST_F(LimitedReadersTest, all_groups_read_at_the_same_time) {
  ActiveReaders count(2);
  read_all(2, count);
  EXPECT_EQ(count.max(), 2U);
}

TEST_F(LimitedReadersTest, without_a_limit_all_ranks_read_at_the_same_time) {
  ActiveReaders count(kReaders);
  read_all(0, count);
  EXPECT_EQ(count.max(), kReaders);
}

TEST_F(LimitedReadersTest, piece_that_is_read_in_part_is_cached) {
  const Status ran =
      comm::run_ranks({.count = 1}, [&](const comm::CommunicatorPtr& ranks) -> Status {
        ActiveReaders count(1);
        TestReader reader(path_, *ranks, count, nullptr);
        const auto whole = reader.cached_after_reading(0, format::kPieceBytes);
        EXPECT_EQ(whole, nullptr) << "its caller has all of it";
        const auto part = reader.cached_after_reading(0, 8);
        if (part == nullptr) return failure({.operation = "find the piece", .path = path_});
        const std::vector<std::byte>& raw = written_.blocks[0].raw;
        EXPECT_TRUE(std::equal(raw.begin(), raw.begin() + format::kPieceBytes, part.get()));
        return Status();
      });
  EXPECT_TRUE(ran) << ran.error().message();
}

}  // namespace
}  // namespace forebay::restore
