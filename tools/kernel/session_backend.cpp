// SPDX-License-Identifier: Apache-2.0
// Forebay's sessions as a backend of kernels. The file of a step is written as posix:shared writes
// it, and each rank reads its calls from one session of that file.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runner/task.hpp"
#include "tools/kernel/backend_functions.hpp"
#include "tools/kernel/forebay_backends.hpp"
#include "tools/kernel/runtimes.hpp"

namespace forebay::kernel {

namespace {

runner::Task read_call(const Session& session, std::uint64_t offset, std::span<std::byte> into) {
  const Result<ByteCount> done = co_await session.read(offset, into);
  if (!done) co_return failure(done.error());
  co_return Status();
}

class SessionRun {
 public:
  explicit SessionRun(fk_job& job) : job_(job), runtime_(runtime_of(job.communicator)) {}

  int start() {
    if (fk_has_option(&job_, "per-node") != 0 && fk_has_option(&job_, "per-rank") != 0)
      fk_fail(&job_, "read options of", "session", "agents are per-node or per-rank, not both");
    shared_job_ = job_;
    shared_job_.options = "shared";
    shared_file_ = fk_posix.start(&shared_job_);
    return keep_error(shared_file_ != nullptr ? 0 : -1);
  }

  int begin_write(const fk_array* arrays, std::size_t count) {
    shared_job_.group = job_.group;
    return keep_error(fk_posix.begin_write(shared_file_, arrays, count));
  }
  static void* memory(const fk_array& /*array*/, void* own) { return own; }
  int write(const fk_array& array, const void* memory) {
    return keep_error(fk_posix.write(shared_file_, &array, memory));
  }
  int end_write() { return keep_error(fk_posix.end_write(shared_file_)); }

  int begin_read(const fk_array* arrays) {
    arrays_ = arrays;
    std::array<char, FK_PATH_MAX> path{};
    fk_step_path(&job_, "step", arrays->step, "", path.data());
    auto file = runtime_.open_file(path.data());
    if (!file) return fail(file.error());
    file_.emplace(std::move(*file));
    auto session = file_->read_session({}, plan());
    if (!session) return fail(session.error());
    session_.emplace(std::move(*session));
    return 0;
  }

  /// A task for each call, as a read continues only while its Future is polled.
  int read(const fk_array& array, const fk_calls& calls, std::byte* memory) {
    if (!session_) return -1;
    const std::uint64_t begin = fk_begin_in_step(arrays_, &array, job_.ranks);
    runner::TaskGroup group(runtime_.event_loop());
    for (const fk_call& call : std::span(calls.calls, calls.count)) {
      group.spawn(read_call(*session_, begin + call.offset, std::span(memory, call.bytes)));
      memory += call.bytes;
    }
    const Status done = group.run();
    return done ? 0 : fail(done.error());
  }

  int end_read() {
    if (session_) {
      // The ranks of a node share its window.
      const bool is_shared = session_->plan().tuning.agent_scope == AgentScope::kPerNode;
      if (!is_shared || job_.node_rank == 0)
        window_bytes_max_ = std::max(window_bytes_max_, session_->report().window_bytes);
      session_->close();
    }
    session_.reset();
    file_.reset();
    return 0;
  }

  static int make_durable() { return 0; }

  void report(fk_report& report) const { report.staging_bytes = window_bytes_max_; }

  int finish() { return keep_error(fk_posix.finish(shared_file_)); }

 private:
  int fail(const Error& error) { return kernel::fail(job_, error); }
  int keep_error(int outcome) {
    if (outcome != 0 && job_.error[0] == '\0')
      std::memcpy(job_.error, shared_job_.error, sizeof job_.error);
    return outcome;
  }

  /// What no option states is left open.
  ReadPlan plan() const {
    const auto bytes = [this](const char* name, unsigned shift) {
      return static_cast<std::uint64_t>(fk_option_number(&job_, name, 0)) << shift;
    };
    ReadPlan plan;
    plan.tuning.splinter_bytes = bytes("splinter_kib", 10);
    plan.tuning.request_bytes = bytes("request_kib", 10);
    plan.tuning.window_bytes = bytes("window_mib", 20);
    plan.tuning.queue_depth = static_cast<std::uint32_t>(fk_option_number(&job_, "depth", 0));
    if (fk_has_option(&job_, "per-node") != 0) plan.tuning.agent_scope = AgentScope::kPerNode;
    if (fk_has_option(&job_, "per-rank") != 0) plan.tuning.agent_scope = AgentScope::kPerRank;
    return plan;
  }

  fk_job& job_;
  Runtime& runtime_;
  fk_job shared_job_{};
  void* shared_file_ = nullptr;
  const fk_array* arrays_ = nullptr;
  std::optional<File> file_;
  std::optional<Session> session_;
  std::uint64_t window_bytes_max_ = 0;
};

}  // namespace
}  // namespace forebay::kernel

const fk_backend fk_session = forebay::kernel::with_functions_of<forebay::kernel::SessionRun>({
    .name = "session",
    .options =
        "sessions read one file for each step: auto (default), per-node, per-rank; splinter_kib=N, "
        "request_kib=N, depth=N, window_mib=N",
    .accepts = "auto,per-node,per-rank,splinter_kib=,request_kib=,depth=,window_mib=",
});
