// SPDX-License-Identifier: Apache-2.0
// Kernels for measurements on two hosts: ranks of the first node have the file, all others receive
// the whole of it over the network, in equal shares. A rank's result is the time from the start
// until it has touched its last bytes. Ranks of the first node sleep until all others are done:
// waiting in MPI, they would use a core that belongs to another computer in the model.
//
// A computing rank polls for data only between two slices, so it ends up to a slice after the
// arrival of its last bytes. That time is not counted: a thread that polls the session's report
// each millisecond records the time of arrival.
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
#include "bench/read/background_computation.hpp"
#include "bench/read/kernels.hpp"
#include "comm/collective_file.hpp"

namespace forebay::bench::read {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLinkPollInterval{1};
constexpr milliseconds kComputeSlice{300};
constexpr comm::Tag kDone{2};
constexpr comm::Tag kPiece{3};

/// Which ranks receive which bytes. Offsets of shares are multiples of 1 MiB.
class LinkRoles {
 public:
  LinkRoles(const KernelContext& context) : ranks_(context.ranks) {
    const comm::Nodes& nodes = ranks_.nodes();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const bool has_file = nodes.node_of({rank}).number == 0;
      (has_file ? senders_ : receivers_).push_back({rank});
    }
    const auto mine = std::find(receivers_.begin(), receivers_.end(), ranks_.rank());
    if (mine != receivers_.end())
      share_ = receiver_share(static_cast<std::uint64_t>(mine - receivers_.begin()), context.job);
  }

  bool is_receiver() const noexcept { return share_.has_value(); }
  /// Empty on senders.
  ByteRange share() const noexcept { return share_.value_or(ByteRange{}); }
  ByteRange receiver_share(std::uint64_t receiver, const Job& job) const {
    const auto begin = [&](std::uint64_t place) {
      return job.file_bytes / 1_MiB * place / receivers_.size() * 1_MiB;
    };
    const std::uint64_t end =
        receiver + 1 == receivers_.size() ? job.file_bytes : begin(receiver + 1);
    return {begin(receiver), end - begin(receiver)};
  }
  const std::vector<comm::Rank>& receivers() const noexcept { return receivers_; }
  comm::Communicator& ranks() const noexcept { return ranks_; }

  /// Receivers report that they have all; senders sleep until then.
  Status synchronize() const { return is_receiver() ? notify_senders() : wait_for_receivers(); }

 private:
  Status notify_senders() const {
    const std::array<std::byte, 1> word{};
    for (const comm::Rank sender : senders_) {
      if (auto sent = ranks_.send(word, sender, kDone).wait(); !sent) return sent;
    }
    return {};
  }
  Status wait_for_receivers() const {
    std::array<std::byte, 1> word{};
    for (const comm::Rank receiver : receivers_) {
      if (auto done = wait_asleep(ranks_.receive(word, receiver, kDone)); !done) return done;
    }
    return {};
  }

  comm::Communicator& ranks_;
  std::vector<comm::Rank> senders_;
  std::vector<comm::Rank> receivers_;
  std::optional<ByteRange> share_;
};

/// Common to all kernels.
class LinkRun : public PreparedRun {
 public:
  explicit LinkRun(const KernelContext& context) : roles_(context), job_(context.job) {}

  Status run() final {
    const Stopwatch watch;
    const Status transferred = transfer();
    seconds_ = watch.seconds() - excluded_seconds_;
    const Status synchronized = roles_.synchronize();
    const Status checked = check();
    for (const Status* outcome : {&transferred, &synchronized, &checked}) {
      if (!*outcome) return *outcome;
    }
    return {};
  }
  /// 0 on senders, which receive nothing.
  double rank_result() const final { return roles_.is_receiver() ? seconds_ : 0; }

 protected:
  /// A rank's part of the transfer; may exclude some of its time.
  virtual Status transfer() = 0;
  virtual Status check() { return {}; }
  const LinkRoles& roles() const noexcept { return roles_; }
  const Job& job() const noexcept { return job_; }
  void exclude_time(double seconds) noexcept { excluded_seconds_ += seconds; }

 private:
  LinkRoles roles_;
  Job job_;
  double seconds_ = 0;
  double excluded_seconds_ = 0;
};

