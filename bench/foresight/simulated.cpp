// SPDX-License-Identifier: Apache-2.0
// Rows of the simulated page cache: the table of the server-push slides, with the predictor that
// sessions use. Deterministic, so each has one run.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "bench/foresight/streams.hpp"
#include "push/cache_simulation.hpp"
#include "push/stream_predictor.hpp"
#include "trace/signature_search.hpp"

namespace forebay::bench::foresight {

namespace {

using push::CacheCounts;

constexpr double kPercent = 100;

/// StreamPredictor for simulate_cache(). Predicts only what a session would push.
class Selector final : public push::Predictor {
 public:
  std::string_view name() const noexcept override { return "selector"; }
  void observe(const trace::Access& access) override { predictor_.observe(access); }
  std::size_t predict(std::span<push::Prediction> into) const override {
    const push::PrecisionGate& gate = predictor_.gate();
    return gate.is_open() || gate.is_new() ? predictor_.predict(into) : 0;
  }
  std::size_t state_bytes() const noexcept override { return predictor_.state_bytes(); }

 private:
  push::StreamPredictor predictor_;
};

Summary exactly(double value) { return summarize({value}); }

double percent_of(std::uint64_t count, const CacheCounts& counts) {
  return kPercent * static_cast<double>(count) / static_cast<double>(counts.reads);
}

enum class Measure : std::uint8_t { kFaults, kMisses, kHits };

double percent_of(Measure measure, const CacheCounts& counts) {
  if (measure == Measure::kFaults) return percent_of(counts.faults, counts);
  if (measure == Measure::kMisses) return percent_of(counts.misses, counts);
  return percent_of(counts.reads - counts.misses, counts);
}

struct OnlineRow {
  const char* id;
  std::string_view pattern;
  Measure measure;
  Goal goal;               ///< in percent of the reads
  std::size_t before = 0;  ///< reads that are observed before those that count
};

constexpr std::array kOnlineRows{
    OnlineRow{"foresight.stride.4k", "stride.4k", Measure::kFaults, {0.5}},
    OnlineRow{"foresight.stride.16k", "stride.16k", Measure::kFaults, {0.5}},
    OnlineRow{"foresight.stride.32k", "stride.32k", Measure::kFaults, {1}},
    OnlineRow{"foresight.stride.64k", "stride.64k", Measure::kFaults, {1.5}},
    OnlineRow{"foresight.nested.4k", "nested.4k", Measure::kFaults, {0.5}},
    OnlineRow{"foresight.nested.16k", "nested.16k", Measure::kFaults, {1.5}},
    OnlineRow{"foresight.nested.64k", "nested.64k", Measure::kFaults, {2.5}},
    OnlineRow{"foresight.lu", "lu", Measure::kFaults, {0.2}},
    OnlineRow{"foresight.btio", "btio", Measure::kFaults, {7.5}},
    OnlineRow{"foresight.btio_simple", "btio_simple", Measure::kMisses, {1}},
    OnlineRow{
        "foresight.second_epoch", "random.2_epochs", Measure::kHits, {99, Better::kHigher}, 200},
};

/// The reads that count, after those before were observed.
CacheCounts simulate_online(const OnlineRow& row, const Stream& stream) {
  Selector selector;
  const std::span all(stream);
  for (const trace::Access& access : all.first(row.before))
    selector.observe(access);
  return push::simulate_cache(all.subspan(row.before), {}, &selector);
}

Status add_online(Context& context, const OnlineRow& row) {
  const Stream stream = stream_of(row.pattern);
  const CacheCounts counts = simulate_online(row, stream);
  const CacheCounts base = push::simulate_cache(std::span(stream).subspan(row.before), {});
  context.add({row.id,
               "%",
               exactly(percent_of(row.measure, counts)),
               row.goal,
               {{"faults", "%", exactly(percent_of(counts.faults, counts))},
                {"misses", "%", exactly(percent_of(counts.misses, counts))},
                {"faults without prediction", "%", exactly(percent_of(base.faults, base))}}});
  return {};
}

/// Fault rates without prediction that were computed from the slides, in percent.
constexpr std::pair<std::string_view, double> kBaseRates[] = {
    {"stride.4k", 6.5},
    {"stride.16k", 25},
    {"stride.32k", 50},
    {"stride.64k", 100},
    {"nested.4k", 12.5},
    {"nested.16k", 50},
    {"nested.64k", 100},
    // LU in which each step reads all slabs completely: only this has the rate of the slides.
    {"read {126 x (1049088 + 524544 i, 524544), {2 + i x (524544 j, 524544)}}", 75.6},
    {"btio", 100},
};

Status add_base(Context& context) {
  double largest = 0;
  for (const auto& [pattern, expected] : kBaseRates) {
    const CacheCounts counts = push::simulate_cache(stream_of(pattern), {});
    largest = std::max(largest, std::abs(percent_of(counts.faults, counts) - expected));
  }
  context.add({"foresight.base", "points", exactly(largest), Goal{1}, {}});
  return {};
}

/// Misses if an earlier run has stored the signature of `stream`, as text.
double misses_with_stored_signature(const Stream& stream) {
  const auto found = trace::signature_of(stream, trace::Operation::kRead).value();
  push::SignaturePredictor predictor(std::make_shared<const trace::Signature>(
      trace::parse_signature(trace::to_text(found)).value()));
  return static_cast<double>(push::simulate_cache(stream, {}, &predictor).misses);
}

Status add_stored(Context& context) {
  double worst = 0;
  for (const OnlineRow& row : kOnlineRows)
    worst = std::max(worst, misses_with_stored_signature(stream_of(row.pattern)));
  context.add({"foresight.stored", "reads", exactly(worst), Goal{1}, {}});
  return {};
}

}  // namespace

std::vector<RowGroup> simulated_rows() {
  std::vector<RowGroup> groups = {{{"foresight.base"}, add_base}};
  for (const OnlineRow& row : kOnlineRows)
    groups.push_back({{row.id}, [&row](Context& context) { return add_online(context, row); }});
  groups.push_back({{"foresight.stored"}, add_stored});
  return groups;
}

}  // namespace forebay::bench::foresight
