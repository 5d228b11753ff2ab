// SPDX-License-Identifier: Apache-2.0
// The list of benchmarks and the Context of a run.
#include "bench/frame/benchmark.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "bench/frame/word_file.hpp"

namespace forebay::bench {
namespace {

// A function, because benchmarks register before main() in unspecified order.
std::map<std::string, Benchmark>& mutable_benchmarks() {
  static std::map<std::string, Benchmark> benchmarks;
  return benchmarks;
}

}  // namespace

const std::map<std::string, Benchmark>& all_benchmarks() { return mutable_benchmarks(); }

bool register_benchmark(Benchmark benchmark) {
  std::string name = benchmark.name;
  const bool is_new = mutable_benchmarks().emplace(std::move(name), std::move(benchmark)).second;
  FOREBAY_ASSERT(is_new);
  return is_new;
}

bool Context::is_selected(std::string_view id) {
  const auto found = known_ids_.emplace(id).first;
  return options_.only.empty() || options_.only.contains(*found);
}

bool Context::is_any_selected(const std::vector<std::string>& ids) {
  return std::ranges::count_if(ids, [this](const std::string& id) { return is_selected(id); }) > 0;
}

void Context::skip_selected(const std::vector<std::string>& ids, const std::string& why) {
  for (const std::string& id : ids) {
    if (is_selected(id)) skip(id, why);
  }
}

Result<std::filesystem::path> Context::word_file(std::uint64_t size_bytes) {
  if (const auto found = word_files_.find(size_bytes); found != word_files_.end()) {
    return found->second;
  }
  const std::filesystem::path path = directory() / ("words-" + std::to_string(size_bytes));
  const auto on_progress = [this](std::uint64_t done, std::uint64_t total) {
    report({done, total, "bytes", "writing a file"});
  };
  if (const Status made = write_word_file(path, size_bytes, on_progress); !made) {
    return tl::unexpected(made.error());
  }
  word_files_.emplace(size_bytes, path);
  return path;
}

Status Context::require_space(std::uint64_t size_bytes) const {
  return bench::require_space(directory(), size_bytes);
}

Result<Rounds> Context::run(std::string_view id,
                            unsigned rounds,
                            const std::vector<Variant>& variants) {
  const auto on_progress = [this, id](std::size_t done, std::size_t total) {
    report({done, total, "runs", std::string(id)});
  };
  return run_rounds(variants, {.rounds = rounds, .warm_ups = 1, .on_progress = on_progress});
}

Status Context::compare(const Comparison& comparison) {
  std::vector<const ComparedRow*> selected;
  for (const ComparedRow& row : comparison.rows) {
    if (is_selected(row.id)) selected.push_back(&row);
  }
  if (selected.empty()) return {};
  const auto rounds = run(selected.front()->id, comparison.rounds, comparison.variants);
  if (!rounds) return failure(rounds.error());
  std::vector<std::string> names = comparison.peers.value_or(std::vector<std::string>());
  if (!comparison.peers) {
    for (const Variant& variant : comparison.variants)
      names.push_back(variant.name);
  }
  std::vector<Peer> peers;
  for (const ComparedPeer& one : comparison.more_peers)
    peers.push_back({one.name, one.unit, one.value(*rounds)});
  for (const std::string& name : names)
    peers.push_back({name, comparison.unit, rounds->summary(name)});
  for (const ComparedRow* const row : selected)
    add({row->id, row->unit, row->value(*rounds), row->goal, peers});
  return {};
}

Status run_each(Context& context, const std::vector<RowGroup>& groups) {
  for (const RowGroup& group : groups) {
    if (!context.is_any_selected(group.ids)) continue;
    const std::string why = group.unavailable_reason ? group.unavailable_reason() : "";
    if (!why.empty()) {
      context.skip_selected(group.ids, why);
    } else if (Status done = group.measure(context); !done) {
      return done;
    }
  }
  return {};
}

void Context::set_parameter(const std::string& name, nlohmann::json value) {
  parameters_[name] = std::move(value);
}

void Context::add(ResultRow row) {
  const auto same = [&row](const ResultRow& other) { return other.id == row.id; };
  FOREBAY_ASSERT(std::none_of(rows_.begin(), rows_.end(), same));
  rows_.push_back(std::move(row));
  if (on_result_) on_result_();
}

std::vector<std::string> Context::unknown_ids() const {
  std::vector<std::string> unknown;
  std::set_difference(options_.only.begin(), options_.only.end(), known_ids_.begin(),
                      known_ids_.end(), std::back_inserter(unknown));
  return unknown;
}

}  // namespace forebay::bench
