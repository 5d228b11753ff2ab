// SPDX-License-Identifier: Apache-2.0
// The program forebay-run-agent: reads ahead for the processes of one `forebay run` on this node.
// It ends when the last launcher of the job has ended.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "command/cli.hpp"
#include "tools/run/job.hpp"
#include "tools/run/launcher_socket.hpp"

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
  Job::Options job;
};

Result<Json> serve(const Arguments& arguments) {
  auto made = Job::create(arguments.job);
  if (!made) return failure(made.error());
  Job& job = **made;
  const Json greeting = {{"memory", job.memory_path()}};
  auto socket = LauncherSocket::listen(arguments.name, greeting.dump(), [&job] { job.wake(); });
  if (!socket) return failure(socket.error());
  for (int quiet = kQuietIntervals; !(*socket)->has_ended();) {
    const Job::Activity activity = job.poll();
    if (activity == Job::Activity::kFast) quiet = 0;
    if (activity == Job::Activity::kSlow) quiet = kQuietIntervals;
    if (quiet++ < kQuietIntervals)
      std::this_thread::sleep_for(kFastInterval);
    else
      job.sleep(kIdleSleep);
  }
  job.finish();
  const Json report = job.report();
  (*socket)->send_report(report.dump());
  return report;
}

command::CommandResult run(command::Words words) {
  CLI::App app("Read ahead for the processes of one job on this node", "forebay-run-agent");
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("--name", arguments->name, "Name of the job")->required();
  app.add_option("--profiles", arguments->job.profile_folder, "Directory of profiles");
  return command::run(app, words, [arguments] { return command::make_result(serve(*arguments)); });
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::run
