// SPDX-License-Identifier: Apache-2.0
// What ranks do in measurements of two hosts: those of the first node have the file, all others
// take the whole of it over the network, in equal shares. A rank finds how long it took from the
// start until it had touched its last bytes. Those of the first node sleep until all others are
// done: waiting in MPI they would burn a core that belongs, in the model, to another computer.
//
// A rank that computes looks for data only between two slices, so it ends up to a slice after its
// last bytes have come, however fast they came. That time is its own, and not counted: a thread
// that looks at the session's report each millisecond notes when all has arrived.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/read/computing.hpp"
#include "bench/read/works.hpp"
#include "comm/collective_file.hpp"

namespace forebay::bench::read {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLinkNap{1};
constexpr milliseconds kComputeSlice{300};
constexpr comm::Tag kDone{2};
constexpr comm::Tag kPiece{3};

/// Who takes what. Offsets of shares are multiples of 1 MiB.
class Sides {
 public:
  Sides(const WorkSite& site) : ranks_(site.ranks) {
    const comm::Nodes& nodes = ranks_.nodes();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const bool has_file = nodes.node_of({rank}).number == 0;
      (has_file ? givers_ : takers_).push_back({rank});
    }
    const auto mine = std::find(takers_.begin(), takers_.end(), ranks_.rank());
    if (mine != takers_.end())
      share_ = share_of_taker(static_cast<std::uint64_t>(mine - takers_.begin()), site.job);
  }

  bool is_taker() const noexcept { return share_.has_value(); }
  /// Empty for those that have the file.
  ByteRange share() const noexcept { return share_.value_or(ByteRange{}); }
  ByteRange share_of_taker(std::uint64_t taker, const Job& job) const {
    const auto begin = [&](std::uint64_t place) {
      return job.file_bytes / 1_MiB * place / takers_.size() * 1_MiB;
    };
    const std::uint64_t end = taker + 1 == takers_.size() ? job.file_bytes : begin(taker + 1);
    return {begin(taker), end - begin(taker)};
  }
  const std::vector<comm::Rank>& takers() const noexcept { return takers_; }
  comm::Communicator& ranks() const noexcept { return ranks_; }

  /// Takers say that they have all; the others sleep until then.
  Status part() const { return is_taker() ? tell_givers() : sleep_until_told(); }

 private:
  Status tell_givers() const {
    const std::array<std::byte, 1> word{};
    for (const comm::Rank giver : givers_) {
      if (auto sent = ranks_.send(word, giver, kDone).wait(); !sent) return sent;
    }
    return {};
  }
  Status sleep_until_told() const {
    std::array<std::byte, 1> word{};
    for (const comm::Rank taker : takers_) {
      comm::Transfer told = ranks_.receive(word, taker, kDone);
      Result<bool> arrived = told.test();
      while (arrived && !*arrived) {
        std::this_thread::sleep_for(kLinkNap);
        arrived = told.test();
      }
      if (!arrived) return failure(arrived.error());
    }
    return {};
  }

  comm::Communicator& ranks_;
  std::vector<comm::Rank> givers_;
  std::vector<comm::Rank> takers_;
  std::optional<ByteRange> share_;
};

/// What all ways have in common.
class LinkWork : public Performance {
 public:
  explicit LinkWork(const WorkSite& site) : sides_(site), job_(site.job) {}

  Status run() final {
    const Stopwatch watch;
    const Status moved = move();
    seconds_ = watch.seconds() - not_counted_seconds_;
    const Status parted = sides_.part();
    const Status checked = check();
    for (const Status* outcome : {&moved, &parted, &checked}) {
      if (!*outcome) return *outcome;
    }
    return {};
  }
  /// 0 for those that have the file: nothing is taken there.
  double found() const final { return sides_.is_taker() ? seconds_ : 0; }

 protected:
  /// A rank's part of it; may leave out some of its time.
  virtual Status move() = 0;
  virtual Status check() { return {}; }
  const Sides& sides() const noexcept { return sides_; }
  const Job& job() const noexcept { return job_; }
  void leave_out(double seconds) noexcept { not_counted_seconds_ += seconds; }

