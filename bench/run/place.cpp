// SPDX-License-Identifier: Apache-2.0
#include "bench/run/place.hpp"

#include <forebay/range.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "bench/frame/clock.hpp"
#include "bench/run/run_agent.hpp"

namespace forebay::bench::run {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kFilesBytes = 1_GiB;  ///< of all files, twice
/// Clients of NFS keep attributes for 3 s (acregmin), those of Lustre as long as they have a lock.
const std::vector<std::string> kClientCaches = {"--attribute-cache", "3"};
constexpr std::size_t kShownBytes = 300;  ///< of the output of a program that fails

fs::path programs_path() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::string content_of(const fs::path& path) {
  std::stringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

/// $N.
unsigned reads_of(const Context& context) { return context.choose(200U, 20U); }

Status run_shell(const std::string& command, const EnvironmentVariables& settings) {
  return run_child({"sh", "-c", command}, settings);
}

}  // namespace

Result<std::unique_ptr<Place>> Place::make(Context& context, const std::string& machine) {
  const fs::path files = context.directory() / "files";
  if (!fs::exists(files)) {
    if (auto fits = context.require_space(kFilesBytes); !fits) return failure(fits.error());
    const std::string script = (programs_path() / "forebay-bench-programs.py").string();
    auto made = run_child({"python3", "-W", "ignore", script, "make", files.string(),
                           std::to_string(reads_of(context))});
    if (!made) return failure(made.error());
  }
  auto mounted = emufs::EmufsMount::make(context.directory(),
                                         {.machine = machine, .arguments = kClientCaches});
  if (!mounted) return failure(mounted.error());
  std::unique_ptr<Place> place(new Place(context, std::move(*mounted)));
  if (auto published = place->publish(files); !published) return failure(published.error());
  return place;
}

Status Place::publish(const fs::path& files) {
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(files)) {
    const fs::path name = fs::relative(entry.path(), files);
    if (entry.is_directory())
      fs::create_directory(mounted_->path() / name, failed);
    else if (auto made = mounted_->create_file(name.string(), 0, entry.path()); !made)
      return failure(made.error());
    if (failed)
      return failure(system_error({.operation = "create", .path = name.string()}, failed.value()));
  }
  return drop_caches();
}

EnvironmentVariables Place::variables() const {
  const unsigned reads = reads_of(context_);
  return {"DIR=" + mounted_->path().string(), "BIN=" + programs_path().string(),
          "N=" + std::to_string(reads),       "ORDER=" + random_order(reads),
          "PYTHONDONTWRITEBYTECODE=1",        "COPY=" + (context_.directory() / "copy").string()};
}

std::string Place::unavailable_reason(const Program& program) const {
  const bool is_available =
      program.needs.empty() || run_shell("{ " + program.needs + "; } 2> /dev/null", variables());
  return is_available ? "" : "it requires: " + program.needs;
}

Result<double> Place::time(const Program& program, const EnvironmentVariables& settings) {
  EnvironmentVariables all = variables();
  all.insert(all.end(), settings.begin(), settings.end());
  const std::string output = (context_.directory() / "output").string();
  const std::string command =
      "{ " + program.command + "; } > " + output + " 2>&1; " + "echo \"status $?\" >> " + output;
  const Stopwatch watch;
  if (auto done = run_shell(command, all); !done) return failure(done.error());
  const double seconds = watch.seconds();
  if (auto same = compare(program); !same) return failure(same.error());
  return seconds;
}

Status Place::compare(const Program& program) {
  const fs::path copy = context_.directory() / "copy";
  std::string content = content_of(context_.directory() / "output");
  const bool has_status = content.ends_with("status " + std::to_string(program.status) + "\n");
  const ErrorDetails differs{.kind = ErrorClass::kDamage,
                             .operation = "run " + program.name,
                             .cause = "its output or exit status differs between runs"};
  const std::string shown = content.substr(content.size() - std::min(content.size(), kShownBytes));
  if (fs::exists(copy)) {
    content += content_of(copy);
    fs::remove(copy);
  }
  const auto [known, is_first] = outputs_.try_emplace(program.name, content);
  if (!is_first && known->second != content) return failure(differs);
  if (has_status) return {};
  return failure(
      {.kind = ErrorClass::kIo, .operation = differs.operation, .cause = "it failed: " + shown});
}

Result<double> Place::time_with_agent(const Program& program, const fs::path& profiles) {
  auto agent = RunAgent::start(profiles);
  if (!agent) return failure(agent.error());
  return time(program, (*agent)->environment());
}

fs::path Place::new_profiles() {
  return context_.directory() / ("profiles-" + std::to_string(++profiles_));
}

}  // namespace forebay::bench::run
