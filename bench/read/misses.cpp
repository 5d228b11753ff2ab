// SPDX-License-Identifier: Apache-2.0
// read.single_us: time of one request for bytes that are not in the window, without other requests.
// Each rank requests pieces of 4 KiB, one at a time, each in an untouched splinter, in random
// order, without readahead. The file is in the page cache. So the result is the time from the
// request to the agent and back, and the copy of its bytes. The peer preads the same pieces in the
// same order from one descriptor.
#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/read/kernels.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kPieceBytes = 4_KiB;

/// The plan of a program with scattered reads. Its splinter size is the default.
ReadPlan scattered_plan() {
  return {.readahead_bytes = 0, .eviction = EvictionPolicy::kLru, .reason = {}};
}

/// One piece in the middle of each splinter of this rank's share, in a random order that is the
/// same each time.
std::vector<ByteRange> scattered_pieces(ByteRange share, std::uint64_t splinter_bytes) {
  std::vector<ByteRange> pieces;
  for (std::uint64_t at = 0; at + splinter_bytes <= share.size; at += splinter_bytes)
    pieces.push_back({share.offset + at + splinter_bytes / 2, kPieceBytes});
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(share.offset));
  return pieces;
}

/// Requests one at a time, each timed separately.
template <class Source>
class Misses final : public PreparedRun {
 public:
  Misses(std::vector<ByteRange> pieces, Source source)
      : pieces_(std::move(pieces)), source_(std::move(source)) {}

  Status run() override {
    for (const ByteRange& piece : pieces_) {
      const Stopwatch watch;
      if (Status done = source_.read(piece); !done) return done;
      times_us_.push_back(watch.seconds() * kMicroseconds);
    }
    return source_.check(pieces_.size() * kPieceBytes);
  }
  double rank_result() const override { return summarize(times_us_).median; }

 private:
  std::vector<ByteRange> pieces_;
  Source source_;
  std::vector<double> times_us_;
};

class SessionSource {
 public:
  explicit SessionSource(Session session) : session_(std::move(session)) {}

  Status read(ByteRange piece) const {
    const Result<View> view = session_.view(piece).wait();
    if (!view) return failure(view.error());
    return verify_words(view->bytes(), piece.offset);
  }
  /// A request whose bytes were in the window would not have been a miss.
  Status check(std::uint64_t requested_bytes) const {
    if (session_.report().bytes_read >= requested_bytes) return {};
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "time misses",
                    .cause = "some of its bytes were in the window already"});
  }

 private:
  Session session_;
};

/// The file, and a buffer of one piece.
class PreadSource {
 public:
  explicit PreadSource(const FilePartition& partition)
      : file_(::open(partition.path.c_str(), O_RDONLY | O_CLOEXEC)) {}

  Status read(ByteRange piece) {
    const auto got =
        ::pread(file_.get(), buffer_.data(), piece.size, static_cast<off_t>(piece.offset));
    if (got == static_cast<ssize_t>(piece.size)) return verify_words(buffer_, piece.offset);
    return failure(system_error({.operation = "pread", .offset_bytes = piece.offset}, errno));
  }
  Status check(std::uint64_t /*requested_bytes*/) const { return {}; }

 private:
  Descriptor file_;
  std::array<std::byte, kPieceBytes> buffer_{};
};

Variant variant(const char* name, Kernel kernel, const FilePartition& partition) {
  return {
      name, warm(partition.path), [=]() -> Result<double> {
        // The slower rank determines the time of all.
        return rank_harness().measure(Job::make(kernel, partition)).map([](const JobResult& all) {
          return *std::max_element(all.rank_results.begin(), all.rank_results.end());
        });
      }};
}

}  // namespace

Result<std::unique_ptr<PreparedRun>> prepare_misses(const KernelContext& kernel, const File& file) {
  const ByteRange share = share_of(kernel.job, kernel.ranks);
  auto session = file.read_session({}, scattered_plan());
  if (!session) return failure(session.error());
  auto pieces = scattered_pieces(share, session->plan().tuning.splinter_bytes);
  if (pieces.empty()) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "time misses",
                    .cause = "the file has less than a splinter for each rank"});
  }
  if (kernel.job.kernel == Kernel::kMissesPread)
    return std::make_unique<Misses<PreadSource>>(std::move(pieces),
                                                 PreadSource(kernel.job.partition()));
  return std::make_unique<Misses<SessionSource>>(std::move(pieces),
                                                 SessionSource(std::move(*session)));
}

Status bench_misses(Context& context) {
  const FilePartition partition = large_partition(context);
  return context.compare({.rows = {{"read.single_us", value_of("forebay"), Goal{12}, "us"}},
                          .rounds = 9,
                          .variants = {variant("forebay", Kernel::kMisses, partition),
                                       variant("pread", Kernel::kMissesPread, partition)},
                          .unit = "us",
                          .peers = {{"pread"}}});
}

}  // namespace forebay::bench::read