/// Records when other nodes' agents have sent all bytes of a session.
class ArrivalMonitor {
 public:
  ArrivalMonitor(const Session& session, std::uint64_t bytes, const Stopwatch& watch)
      : thread_([this, session, bytes, &watch](const std::stop_token& stop) {
          while (!stop.stop_requested() && session.report().bytes_from_nodes < bytes)
            std::this_thread::sleep_for(kLinkPollInterval);
          arrived_seconds_ = watch.seconds();
        }) {}

  /// The time of arrival, if all bytes have arrived.
  double join() {
    thread_.request_stop();
    thread_.join();
    return arrived_seconds_;
  }

 private:
  double arrived_seconds_ = 0;
  std::jthread thread_;  // last member, because it uses the others
};

/// How a session is read.
struct SessionOptions {
  ReadPlan plan;
  bool has_computation = false;
};

/// One node's agent reads for both nodes. The window has room for what arrives during a slice, 30
/// million bytes, and some more.
SessionOptions session_options(Kernel kernel) {
  SessionOptions options{.plan = {.tuning = {.agent_nodes = {0}}}, .has_computation = false};
  if (kernel == Kernel::kLinkAutoPlan) return options;
  options.plan.tuning.window_bytes = 48_MiB;
  options.plan.readahead_bytes = 48_MiB;
  options.has_computation = kernel == Kernel::kLinkComputing;
  return options;
}

class SessionOverLink final : public LinkRun {
 public:
  static Result<std::unique_ptr<PreparedRun>> make(const KernelContext& context) {
    SessionOptions options = session_options(context.job.kernel);
    auto file = context.team.runtime().open_file(context.job.partition().path.string());
    if (!file) return failure(file.error());
    return std::unique_ptr<PreparedRun>(
        new SessionOverLink(context, std::move(options), std::move(*file)));
  }

 private:
  SessionOverLink(const KernelContext& context, SessionOptions options, File file)
      : LinkRun(context), options_(std::move(options)), file_(std::move(file)) {}

  Status transfer() override {
    const Stopwatch watch;
    auto session = file_.read_session({0, job().file_bytes}, options_.plan);
    if (!session) return failure(session.error());
    session_.emplace(std::move(*session));
    if (!roles().is_receiver()) return {};
    if (!options_.has_computation) return read_share(nullptr);
    ArrivalMonitor arrival(*session_, job().file_bytes, watch);
    const Status taken = read_share(&watch);
    const double arrived_seconds = arrival.join();
    // Excludes the rest of the slice after the last arrival.
    exclude_time(std::max(0.0, slice_end_seconds_ - arrived_seconds));
    return taken;
  }

  /// Takes available views; with `computing`, computes a slice when none is available.
  Status read_share(const Stopwatch* computing) {
    ViewSequence pieces = session_->views({roles().share().offset, roles().share().size});
    while (!pieces.is_done()) {
      Future<View> next = pieces.next();
      while (computing != nullptr && !next.poll()) {
        compute_for(kComputeSlice);
        slice_end_seconds_ = computing->seconds();
      }
      const Result<View> piece = next.wait();
      if (!piece) return failure(piece.error());
      if (auto touched = verify_words(piece->bytes(), piece->range().offset); !touched)
        return touched;
    }
    return {};
  }

  Status check() override {
    if (!session_ || !roles().is_receiver()) return {};
    const SessionReport report = session_->report();
    if (report.bytes_from_nodes >= roles().share().size &&
        report.bytes_from_nodes == report.bytes_read)
      return {};
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read over the link",
                    .cause = std::to_string(report.bytes_read - report.bytes_from_nodes) +
                             " bytes were not read over the link"});
  }

  SessionOptions options_;
  File file_;
  std::optional<Session> session_;
  double slice_end_seconds_ = 0;
};

/// MPI-IO with one aggregator, the first rank: the hint that corresponds to our plan.
class CollectiveOverLink final : public LinkRun {
 public:
  static Result<std::unique_ptr<PreparedRun>> make(const KernelContext& context) {
    const comm::CollectiveOpenOptions how{
        .intent = comm::FileIntent::kRead,
        .hints = {{"romio_cb_read", "enable"}, {"cb_nodes", "1"}, {"cb_config_list", "*:1"}}};
    auto file = context.ranks.open_file(context.job.partition().path.string(), how);
    if (!file) return failure(file.error());
    return std::unique_ptr<PreparedRun>(new CollectiveOverLink(context, std::move(*file)));
  }

