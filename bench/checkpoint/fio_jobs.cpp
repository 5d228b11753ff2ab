// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/fio_jobs.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bench/checkpoint/stored.hpp"
#include "bench/frame/child.hpp"

namespace forebay::bench::checkpoint {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMebibyte = 1ULL << 20U;
constexpr int kTries = 2;

/// Of pages of 4 KiB, requests are made of as many pieces: on a virtual disk a third of the speed.
constexpr std::string_view kHugePages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

/// As its users set it up for throughput.
constexpr std::array kSettings = {
    FioSetting{.jobs = 1, .request_bytes = 1 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 1, .request_bytes = 1 * kMebibyte, .depth = 32},
    FioSetting{.jobs = 1, .request_bytes = 4 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 1, .request_bytes = 4 * kMebibyte, .depth = 16},
    FioSetting{.jobs = 4, .request_bytes = 1 * kMebibyte, .depth = 4},
    FioSetting{.jobs = 4, .request_bytes = 1 * kMebibyte, .depth = 16},
    FioSetting{.jobs = 4, .request_bytes = 4 * kMebibyte, .depth = 4},
    FioSetting{
        .jobs = 1, .request_bytes = 4 * kMebibyte, .depth = 4, .space = FioSpace::kAsWritten},
    FioSetting{
        .jobs = 4, .request_bytes = 1 * kMebibyte, .depth = 16, .space = FioSpace::kAsWritten},
};

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
                   std::uint64_t total_bytes,
                   const FioSetting& setting) {
  const std::filesystem::path report = folder / "report.json";
  const std::uint64_t job_bytes = total_bytes / setting.jobs;
  const std::uint64_t request_bytes = std::min(setting.request_bytes, job_bytes);
  const std::string fallocate =
      setting.space == FioSpace::kReserved ? "--fallocate=posix" : "--fallocate=none";
  const Status ran = run_child(
      {"fio", "--name=load", "--rw=" + direction, "--numjobs=" + std::to_string(setting.jobs),
       "--group_reporting", "--bs=" + std::to_string(request_bytes),
       "--iodepth=" + std::to_string(setting.depth), "--size=" + std::to_string(job_bytes),
       "--ioengine=io_uring", "--direct=1", "--thread=1", fallocate, "--end_fsync=1",
       "--output-format=json", "--output=" + report.string(), "--directory=" + folder.string()},
      {std::string(kHugePages)});
  if (!ran) return failure(ran.error());
  return seconds_in(report, direction, total_bytes);
}

/// Seconds of fio with this setting, on new files.
Result<double> try_writing(const std::filesystem::path& folder,
                           std::uint64_t bytes,
                           const FioSetting& setting) {
  if (auto made = make_empty_on_storage(folder); !made) return failure(made.error());
  return fio_write(folder, bytes, setting);
}

/// New files, too: what was just read is fast.
Result<double> try_reading(const std::filesystem::path& folder,
                           std::uint64_t bytes,
                           const FioSetting& setting) {
  if (auto written = try_writing(folder, bytes, setting); !written) return written;
  return fio_read(folder, bytes, setting);
}

/// A setting that failed once is out of the choice: others are to be beaten in each round.
void note(const FioSetting& setting, const Result<double>& seconds, FioBest& best) {
  if (!seconds) {
    best.failed.emplace(text_of(setting), seconds.error().message());
    return;
  }
  best.tried.push_back({setting, *seconds});
}

bool has_failed(const FioSetting& setting, const FioBest& best) {
  return best.failed.contains(text_of(setting));
}

void choose(FioBest& best) {
  for (const FioTried& one : best.tried) {
    if (has_failed(one.setting, best)) continue;
    if (!best.chosen || one.seconds < best.chosen->seconds) best.chosen = one;
  }
}

}  // namespace

std::string why_no_fio_jobs() {
  return find_program("fio").empty() ? "fio is not installed (Debian: fio)" : "";
}

std::string text_of(const FioSetting& setting) {
  return std::to_string(setting.jobs) + (setting.jobs == 1 ? " job, " : " jobs, ") +
         std::to_string(setting.request_bytes / kMebibyte) + " MiB, depth " +
         std::to_string(setting.depth) +
         (setting.space == FioSpace::kReserved ? ", reserved" : ", not reserved");
}

Result<double> fio_write(const std::filesystem::path& folder,
                         std::uint64_t total_bytes,
                         const FioSetting& setting) {
  return run("write", folder, total_bytes, setting);
}

Result<double> fio_read(const std::filesystem::path& folder,
                        std::uint64_t total_bytes,
                        const FioSetting& setting) {
  return run("read", folder, total_bytes, setting);
}

std::string why_none(const FioBest& best) {
  if (best.chosen || best.failed.empty()) return "";
  const auto& [setting, why] = *best.failed.begin();
  return "no setting of fio works here; with " + setting + ": " + why;
}

FioChoice choose_fio(const std::filesystem::path& folder, const FioSizes& sizes) {
  FioChoice choice;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (const FioSetting& setting : kSettings) {
      if (sizes.written_bytes > 0 && !has_failed(setting, choice.writing))
        note(setting, try_writing(folder, sizes.written_bytes, setting), choice.writing);
      if (sizes.read_bytes > 0 && !has_failed(setting, choice.reading))
        note(setting, try_reading(folder, sizes.read_bytes, setting), choice.reading);
    }
  }
  (void)make_empty(folder);
  choose(choice.writing);
  choose(choice.reading);
  return choice;
}

}  // namespace forebay::bench::checkpoint
