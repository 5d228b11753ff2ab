// SPDX-License-Identifier: Apache-2.0
// Kernels for measurements on two hosts: the clients, all ranks but those of the first node, read
// interleaved wide strides from an emulated file server, themselves or through the agent of the
// first node. Each job mounts a copy of the file on both hosts, at the same path, so caches are
// cold. Only one host reads at a time. A rank's result is the time of its reads. In other kernels
// one client reads a chain: each word that it reads decides the next offset.
//
// Ranks that have finished sleep until all others have: waiting in MPI, they would use cores of the
// clients that still read.
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/foresight/replay.hpp"
#include "bench/read/kernels.hpp"

namespace forebay::bench::read {

namespace {

namespace fs = std::filesystem;
using foresight::Replay;

constexpr std::chrono::milliseconds kSleepInterval{1};
constexpr std::uint64_t kReadBytes = 1024;
constexpr std::chrono::microseconds kThink{5500};  ///< longer than a request takes
constexpr comm::Tag kFinished{4};

class ClientReads final : public PreparedRun {
 public:
  static Result<std::unique_ptr<PreparedRun>> make(const KernelContext& context) {
    std::unique_ptr<ClientReads> reads(new ClientReads(context));
    comm::Communicator& ranks = context.ranks;
    if (auto done = ranks.agree(reads->mount()); !done) return failure(done.error());
    if (auto done = ranks.agree(reads->open()); !done) return failure(done.error());
    return reads;
  }

  Status run() override {
    const Status read = is_client() ? read_all() : serve();
    const Status finished = wait_for_all();
    const Status ended = end();
    for (const Status* outcome : {&read, &finished, &ended}) {
      if (!*outcome) return *outcome;
    }
    return {};
  }
  double rank_result() const override { return seconds_; }

 private:
  explicit ClientReads(const KernelContext& context)
      : ranks_(context.ranks),
        of_runtime_(context.team.to_ranks()),
        job_(context.job),
        agents_(context.ranks.nodes().ranks_of({0}).size()),
        replay_{.path = mount_parent() / "emufs-nfs" / "words"} {
    if (is_chain()) {
      replay_.plan.pre_execution_mode = PreExecutionMode::kAgent;
      replay_.think = kThink;
      const bool is_reader = ranks_.rank().number + 1 == ranks_.size();
      if (is_reader) replay_.reads = foresight::chain(job_.file_bytes, job_.task_count);
      return;
    }
    replay_.plan.tuning.agent_nodes = {0};
    if (!is_client()) return;
    const std::uint64_t clients = ranks_.size() - agents_;
    const std::uint64_t stride = job_.file_bytes / job_.task_count;
    const std::uint64_t first = stride / clients * (ranks_.rank().number - agents_);
    for (std::uint64_t i = 0; i < job_.task_count; ++i)
      replay_.reads.push_back({first + stride * i, kReadBytes});
  }

  bool is_client() const { return ranks_.rank().number >= agents_; }
  bool is_chain() const {
    return job_.kernel == Kernel::kChainSession || job_.kernel == Kernel::kChainPlain;
  }
  bool is_plain() const {
    return job_.kernel == Kernel::kPushPlain || job_.kernel == Kernel::kChainPlain;
  }
  bool has_mount() const {
    return ranks_.nodes().leader_of(ranks_.nodes().node_of(ranks_.rank())) == ranks_.rank();
  }
  fs::path mount_parent() const { return job_.partition().path.parent_path() / "push"; }

  Status mount() {
    if (!has_mount()) return {};
    auto mounted = emufs::EmufsMount::make(
        mount_parent(), {.machine = "nfs",
                         .arguments = {},
                         .backing_name = "backing-" + std::to_string(ranks_.rank().number)});
    if (!mounted) return failure(mounted.error());
    mounted_ = std::move(*mounted);
    const auto created = mounted_->create_file("words", job_.file_bytes, job_.partition().path);
    return created ? Status() : failure(created.error());
  }

  Status open() {
    if (is_plain()) return {};
    runtime_ = std::make_unique<Runtime>(of_runtime_);
    const auto make_next = [reads = job_.task_count](const Session& session,
                                                     std::span<const std::byte> /*argument*/) {
      return foresight::next_of_chain(session, reads);
    };
    if (auto known = runtime_->register_next_reads("chain", make_next); !known) return known;
    auto file = runtime_->open_file(replay_.path.string());
    if (!file) return failure(file.error());
    auto session = file->read_session({}, replay_.plan);
    if (!session) return failure(session.error());
    session_ = std::move(*session);
    return {};
  }

  Status read_all() {
    if (replay_.reads.empty()) return {};
    if (job_.kernel == Kernel::kChainSession) {
      if (auto started = session_->preexecute("chain"); !started) return started;
    }
    const auto seconds =
        is_plain() ? foresight::time_plain(replay_, POSIX_FADV_NORMAL)
                   : foresight::time_reads(
                         replay_, [&](const trace::Access& access, std::span<std::byte> into) {
                           auto done = session_->read(access.offset, into).wait();
                           return done ? Status() : failure(done.error());
                         });
    if (!seconds) return failure(seconds.error());
    seconds_ = *seconds;
    return {};
  }

  /// The first rank's agent ends after a quarter of the file, or with the job.
  Status serve() {
    if (job_.kernel != Kernel::kPushAgentEnds || !has_mount()) return {};
    while (session_->report().bytes_read < job_.file_bytes / 4)
      std::this_thread::sleep_for(kSleepInterval);
    session_.reset();
    runtime_.reset();
    return {};
  }

  Status wait_for_all() const {
    std::array<std::byte, 1> word{};
    if (ranks_.rank().number != 0) {
      if (auto sent = ranks_.send(word, {0}, kFinished).wait(); !sent) return sent;
      return wait_asleep(ranks_.receive(word, {0}, kFinished));
    }
    for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) {
      if (auto done = wait_asleep(ranks_.receive(word, {rank}, kFinished)); !done) return done;
    }
    for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) {
      if (auto sent = ranks_.send(word, {rank}, kFinished).wait(); !sent) return sent;
    }
    return {};
  }

  /// The next job mounts only after both hosts have unmounted.
  Status end() {
    session_.reset();
    runtime_.reset();
    if (auto done = ranks_.barrier(); !done) return done;
    mounted_.reset();
    return ranks_.barrier();
  }

  comm::Communicator& ranks_;
  const Ranks of_runtime_;
  const Job job_;
  const std::size_t agents_;  ///< ranks of the first node
  Replay replay_;
  std::unique_ptr<emufs::EmufsMount> mounted_;  // on the first rank of each node
  std::unique_ptr<Runtime> runtime_;
  std::optional<Session> session_;
  double seconds_ = 0;
};

}  // namespace

Result<std::unique_ptr<PreparedRun>> prepare_push(const KernelContext& context) {
  return ClientReads::make(context);
}

}  // namespace forebay::bench::read