 private:
  CollectiveOverLink(const KernelContext& context, std::unique_ptr<comm::CollectiveFile> file)
      : LinkRun(context), file_(std::move(file)) {
    if (roles().is_receiver()) memory_ = PrefaultedMemory::make(roles().share().size);
  }

  Status transfer() override {
    // Participates also without memory, because other ranks wait in this call.
    const bool has_memory = memory_ && *memory_;
    const auto into = has_memory ? (*memory_)->bytes() : std::span<std::byte>();
    const auto got = file_->read_at_all(into, roles().share().offset);
    if (memory_ && !has_memory) return failure(memory_->error());
    if (!got) return failure(got.error());
    if (*got != into.size())
      return failure({.kind = ErrorClass::kShortFile, .operation = "read with MPI-IO"});
    return verify_words(into, roles().share().offset);
  }

  std::unique_ptr<comm::CollectiveFile> file_;
  std::optional<Result<PrefaultedMemory>> memory_;  // of a receiver
};

/// The minimum of work: the first rank preads pieces and sends them, and receivers receive them.
class SendOverLink final : public LinkRun {
 public:
  static Result<std::unique_ptr<PreparedRun>> make(const KernelContext& context) {
    Descriptor file(::open(context.job.partition().path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      return failure(system_error(
          {.operation = "open", .path = context.job.partition().path.string()}, errno));
    }
    return std::unique_ptr<PreparedRun>(new SendOverLink(context, std::move(file)));
  }

 private:
  static constexpr std::uint64_t kPieceBytes = 4_MiB;

  SendOverLink(const KernelContext& context, Descriptor file)
      : LinkRun(context), file_(std::move(file)), buffer_(kPieceBytes) {}

  Status transfer() override {
    if (roles().is_receiver()) return receive_share();
    if (roles().ranks().rank().number != 0) return {};
    Status outcome;
    for (std::uint64_t receiver = 0; receiver < roles().receivers().size(); ++receiver) {
      Status sent = send_share(receiver);
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

  Status send_share(std::uint64_t receiver) {
    return for_pieces(roles().receiver_share(receiver, job()), [&](ByteRange piece) -> Status {
      // A piece that cannot be read is sent, too, because a rank waits for it; that rank detects
      // it.
      const auto got =
          ::pread(file_.get(), buffer_.data(), piece.size, static_cast<off_t>(piece.offset));
      if (got != static_cast<ssize_t>(piece.size))
        std::fill(buffer_.begin(), buffer_.end(), kInvalidByte);
      const auto bytes = std::span(buffer_).first(piece.size);
      return roles().ranks().send(bytes, roles().receivers()[receiver], kPiece).wait();
    });
  }
  Status receive_share() {
    return for_pieces(roles().share(), [&](ByteRange piece) -> Status {
      const auto bytes = std::span(buffer_).first(piece.size);
      if (auto got = roles().ranks().receive(bytes, {0}, kPiece).wait(); !got) return got;
      return verify_words(bytes, piece.offset);
    });
  }

  static constexpr std::byte kInvalidByte{0xFF};
  const Descriptor file_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Status wait_asleep(comm::MessageRequest message) {
  while (true) {
    const Result<bool> is_done = message.test();
    if (!is_done) return failure(is_done.error());
    if (*is_done) return {};
    std::this_thread::sleep_for(kLinkPollInterval);
  }
}

Result<std::unique_ptr<PreparedRun>> prepare_link(const KernelContext& context) {
  if (context.ranks.nodes().count() < 2) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "read over a link",
                    .cause = "all ranks are on one node"});
  }
  switch (context.job.kernel) {
    case Kernel::kLinkMpiIo:
      return CollectiveOverLink::make(context);
    case Kernel::kLinkSend:
      return SendOverLink::make(context);
    default:
      return SessionOverLink::make(context);
  }
}

}  // namespace forebay::bench::read