 private:
  Sides sides_;
  Job job_;
  double seconds_ = 0;
  double not_counted_seconds_ = 0;
};

/// Notes when other nodes' agents have sent all of a session.
class ArrivalWatch {
 public:
  ArrivalWatch(const Session& session, std::uint64_t bytes, const Stopwatch& watch)
      : thread_([this, session, bytes, &watch](const std::stop_token& stop) {
          while (!stop.stop_requested() && session.report().bytes_from_nodes < bytes)
            std::this_thread::sleep_for(kLinkNap);
          arrived_seconds_ = watch.seconds();
        }) {}

  /// If it has all arrived: when.
  double join() {
    thread_.request_stop();
    thread_.join();
    return arrived_seconds_;
  }

 private:
  double arrived_seconds_ = 0;
  std::jthread thread_;  // the last member: it uses the others
};

/// How a session is read.
struct SessionWay {
  ReadPlan plan;
  bool computes = false;
};

/// One node's agent reads for both. The window has room for what arrives while nobody takes
/// anything: a slice's 30 million bytes, and then some.
SessionWay way_of(Work work) {
  SessionWay way{.plan = {.agent_nodes = {0}}, .computes = false};
  if (work == Work::kLinkAsPlanned) return way;
  way.plan.window_bytes = 48_MiB;
  way.plan.eager_bytes = 48_MiB;
  way.computes = work == Work::kLinkComputing;
  return way;
}

class SessionOverLink final : public LinkWork {
 public:
  static Result<std::unique_ptr<Performance>> make(const WorkSite& site) {
    SessionWay way = way_of(site.job.work);
    auto file = site.team.runtime().open(site.job.cut().path.string());
    if (!file) return failure(file.error());
    return std::unique_ptr<Performance>(
        new SessionOverLink(site, std::move(way), std::move(*file)));
  }

 private:
  SessionOverLink(const WorkSite& site, SessionWay way, File file)
      : LinkWork(site), way_(std::move(way)), file_(std::move(file)) {}

  Status move() override {
    const Stopwatch watch;
    auto session = file_.read_session({0, job().file_bytes}, way_.plan);
    if (!session) return failure(session.error());
    session_.emplace(std::move(*session));
    if (!sides().is_taker()) return {};
    if (!way_.computes) return take_all(nullptr);
    ArrivalWatch arrival(*session_, job().file_bytes, watch);
    const Status taken = take_all(&watch);
    const double arrived_seconds = arrival.join();
    // The slice during which the last of it came, from then on.
    leave_out(std::max(0.0, slice_end_seconds_ - arrived_seconds));
    return taken;
  }

  /// Takes what is there; with a watch, computes a slice when there is nothing.
  Status take_all(const Stopwatch* computing) {
    Views pieces = session_->views({sides().share().offset, sides().share().size});
    while (!pieces.done()) {
      Future<View> next = pieces.next();
      while (computing != nullptr && !next.poll()) {
        compute_for(kComputeSlice);
        slice_end_seconds_ = computing->seconds();
      }
      const Result<View> piece = next.wait();
      if (!piece) return failure(piece.error());
      if (auto touched = touch(piece->bytes(), piece->range().offset); !touched) return touched;
    }
    return {};
  }

  Status check() override {
    if (!session_ || !sides().is_taker()) return {};
    const SessionReport report = session_->report();
    if (report.bytes_from_nodes >= sides().share().size &&
        report.bytes_from_nodes == report.bytes_read)
      return {};
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read over the link",
                    .cause = std::to_string(report.bytes_read - report.bytes_from_nodes) +
                             " bytes were read without it"});
  }

  SessionWay way_;
  File file_;
  std::optional<Session> session_;
  double slice_end_seconds_ = 0;
};

/// MPI-IO with one aggregator, which is the first rank: the hint that says what our plan says.
class CollectiveOverLink final : public LinkWork {
 public:
  static Result<std::unique_ptr<Performance>> make(const WorkSite& site) {
    const comm::CollectiveOpen how{
        .intent = comm::FileIntent::kRead,
        .hints = {{"romio_cb_read", "enable"}, {"cb_nodes", "1"}, {"cb_config_list", "*:1"}}};
    auto file = site.ranks.open_file(site.job.cut().path.string(), how);
    if (!file) return failure(file.error());
    return std::unique_ptr<Performance>(new CollectiveOverLink(site, std::move(*file)));
  }

