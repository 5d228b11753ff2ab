// SPDX-License-Identifier: Apache-2.0
// read.single_us: how long one request takes whose bytes are not in the window and that has no
// other beside it. Each rank asks for pieces of 4 KiB, one after the other, each in a splinter that
// nobody has touched, in random order; nothing is read ahead. The file is in the page cache, so
// what is measured is the way of a request to whoever reads and back, and the copy of its bytes.
// The peer preads the same pieces in the same order from one descriptor.
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
#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "bench/read/works.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kPieceBytes = 4_KiB;

/// The plan: the one of a program that reads here and there. Its splinter is the default's.
ReadPlan scattered_plan() {
  return {.eager_bytes = 0, .retirement = Retirement::kCache, .reason = {}};
}

/// One piece in the middle of each splinter of this rank's share, in an order that is random and
/// the same each time.
std::vector<ByteRange> scattered_pieces(ByteRange share, std::uint64_t splinter_bytes) {
  std::vector<ByteRange> pieces;
  for (std::uint64_t at = 0; at + splinter_bytes <= share.size; at += splinter_bytes)
    pieces.push_back({share.offset + at + splinter_bytes / 2, kPieceBytes});
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(share.offset));
  return pieces;
}

/// One request after the other, each timed by itself.
template <class Source>
class Misses final : public Performance {
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
  double found() const override { return summarise(times_us_).median; }

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
    return touch(view->bytes(), piece.offset);
  }
  /// A request that found its bytes in the window would not have been a miss.
  Status check(std::uint64_t asked_bytes) const {
    if (session_.report().bytes_read >= asked_bytes) return {};
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "time misses",
                    .cause = "some of it was in the window already"});
  }

 private:
  Session session_;
};

/// The file itself, and a buffer of one piece.
class PlainSource {
 public:
  explicit PlainSource(const Cut& cut) : file_(::open(cut.path.c_str(), O_RDONLY | O_CLOEXEC)) {}

  Status read(ByteRange piece) {
    const auto got =
        ::pread(file_.get(), buffer_.data(), piece.size, static_cast<off_t>(piece.offset));
    if (got == static_cast<ssize_t>(piece.size)) return touch(buffer_, piece.offset);
    return failure(system_error({.operation = "pread", .offset_bytes = piece.offset}, errno));
  }
  Status check(std::uint64_t /*asked_bytes*/) const { return {}; }

 private:
  Descriptor file_;
  std::array<std::byte, kPieceBytes> buffer_{};
};

Variant variant(const char* name, Work work, const Cut& cut) {
  return {name, [cut] { return probe::warm(cut.path); },
          [=]() -> Result<double> {
            // The slower rank: whoever waits for all waits for it.
            return the_crew().measure(Job::of(work, cut)).map([](const Measured& all) {
              return *std::max_element(all.found.begin(), all.found.end());
            });
          }};
}

}  // namespace

Result<std::unique_ptr<Performance>> prepare_misses(const WorkSite& site, const File& file) {
  const ByteRange share = share_of(site.job, site.ranks);
  auto session = file.read_session({}, scattered_plan());
  if (!session) return failure(session.error());
  auto pieces = scattered_pieces(share, session->plan().splinter_bytes);
  if (pieces.empty()) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "time misses",
                    .cause = "the file has less than a splinter for each rank"});
  }
  if (site.job.work == Work::kMissesPlainly)
    return std::make_unique<Misses<PlainSource>>(std::move(pieces), PlainSource(site.job.cut()));
  return std::make_unique<Misses<SessionSource>>(std::move(pieces),
                                                 SessionSource(std::move(*session)));
}

Status bench_misses(Context& context) {
  const std::string id = "read.single_us";
  if (!context.wants(id)) return {};
  const auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  const auto rounds = context.run(
      id, 9,
      {variant("forebay", Work::kMisses, *cut), variant("pread", Work::kMissesPlainly, *cut)});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "us",
               .measured = rounds->summary("forebay"),
               .goal = Goal{12},
               .peers = {{"pread", "us", rounds->summary("pread")}}});
  return {};
}

}  // namespace forebay::bench::read
