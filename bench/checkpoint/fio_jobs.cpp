// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/fio_jobs.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bench/checkpoint/run_files.hpp"
#include "bench/frame/child_process.hpp"

namespace forebay::bench::checkpoint {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMebibyte = 1ULL << 20U;
constexpr int kTries = 2;

/// With pages of 4 KiB, requests have one segment for each page: on a virtual disk a third of the
/// speed.
constexpr std::string_view kHugePages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

/// Common settings for throughput.
constexpr std::array kSettings = {
    FioSetting{.jobs = 1, .request_bytes = 1 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 1, .request_bytes = 1 * kMebibyte, .depth = 32},
    FioSetting{.jobs = 1, .request_bytes = 4 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 1, .request_bytes = 4 * kMebibyte, .depth = 16},
    FioSetting{.jobs = 4, .request_bytes = 1 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 4, .request_bytes = 1 * kMebibyte, .depth = 16},
    FioSetting{.jobs = 4, .request_bytes = 4 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 1,
               .request_bytes = 4 * kMebibyte,
               .depth = 4,
               .allocation = FioAllocation::kOnWrite},
    FioSetting{.jobs = 4,
               .request_bytes = 1 * kMebibyte,
               .depth = 16,
               .allocation = FioAllocation::kOnWrite},
};

tl::unexpected<Error> report_failure(const std::filesystem::path& report,
                                     const std::string& cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read the report of fio",
                  .path = report.string(),
                  .cause = cause});
}

/// Seconds of all jobs, which fio reports as one.
Result<double> seconds_in(const std::filesystem::path& report,
                          const std::string& direction,
                          std::uint64_t total_bytes) {
  std::ifstream text(report);
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return report_failure(report, "it is not JSON");
  try {
    const json& job = document.at("jobs").at(0);
    const json& part = job.at(direction);
    const double moved = part.at("io_bytes").get<double>();
    const double bandwidth = part.at("bw_bytes").get<double>();
    if (job.at("error").get<int>() != 0 || moved != static_cast<double>(total_bytes))
      return report_failure(report, "it transferred " + std::to_string(moved) + " bytes");
    if (bandwidth <= 0) return report_failure(report, "it took no time");
    return moved / bandwidth;
  } catch (const json::exception& problem) {
    return report_failure(report, problem.what());
  }
}

Result<double> run(const std::string& direction,
                   const std::filesystem::path& directory,
                   std::uint64_t total_bytes,
                   const FioSetting& setting) {
  const std::filesystem::path report = directory / "report.json";
  const std::uint64_t job_bytes = total_bytes / setting.jobs;
  const std::uint64_t request_bytes = std::min(setting.request_bytes, job_bytes);
  const std::string fallocate =
      setting.allocation == FioAllocation::kPreallocated ? "--fallocate=posix" : "--fallocate=none";
  const Status ran = run_child(
      {"fio", "--name=load", "--rw=" + direction, "--numjobs=" + std::to_string(setting.jobs),
       "--group_reporting", "--bs=" + std::to_string(request_bytes),
       "--iodepth=" + std::to_string(setting.depth), "--size=" + std::to_string(job_bytes),
       "--ioengine=io_uring", "--direct=1", "--thread=1", fallocate, "--end_fsync=1",
       "--output-format=json", "--output=" + report.string(), "--directory=" + directory.string()},
      {std::string(kHugePages)});
  if (!ran) return failure(ran.error());
  return seconds_in(report, direction, total_bytes);
}

/// Seconds of fio with this setting, on new files.
Result<double> run_write(const std::filesystem::path& directory,
                         std::uint64_t bytes,
                         const FioSetting& setting) {
  if (auto made = make_empty_on_storage(directory); !made) return failure(made.error());
  return fio_write(directory, bytes, setting);
}

/// On new files, too, because files that were just read are faster.
Result<double> run_read(const std::filesystem::path& directory,
                        std::uint64_t bytes,
                        const FioSetting& setting) {
  if (auto written = run_write(directory, bytes, setting); !written) return written;
  return fio_read(directory, bytes, setting);
}

/// A setting that failed once is excluded, because the best one must work in each round.
void add_result(const FioSetting& setting, const Result<double>& seconds, FioTuning& best) {
  if (!seconds) {
    best.failures.emplace(text_of(setting), seconds.error().message());
    return;
  }
  best.trials.push_back({setting, *seconds});
}

bool has_failed(const FioSetting& setting, const FioTuning& best) {
  return best.failures.contains(text_of(setting));
}

void select_best(FioTuning& best) {
  for (const FioTrial& one : best.trials) {
    if (has_failed(one.setting, best)) continue;
    if (!best.fastest || one.seconds < best.fastest->seconds) best.fastest = one;
  }
}

}  // namespace

std::string fio_unavailable_reason() {
  return find_program("fio").empty() ? "fio is not installed (Debian: fio)" : "";
}

std::string text_of(const FioSetting& setting) {
  return std::to_string(setting.jobs) + (setting.jobs == 1 ? " job, " : " jobs, ") +
         std::to_string(setting.request_bytes / kMebibyte) + " MiB, depth " +
         std::to_string(setting.depth) +
         (setting.allocation == FioAllocation::kPreallocated ? ", reserved" : ", not reserved");
}

Result<double> fio_write(const std::filesystem::path& directory,
                         std::uint64_t total_bytes,
                         const FioSetting& setting) {
  return run("write", directory, total_bytes, setting);
}

Result<double> fio_read(const std::filesystem::path& directory,
                        std::uint64_t total_bytes,
                        const FioSetting& setting) {
  return run("read", directory, total_bytes, setting);
}

std::string failure_reason(const FioTuning& best) {
  if (best.fastest || best.failures.empty()) return "";
  const auto& [setting, why] = *best.failures.begin();
  return "no setting of fio works; with " + setting + ": " + why;
}

FioTunings tune_fio_settings(const std::filesystem::path& directory, const FioSizes& sizes) {
  FioTunings choice;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (const FioSetting& setting : kSettings) {
      if (sizes.written_bytes > 0 && !has_failed(setting, choice.writing))
        add_result(setting, run_write(directory, sizes.written_bytes, setting), choice.writing);
      if (sizes.read_bytes > 0 && !has_failed(setting, choice.reading))
        add_result(setting, run_read(directory, sizes.read_bytes, setting), choice.reading);
    }
  }
  (void)make_empty(directory);
  select_best(choice.writing);
  select_best(choice.reading);
  return choice;
}

}  // namespace forebay::bench::checkpoint