 private:
  CollectiveOverLink(const WorkSite& site, std::unique_ptr<comm::CollectiveFile> file)
      : LinkWork(site), file_(std::move(file)) {
    if (sides().is_taker()) memory_ = TouchedMemory::make(sides().share().size);
  }

  Status move() override {
    // Without memory as well: the others wait in this call.
    const bool has_memory = memory_ && *memory_;
    const auto into = has_memory ? (*memory_)->bytes() : std::span<std::byte>();
    const auto got = file_->read_at_all(into, sides().share().offset);
    if (memory_ && !has_memory) return failure(memory_->error());
    if (!got) return failure(got.error());
    if (*got != into.size())
      return failure({.kind = ErrorClass::kShortFile, .operation = "read with MPI-IO"});
    return touch(into, sides().share().offset);
  }

  std::unique_ptr<comm::CollectiveFile> file_;
  std::optional<Result<TouchedMemory>> memory_;  // of a taker
};

/// The least there is to do: the first rank preads pieces and sends them, takers receive them.
class SendOverLink final : public LinkWork {
 public:
  static Result<std::unique_ptr<Performance>> make(const WorkSite& site) {
    Descriptor file(::open(site.job.cut().path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      return failure(
          system_error({.operation = "open", .path = site.job.cut().path.string()}, errno));
    }
    return std::unique_ptr<Performance>(new SendOverLink(site, std::move(file)));
  }

 private:
  static constexpr std::uint64_t kPieceBytes = 4_MiB;

  SendOverLink(const WorkSite& site, Descriptor file)
      : LinkWork(site), file_(std::move(file)), buffer_(kPieceBytes) {}

  Status move() override {
    if (sides().is_taker()) return receive_share();
    if (sides().ranks().rank().number != 0) return {};
    Status outcome;
    for (std::uint64_t taker = 0; taker < sides().takers().size(); ++taker) {
      Status sent = send_share(taker);
      if (!sent) outcome = sent;
    }
    return outcome;
  }

  /// Calls `use(piece)` for each piece of a share.
  template <class F>
  static Status for_pieces(ByteRange share, F use) {
    for (std::uint64_t at = share.offset; at < share.end(); at += kPieceBytes) {
      const ByteRange piece{at, std::min(kPieceBytes, share.end() - at)};
      if (Status used = use(piece); !used) return used;
    }
    return {};
  }

  Status send_share(std::uint64_t taker) {
    return for_pieces(sides().share_of_taker(taker, job()), [&](ByteRange piece) -> Status {
      // A piece that cannot be read is sent, too: somebody waits for it, and will see.
      const auto got =
          ::pread(file_.get(), buffer_.data(), piece.size, static_cast<off_t>(piece.offset));
      if (got != static_cast<ssize_t>(piece.size)) std::fill(buffer_.begin(), buffer_.end(), kBad);
      const auto bytes = std::span(buffer_).first(piece.size);
      return sides().ranks().send(bytes, sides().takers()[taker], kPiece).wait();
    });
  }
  Status receive_share() {
    return for_pieces(sides().share(), [&](ByteRange piece) -> Status {
      const auto bytes = std::span(buffer_).first(piece.size);
      if (auto got = sides().ranks().receive(bytes, {0}, kPiece).wait(); !got) return got;
      return touch(bytes, piece.offset);
    });
  }

  static constexpr std::byte kBad{0xFF};
  const Descriptor file_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<std::unique_ptr<Performance>> prepare_over_link(const WorkSite& site) {
  if (site.ranks.nodes().count() < 2) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "read over a link",
                    .cause = "all ranks are on one node"});
  }
  switch (site.job.work) {
    case Work::kLinkMpiIo:
      return CollectiveOverLink::make(site);
    case Work::kLinkSend:
      return SendOverLink::make(site);
    default:
      return SessionOverLink::make(site);
  }
}

}  // namespace forebay::bench::read
