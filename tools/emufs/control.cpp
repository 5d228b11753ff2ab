// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/control.hpp"

#include <cerrno>
#include <charconv>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tools/emufs/file_system.hpp"

namespace forebay::emufs {

namespace {

using nlohmann::json;

double microseconds(model::Time time) { return static_cast<double>(time.count()) / 1000.0; }

std::string text_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

json row_of(std::uint32_t number, const model::ServerCounters& counters) {
  return {{"number", number},
          {"requests", counters.requests},
          {"bytes_read", counters.bytes_read},
          {"bytes_written", counters.bytes_written},
          {"syncs", counters.syncs},
          {"commits", counters.commits},
          {"dropped", counters.dropped},
          {"in_service", counters.in_service},
          {"in_service_most", counters.in_service_max},
          {"waiting", counters.waiting},
          {"waiting_most", counters.waiting_max},
          {"waited_us", microseconds(counters.wait_time)},
          {"busy_us", microseconds(counters.busy_time)}};
}

json row_of(std::uint32_t number, const model::ClientCounters& counters) {
  return {{"number", number},
          {"requests", counters.requests},
          {"name_operations", counters.metadata_operations},
          {"bytes_read", counters.bytes_read},
          {"bytes_written", counters.bytes_written},
          {"under_way", counters.in_flight},
          {"under_way_most", counters.in_flight_max},
          {"answered_in_us", microseconds(counters.response_time)},
          {"lock_changes", counters.lock_changes},
          {"locks_lost", counters.locks_revoked},
          {"waited_for_locks_us", microseconds(counters.lock_wait_time)}};
}

json overhead_json(const FuseOverhead& overhead) {
  return {{"before_us", microseconds(overhead.before)}, {"after_us", microseconds(overhead.after)}};
}

json overheads_json(const FuseOverheads& overheads) {
  return {{"read_4KiB", overhead_json(overheads.read.small)},
          {"read_1MiB", overhead_json(overheads.read.large)},
          {"write_4KiB", overhead_json(overheads.write.small)},
          {"write_1MiB", overhead_json(overheads.write.large)},
          {"name", overhead_json(overheads.name)}};
}

/// Sums over all clients.
json totals_of(const model::StorageModel& model, const model::Machine& machine) {
  model::ClientCounters sum;
  for (std::uint32_t i = 0; i < machine.client.count; ++i) {
    const model::ClientCounters one = model.counters(model::ClientId{i});
    sum.requests += one.requests;
    sum.metadata_operations += one.metadata_operations;
    sum.bytes_read += one.bytes_read;
    sum.bytes_written += one.bytes_written;
    sum.in_flight += one.in_flight;
    sum.lock_changes += one.lock_changes;
  }
  return {{"requests", sum.requests},     {"name_operations", sum.metadata_operations},
          {"bytes_read", sum.bytes_read}, {"bytes_written", sum.bytes_written},
          {"under_way", sum.in_flight},   {"lock_changes", sum.lock_changes}};
}

std::string statistics(EmulatedFileSystem& file_system) {
  const model::Machine& machine = file_system.settings.machine;
  json document = {{"machine", machine.name},
                   {"backing", file_system.settings.backing},
                   {"pid", ::getpid()},
                   {"delays", file_system.settings.delay_mode == DelayMode::kEnabled},
                   {"servers", machine.server_count()},
                   {"metadata", machine.metadata.servers},
                   {"clients", machine.client.count},
                   {"fuse", overheads_json(file_system.fuse_overheads())},
                   {"record", nullptr}};
  if (const Recorder* recorder = file_system.recorder.get()) {
    document["record"] = {{"path", recorder->path()},
                          {"records", recorder->records()},
                          {"broken", recorder->write_error()}};
  }
  file_system.scheduler->with_model([&](model::StorageModel& model, model::Time) {
    document["totals"] = totals_of(model, machine);
  });
  return text_of(document);
}

template <class Count>
std::string rows(EmulatedFileSystem& file_system,
                 std::uint32_t first,
                 std::uint32_t end,
                 Count count) {
  json list = json::array();
  file_system.scheduler->with_model([&](model::StorageModel& model, model::Time) {
    for (std::uint32_t i = first; i < end && i - first < kRowsPerReplyMax; ++i) {
      list.push_back(row_of(i, count(model, i)));
    }
  });
  return text_of(list);
}

ErrnoResult<std::string> rows_by_name(EmulatedFileSystem& file_system, std::string_view name) {
  const std::size_t point = name.find('.');
  if (point == std::string_view::npos) return errno_failure(ENODATA);
  const std::string_view kind = name.substr(0, point);
  const std::string_view digits = name.substr(point + 1);
  std::uint32_t first = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), first);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return errno_failure(ENODATA);
  const model::Machine& machine = file_system.settings.machine;
  using Kind = model::ServerId::Kind;
  const auto server = [](Kind which) {
    return [which](const model::StorageModel& model, std::uint32_t i) {
      return model.counters(model::ServerId{which, i});
    };
  };
  if (kind == "servers") {
    return rows(file_system, first, machine.server_count(), server(Kind::kData));
  }
  if (kind == "metadata") {
    return rows(file_system, first, machine.metadata.servers, server(Kind::kMetadata));
  }
  if (kind != "clients") return errno_failure(ENODATA);
  return rows(file_system, first, machine.client.count,
              [](const model::StorageModel& model, std::uint32_t i) {
                return model.counters(model::ClientId{i});
              });
}

const char* name_of(FaultOperation operation) {
  if (operation == FaultOperation::kBoth) return "both";
  if (operation == FaultOperation::kSync) return "sync";
  return operation == FaultOperation::kRead ? "read" : "write";
}

std::string active_faults(const EmulatedFileSystem& file_system) {
  json bytes = json::array();
  for (const ByteFault& fault : file_system.faults.byte_faults()) {
    bytes.push_back({{"path", fault.path},
                     {"offset", fault.range.offset},
                     {"size", fault.range.size},
                     {"on", name_of(fault.operation)}});
  }
  json quotas = json::array();
  for (const auto& [user, limit] : file_system.faults.quotas()) {
    quotas.push_back({{"uid", user}, {"limit", limit}});
  }
  json space = nullptr;
  if (const auto left = file_system.faults.space()) space = *left;
  json servers = json::array();
  for (const ServerFault& fault : file_system.server_faults.all()) {
    servers.push_back({{"number", fault.server.index},
                       {"metadata", fault.server.kind == model::ServerId::Kind::kMetadata},
                       {"state", fault.state},
                       {"slowness", fault.condition.slowness}});
  }
  return text_of(
      {{"eio", bytes}, {"enospc_after", space}, {"edquot", quotas}, {"servers", servers}});
}

}  // namespace

ErrnoResult<std::string> control_value(EmulatedFileSystem& file_system, std::string_view name) {
  constexpr std::string_view kRows = "stat.";
  if (name == "stat") return statistics(file_system);
  if (name == "faults") return active_faults(file_system);
  if (name.starts_with(kRows)) return rows_by_name(file_system, name.substr(kRows.size()));
  return errno_failure(ENODATA);
}

int control(EmulatedFileSystem& file_system, std::string_view name, std::string_view value) {
  if (name == "fault") return apply_fault_command(file_system, value);
  if (name != "reset") return EINVAL;
  file_system.scheduler->with_model(
      [](model::StorageModel& model, model::Time) { model.reset_counters(); });
  return 0;
}

}  // namespace forebay::emufs
