// SPDX-License-Identifier: Apache-2.0
// The program forebay-run-agent: reads ahead for the processes of one `forebay run` on this node.
// It ends when the last launcher of the job has ended.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "command/cli.hpp"
#include "tools/run/foresight.hpp"
#include "tools/run/job_records.hpp"
#include "tools/run/launcher_socket.hpp"
#include "tools/run/trace_output.hpp"

namespace forebay::run {
namespace {

using command::Json;

/// The agent sleeps at most this long until a process wakes it.
constexpr std::chrono::milliseconds kIdleSleep{100};
/// While reads are fast, a wake-up by each of them would cost the program more than it gains. So
/// the agent looks at this interval, and sleeps after this number of intervals without a read.
constexpr std::chrono::microseconds kFastInterval{300};
constexpr int kQuietIntervals = 100;

struct Arguments {
  std::string name;
  std::string trace_path;  ///< not empty: records alone
  Foresight::Options foresight;
};

/// A job may have many files, and ends for no reason of this process but an error. Profiles are for
/// their user alone: they have paths and command lines.
void prepare_process(const Arguments& arguments) {
  if (arguments.trace_path.empty()) ::umask(S_IRWXG | S_IRWXO);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  for (const int number : {SIGPIPE, SIGXFSZ, SIGHUP})
    ::signal(number, SIG_IGN);
}

/// Serves the processes of the job until the last launcher has ended. The first launcher receives
/// `greeting`.
Result<Json> serve(const std::string& name,
                   JobRecords& records,
                   const std::function<Json()>& finish) {
  const Json greeting = {{"memory", records.memory_path()}};
  auto socket =
      LauncherSocket::listen(name, command::dump(greeting, -1), [&records] { records.wake(); });
  if (!socket) return failure(socket.error());
  for (int quiet = kQuietIntervals; !(*socket)->has_ended();) {
    const Activity activity = records.poll();
    if (activity == Activity::kFast) quiet = 0;
    if (activity == Activity::kSlow) quiet = kQuietIntervals;
    if (quiet++ < kQuietIntervals)
      std::this_thread::sleep_for(kFastInterval);
    else
      records.sleep(kIdleSleep);
  }
  records.finish();
  Json report = finish();
  const JobRecords::Counts counts = records.counts();
  report["processes"] = counts.processes;
  report["programs"] = records.programs();
  report["lost_records"] = counts.lost_records;
  report["lost_files"] = counts.lost_files;
  report["unrecorded_threads"] = counts.unrecorded_threads;
  report["unrecorded_processes"] = counts.unrecorded_processes;
  (*socket)->send_report(command::dump(report, -1));
  return report;
}

template <class Observer>
Result<Json> serve(const std::string& name, Result<std::unique_ptr<Observer>> observer) {
  auto records = observer ? JobRecords::create(**observer)
                          : Result<std::unique_ptr<JobRecords>>(failure(observer.error()));
  if (records) return serve(name, **records, [&observer] { return (*observer)->finish(); });
  // The launcher reports it. An error of its options stops it before the program.
  const Json greeting = {{observer ? "failed" : "refused", records.error().message()}};
  auto socket = LauncherSocket::listen(name, command::dump(greeting, -1), [] {});
  return failure(records.error());
}

Result<Json> serve(const Arguments& arguments) {
  prepare_process(arguments);
  return arguments.trace_path.empty()
             ? serve(arguments.name, Foresight::create(arguments.foresight))
             : serve(arguments.name, TraceOutput::create(arguments.trace_path));
}

command::CommandResult run(command::Words words) {
  CLI::App app("Read ahead for the processes of one job on this node", "forebay-run-agent");
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("--name", arguments->name, "Name of the job")->required();
  app.add_option("--profiles", arguments->foresight.profile_folder, "Directory of profiles");
  app.add_option("--hints", arguments->foresight.hints_path, "Hint file for all processes");
  app.add_option("--trace", arguments->trace_path, "Write a trace, and read nothing ahead");
  return command::run(app, words, [arguments] { return command::make_result(serve(*arguments)); });
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::run
