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
          {"dropped", counters.dropped},
          {"in_service", counters.in_service},
          {"in_service_most", counters.in_service_most},
          {"waiting", counters.waiting},
          {"waiting_most", counters.waiting_most},
          {"waited_us", microseconds(counters.waited)},
          {"busy_us", microseconds(counters.busy)}};
}

json row_of(std::uint32_t number, const model::ClientCounters& counters) {
  return {{"number", number},
          {"requests", counters.requests},
          {"name_operations", counters.name_operations},
          {"bytes_read", counters.bytes_read},
          {"bytes_written", counters.bytes_written},
          {"under_way", counters.under_way},
          {"under_way_most", counters.under_way_most},
          {"answered_in_us", microseconds(counters.answered_in)},
          {"lock_changes", counters.lock_changes},
          {"locks_lost", counters.locks_lost},
          {"waited_for_locks_us", microseconds(counters.waited_for_locks)}};
}

json line_of(const Allowance& allowance) {
  return {{"before_us", microseconds(allowance.before)},
          {"after_us", microseconds(allowance.after)}};
}

json allowances_of(const Allowances& allowances) {
  return {{"read_4KiB", line_of(allowances.read.small)},
          {"read_1MiB", line_of(allowances.read.large)},
          {"write_4KiB", line_of(allowances.write.small)},
          {"write_1MiB", line_of(allowances.write.large)},
          {"name", line_of(allowances.name)}};
}

/// What all clients did together.
json totals_of(const model::StorageModel& model, const model::Machine& machine) {
  model::ClientCounters sum;
  for (std::uint32_t i = 0; i < machine.client.count; ++i) {
    const model::ClientCounters one = model.counters(model::ClientId{i});
    sum.requests += one.requests;
    sum.name_operations += one.name_operations;
    sum.bytes_read += one.bytes_read;
    sum.bytes_written += one.bytes_written;
    sum.under_way += one.under_way;
    sum.lock_changes += one.lock_changes;
  }
  return {{"requests", sum.requests},     {"name_operations", sum.name_operations},
          {"bytes_read", sum.bytes_read}, {"bytes_written", sum.bytes_written},
          {"under_way", sum.under_way},   {"lock_changes", sum.lock_changes}};
}

std::string statistics(FileSystem& file_system) {
  const model::Machine& machine = file_system.settings.machine;
  json document = {{"machine", machine.name},
                   {"backing", file_system.settings.backing},
                   {"pid", ::getpid()},
                   {"delays", file_system.settings.delays == Delays::kKept},
                   {"servers", machine.server_count()},
                   {"metadata", machine.metadata.servers},
                   {"clients", machine.client.count},
                   {"fuse", allowances_of(file_system.allowances())},
                   {"record", nullptr}};
  if (const Recorder* recorder = file_system.recorder.get()) {
    document["record"] = {{"path", recorder->path()},
                          {"records", recorder->records()},
                          {"broken", recorder->broken()}};
  }
  file_system.time->with_model([&](model::StorageModel& model, model::Time) {
    document["totals"] = totals_of(model, machine);
  });
  return text_of(document);
}

template <class Count>
std::string rows(FileSystem& file_system, std::uint32_t first, std::uint32_t end, Count count) {
  json list = json::array();
  file_system.time->with_model([&](model::StorageModel& model, model::Time) {
    for (std::uint32_t i = first; i < end && i - first < kRowsInAnswer; ++i) {
      list.push_back(row_of(i, count(model, i)));
    }
  });
  return text_of(list);
}

Outcome<std::string> rows_by_name(FileSystem& file_system, std::string_view name) {
  const std::size_t point = name.find('.');
  if (point == std::string_view::npos) return fails(ENODATA);
  const std::string_view kind = name.substr(0, point);
  const std::string_view digits = name.substr(point + 1);
  std::uint32_t first = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), first);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return fails(ENODATA);
  const model::Machine& machine = file_system.settings.machine;
  using Kind = model::ServerName::Kind;
  const auto server = [](Kind which) {
    return [which](const model::StorageModel& model, std::uint32_t i) {
      return model.counters(model::ServerName{which, i});
    };
  };
  if (kind == "servers") {
    return rows(file_system, first, machine.server_count(), server(Kind::kData));
  }
  if (kind == "metadata") {
    return rows(file_system, first, machine.metadata.servers, server(Kind::kMetadata));
  }
  if (kind != "clients") return fails(ENODATA);
  return rows(file_system, first, machine.client.count,
              [](const model::StorageModel& model, std::uint32_t i) {
                return model.counters(model::ClientId{i});
              });
}

const char* name_of(FaultOn on) {
  if (on == FaultOn::kBoth) return "both";
  if (on == FaultOn::kSync) return "sync";
  return on == FaultOn::kRead ? "read" : "write";
}

std::string faults_in_force(const FileSystem& file_system) {
  json bytes = json::array();
  for (const ByteFault& fault : file_system.faults.byte_faults()) {
    bytes.push_back({{"path", fault.path},
                     {"offset", fault.range.offset},
                     {"size", fault.range.size},
                     {"on", name_of(fault.on)}});
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
                       {"metadata", fault.server.kind == model::ServerName::Kind::kMetadata},
                       {"state", fault.state},
                       {"slowness", fault.condition.slowness}});
  }
  return text_of(
      {{"eio", bytes}, {"enospc_after", space}, {"edquot", quotas}, {"servers", servers}});
}

}  // namespace

Outcome<std::string> control_value(FileSystem& file_system, std::string_view name) {
  constexpr std::string_view kRows = "stat.";
  if (name == "stat") return statistics(file_system);
  if (name == "faults") return faults_in_force(file_system);
  if (name.starts_with(kRows)) return rows_by_name(file_system, name.substr(kRows.size()));
  return fails(ENODATA);
}

int control(FileSystem& file_system, std::string_view name, std::string_view value) {
  if (name == "fault") return command_fault(file_system, value);
  if (name != "reset") return EINVAL;
  file_system.time->with_model(
      [](model::StorageModel& model, model::Time) { model.reset_counters(); });
  return 0;
}

}  // namespace forebay::emufs
