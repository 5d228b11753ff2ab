// SPDX-License-Identifier: Apache-2.0
// The program forebay-kernel-mpi: runs a kernel on the ranks of an MPI job with several backends,
// in rounds. Rank 0 writes one JSON object for each run to a file, so that an interruption loses no
// complete run, and progress to standard error.
#include <forebay/placement.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>
#include <sys/xattr.h>

#include "command/cli.hpp"
#include "kernels/runner.h"
#include "tools/kernel/forebay_backends.hpp"
#include "tools/kernel/kernel_plan.hpp"
#include "tools/kernel/runtimes.hpp"
#include "tools/probe/host_info.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::kernel {
namespace {

struct Request {
  std::string kernel;
  std::vector<std::string> backends;
  std::string directory;
  std::string results;
  std::uint32_t rounds = 1;
  Placement placement = Placement::kInRank;
  fk_input input = FK_WRITTEN;  // of all runs but the first
  std::string emufs_root;       // of a mount whose requests are counted; empty: none
  fk_settings settings{
      .compute_scale = 1, .cache = FK_AS_IT_IS, .input = FK_WRITTEN, .verify_steps = 1};
  probe::ProgressMode progress_mode = probe::ProgressMode::kSilent;
};

/// One backend with its options: "posix:direct".
struct Contender {
  std::string name;
  std::string options;
  const fk_backend* backend = nullptr;
};

std::vector<std::string> known_backends() {
  std::vector<std::string> names;
  for (const auto* const* backend = fk_backends; *backend != nullptr; ++backend)
    names.emplace_back((*backend)->name);
  return names;
}

Result<std::vector<Contender>> find_backends(const std::vector<std::string>& names) {
  std::vector<Contender> found;
  const std::vector<std::string> known = known_backends();
  for (const std::string& name : names) {
    const std::size_t end = std::min(name.find(':'), name.size());
    const auto at = std::ranges::find(known, name.substr(0, end));
    if (at == known.end())
      return failure({.kind = ErrorClass::kUnsupported,
                      .operation = "find backend",
                      .path = name,
                      .cause = "this program has " + CLI::detail::join(known, ", ")});
    found.push_back(
        {name, end < name.size() ? name.substr(end + 1) : "", fk_backends[at - known.begin()]});
  }
  return found;
}

/// Collective: a rank that fails alone must not leave the others waiting.
bool all_succeed(bool succeeds, MPI_Comm communicator) {
  int all = succeeds ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, communicator);
  return all == 1;
}

/// Requests at the servers of a mount of emufs during each timed read of a run. The attributes of
/// its root are JSON (docs/guides/emufs.md).
class RequestCounts {
 public:
  explicit RequestCounts(std::string root) : root_(std::move(root)) {}

  static void on_reads(void* self, fk_moment moment) {
    static_cast<RequestCounts*>(self)->observe(moment);
  }
  /// "requests": an element for each read.
  std::string to_member() const { return "\"requests\":[" + counts_ + "]"; }

 private:
  void observe(fk_moment moment) {
    if (moment == FK_READS_BEGIN) {
      ::setxattr(root_.c_str(), "user.emufs.reset", "1", 1, 0);
      return;
    }
    if (!counts_.empty()) counts_ += ",";
    counts_ += "{\"servers\":" + attribute("user.emufs.stat.servers.0") +
               ",\"metadata\":" + attribute("user.emufs.stat.metadata.0") + "}";
  }

  /// "null" if there is none. The first 100 servers.
  std::string attribute(const char* name) const {
    std::string value(64U << 10U, '\0');
    const ssize_t size = ::getxattr(root_.c_str(), name, value.data(), value.size());
    return size < 0 ? "null" : value.substr(0, static_cast<std::size_t>(size));
  }

  std::string root_;
  std::string counts_;
};

class Runs {
 public:
  Runs(const Request& request, const KernelPlan& plan, MPI_Comm communicator)
      : request_(request),
        plan_(plan),
        communicator_(communicator),
        progress_(request.progress_mode) {
    MPI_Comm_rank(communicator, &rank_);
  }

  /// The order rotates from round to round.
  Status run(const std::vector<Contender>& all) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        rank_ == 0 ? std::fopen(request_.results.c_str(), "w") : nullptr, &std::fclose);
    Status opened;
    if (rank_ == 0 && !file)
      opened = failure(system_error({.operation = "create", .path = request_.results}, errno));
    if (!all_succeed(opened.has_value(), communicator_)) return opened;
    const std::size_t total = request_.rounds * all.size();
    for (std::size_t done = 0; done < total; ++done) {
      const std::size_t round = done / all.size();
      const Contender& one = all[(done + round) % all.size()];
      report({done, total, "runs", one.name});
      run_one(one, done == 0 ? FK_WRITTEN : request_.input, file.get());
    }
    report({total, total, "runs", all.back().name});
    return {};
  }

 private:
  void report(const probe::ProgressStep& step) {
    if (rank_ == 0) progress_.report(step);
  }

  void run_one(const Contender& one, fk_input input, std::FILE* file) {
    // Before the clock starts.
    if (one.backend == &fk_forebay || one.backend == &fk_session) runtime_of(communicator_);
    fk_job job{};
    job.communicator = communicator_;
    job.rank = static_cast<std::uint32_t>(rank_);
    job.ranks = plan_.kernel().writers;
    job.kernel = &plan_.kernel();
    job.directory = request_.directory.c_str();
    job.options = one.options.c_str();
    fk_settings settings = request_.settings;
    settings.input = input;
    RequestCounts counts(request_.emufs_root);
    if (!request_.emufs_root.empty()) {
      settings.on_reads = RequestCounts::on_reads;
      settings.observer = &counts;
    }
    fk_result result{};
    fk_run(one.backend, &job, &settings, &result);
    const std::string requests = counts.to_member();
    if (settings.observer != nullptr) result.more = requests.c_str();
    if (file != nullptr) {
      fk_print_result(&result, one.name.c_str(), file);
      std::fflush(file);
    }
    fk_free_result(&result);
  }

  const Request& request_;
  const KernelPlan& plan_;
  const MPI_Comm communicator_;
  probe::Progress progress_;
  int rank_ = 0;
};

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all = text.data();
  return all.substr(0, all.find('\n'));
}

