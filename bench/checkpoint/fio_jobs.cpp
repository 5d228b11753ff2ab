// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/fio_jobs.hpp"

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include "bench/frame/child.hpp"

namespace forebay::bench::checkpoint {

namespace {

using nlohmann::json;

constexpr std::uint64_t kJobs = 4;
constexpr std::uint64_t kRequestBytes = 4ULL << 20U;

tl::unexpected<Error> no_report(const std::filesystem::path& report, const std::string& cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read the report of fio",
                  .path = report.string(),
                  .cause = cause});
}

/// Of all jobs: fio reports them as one.
Result<double> seconds_in(const std::filesystem::path& report,
                          const std::string& direction,
                          std::uint64_t total_bytes) {
  std::ifstream text(report);
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return no_report(report, "it is no JSON");
  try {
    const json& job = document.at("jobs").at(0);
    const json& part = job.at(direction);
    const double moved = part.at("io_bytes").get<double>();
    const double bandwidth = part.at("bw_bytes").get<double>();
    if (job.at("error").get<int>() != 0 || moved != static_cast<double>(total_bytes))
      return no_report(report, "it moved " + std::to_string(moved) + " bytes");
    if (bandwidth <= 0) return no_report(report, "it took no time");
    return moved / bandwidth;
  } catch (const json::exception& problem) {
    return no_report(report, problem.what());
  }
}

Result<double> run(const std::string& direction,
                   const std::filesystem::path& folder,
                   std::uint64_t total_bytes) {
  const std::filesystem::path report = folder / "report.json";
  const Status ran = run_child(
      {"fio", "--name=load", "--rw=" + direction, "--numjobs=" + std::to_string(kJobs),
       "--group_reporting", "--bs=" + std::to_string(std::min(kRequestBytes, total_bytes / kJobs)),
       "--iodepth=4", "--size=" + std::to_string(total_bytes / kJobs), "--ioengine=io_uring",
       "--direct=1", "--thread=1", "--fallocate=posix", "--end_fsync=1", "--output-format=json",
       "--output=" + report.string(), "--directory=" + folder.string()});
  if (!ran) return tl::unexpected<Error>(ran.error());
  return seconds_in(report, direction, total_bytes);
}

}  // namespace

std::string why_no_fio_jobs() {
  return find_program("fio").empty() ? "fio is not installed (Debian: fio)" : "";
}

Result<double> fio_write(const std::filesystem::path& folder, std::uint64_t total_bytes) {
  return run("write", folder, total_bytes);
}

Result<double> fio_read(const std::filesystem::path& folder, std::uint64_t total_bytes) {
  return run("read", folder, total_bytes);
}

}  // namespace forebay::bench::checkpoint
