// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/fio.hpp"

#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frame/check.hpp"
#include "bench/frame/child_process.hpp"

namespace forebay::bench::engine {

namespace {

using nlohmann::json;

constexpr double kMilliseconds = 1e-3;
constexpr double kPercent = 1e-2;

std::string mode_of(const TransferLoad& load) {
  const std::string operation = load.direction == Direction::kRead ? "read" : "write";
  return load.access_order == AccessOrder::kRandom ? "rand" + operation : operation;
}

EnvironmentVariables fio_environment(FioMemory memory) {
  const std::string tuned = memory == FioMemory::kHugePages ? "1" : "0";
  return {"GLIBC_TUNABLES=glibc.malloc.hugetlb=" + tuned};
}

std::vector<std::string> fio_arguments(const TransferLoad& load,
                                       const std::filesystem::path& file,
                                       const std::filesystem::path& report) {
  return {"fio",
          "--name=load",
          "--rw=" + mode_of(load),
          "--bs=" + std::to_string(load.request_bytes),
          "--iodepth=" + std::to_string(load.depth),
          "--size=" + std::to_string(load.file_bytes),
          "--io_size=" + std::to_string(load.total_bytes),
          "--ioengine=io_uring",
          "--fixedbufs=1",
          "--registerfiles=1",
          "--direct=1",
          "--thread=1",
          "--gtod_reduce=1",
          "--norandommap=1",
          "--random_generator=tausworthe64",
          "--scramble_buffers=0",
          "--overwrite=1",
          "--fallocate=none",
          "--invalidate=0",
          "--output-format=json",
          "--output=" + report.string(),
          "--filename=" + file.string()};
}

Result<TransferCost> cost_of(const json& report, const TransferLoad& load) {
  const json& job = report.at("jobs").at(0);
  const json& part = job.at(load.direction == Direction::kRead ? "read" : "write");
  const double seconds = part.at("runtime").get<double>() * kMilliseconds;
  const double moved = part.at("io_bytes").get<double>();
  const double bandwidth = part.at("bw_bytes").get<double>();
  const double share = job.at("usr_cpu").get<double>() + job.at("sys_cpu").get<double>();
  if (job.at("error").get<int>() != 0 || moved != static_cast<double>(load.total_bytes)) {
    return failure({.kind = ErrorClass::kIo,
                    .operation = "compare with fio",
                    .cause = "it transferred " + std::to_string(moved) + " bytes"});
  }
  // The time is in whole milliseconds; the bandwidth is from a finer one.
  const double exact = bandwidth > 0 ? moved / bandwidth : seconds;
  return TransferCost{.seconds = exact, .cpu_seconds = share * kPercent * seconds};
}

}  // namespace

std::string fio_unavailable_reason() {
  return find_program("fio").empty() ? "fio is not installed (Debian: fio)" : "";
}

Result<TransferCost> run_fio(const TransferLoad& load,
                             FioMemory memory,
                             const std::filesystem::path& file,
                             const std::filesystem::path& directory) {
  const std::filesystem::path report = directory / "fio.json";
  check(run_child(fio_arguments(load, file, report), fio_environment(memory)));
  try {
    return cost_of(json::parse(std::ifstream(report)), load);
  } catch (const json::exception& problem) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read the report of fio",
                    .path = report.string(),
                    .cause = problem.what()});
  }
}

}  // namespace forebay::bench::engine