/// The ranks of the kernel; MPI_COMM_NULL on a rank that has served them.
Result<MPI_Comm> compute_ranks(const Request& request) {
  if (request.placement == Placement::kInRank) return MPI_COMM_WORLD;
  return start_dedicated(MPI_COMM_WORLD);
}

Status check_ranks(MPI_Comm communicator, const fk_kernel& kernel) {
  int ranks = 0;
  MPI_Comm_size(communicator, &ranks);
  if (static_cast<std::uint32_t>(ranks) == kernel.writers) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "run a kernel",
                  .path = kernel.name,
                  .cause = "it has " + std::to_string(kernel.writers) +
                           " writers, and the launcher started " + std::to_string(ranks) +
                           " ranks for them in one job"});
}

Result<nlohmann::json> run_kernel(const Request& request) {
  const auto plan = KernelPlan::read(request.kernel);
  const bool is_read = all_succeed(plan.has_value(), MPI_COMM_WORLD);
  if (!plan) return failure(plan.error());
  if (!is_read)
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "read a kernel",
                    .path = request.kernel,
                    .cause = "another rank cannot read it; name a --storage that all hosts share"});
  const auto all = find_backends(request.backends);
  if (!all) return failure(all.error());
  const auto communicator = compute_ranks(request);
  if (!communicator) return failure(communicator.error());
  Status done;
  if (*communicator != MPI_COMM_NULL) {
    done = check_ranks(*communicator, plan->kernel());
    if (done) done = Runs(request, *plan, *communicator).run(*all);
    end_runtimes();
  }
  if (!done) return failure(done.error());
  return nlohmann::json{{"mpi", mpi_library()},
                        {"machine", probe::to_json(probe::describe_host())}};
}

nlohmann::json list_backends() {
  nlohmann::json list = nlohmann::json::array();
  for (const auto* const* backend = fk_backends; *backend != nullptr; ++backend)
    list.push_back({{"name", (*backend)->name},
                    {"options", (*backend)->options},
                    {"library", (*backend)->library == nullptr ? "" : (*backend)->library},
                    {"reads", (*backend)->begin_read != nullptr}});
  return list;
}

command::Run declare_run(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  command::add_path(app, "kernel", request->kernel, "The kernel, a JSON document")->required();
  command::add_values(
      app, "--on", "NAME", [request](const auto& names) { request->backends = names; },
      "Backend, with options after a colon; may be repeated")
      ->required();
  command::add_text(app, "--dir", "PATH", request->directory, "Empty directory")->required();
  command::add_text(app, "--results", "FILE", request->results, "A JSON line for each run")
      ->required();
  command::add_number(app, "--rounds", request->rounds, {1, 1000}, "Rounds");
  command::add_flag(app, "--cold", request->settings.cache, FK_COLD,
                    "Drop data from the page cache before reads");
  command::add_flag(app, "--keep-input", request->input, FK_KEPT,
                    "Only the first run makes the writes before the first step; all backends must "
                    "store them alike");
  command::add_text(app, "--count-requests", "ROOT", request->emufs_root,
                    "Root of a mount of emufs: count the requests of each timed read");
  command::add_flag(app, "--verify-all", request->settings.verify_steps, -1,
                    "Verify the content of all steps, not only of the last one");
  command::add_flag(app, "--dedicated", request->placement, Placement::kDedicated,
                    "Start one more rank on each node, which does the I/O of Forebay");
  command::add_choice<fk_compute>(app, "--compute", request->settings.compute,
                                  {{"cpu", FK_CPU}, {"memory", FK_MEMORY}}, "Computation [cpu]");
  command::add_real(app, "--compute-scale", request->settings.compute_scale, {0, 1e6},
                    "Factor of the time of computation");
  command::add_progress(app, request->progress_mode);
  return [request] {
    const auto document = run_kernel(*request);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int code = document ? probe::kExitSuccess : probe::kExitFailure;
    return command::CommandResult{.exit_code = rank == 0 ? probe::print_document(document) : code};
  };
}

command::Run declare_list(CLI::App& /*app*/) {
  return [] {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return command::CommandResult{.exit_code =
                                      rank == 0 ? probe::print_document(list_backends()) : 0};
  };
}

const std::array kCommands{
    command::Command{"run", "Run a kernel with backends.", declare_run},
    command::Command{"list", "List the backends of this program.", declare_list}};

command::CommandResult run(command::Words words) {
  CLI::App app("Run I/O kernels under MPI; print one JSON document.", "forebay-kernel-mpi");
  return command::run(app, words, kCommands);
}

}  // namespace
}  // namespace forebay::kernel

int main(int count, char** words) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  const int code = forebay::command::run_and_print(count, words, forebay::kernel::run);
  MPI_Finalize();
  return code;
}
