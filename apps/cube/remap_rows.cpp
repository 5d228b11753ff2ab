// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cube/input_forecast.hpp"

namespace forebay::cube {

namespace {

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

RemapSource::RemapSource(const Profile& profile, std::uint64_t cache_bytes)
    : profile_(profile),
      rows_(profile),
      facts_(facts_of(profile.anchor(), profile.path())),
      numbers_(number_call_paths(profile.anchor().call_tree)),
      cache_(rows_, cache_bytes),
      view_(facts_, numbers_, cache_) {}

Result<std::unique_ptr<RemapSource>> RemapSource::create(const Profile& profile,
                                                         RemapProgram program,
                                                         std::uint64_t cache_bytes) {
  std::unique_ptr<RemapSource> made(new RemapSource(profile, cache_bytes));
  made->specified_ = program.specified;
  auto derivation = cubepl::Derivation::create(std::move(program.program), made->view_,
                                               {.environment = environment});
  if (!derivation) return failure(derivation.error());
  made->derivation_ = std::move(*derivation);
  return made;
}

std::vector<std::size_t> RemapSource::inputs() const {
  std::vector<std::size_t> inputs;
  const auto& metrics = profile_.anchor().metrics;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const bool may_be_asked_for = derivation_->program().find(metrics[i].unique_name).has_value();
    if (may_be_asked_for && profile_.rows(i)) inputs.push_back(i);
  }
  return inputs;
}

RowMaker::RowMaker(const RemapSource& source)
    : source_(source),
      exclusive_places_(source.profile_.anchor().call_tree.places_by_row(MetricKind::kExclusive)),
      inclusive_places_(source.profile_.anchor().call_tree.places_by_row(MetricKind::kInclusive)),
      view_(source.facts_, source.numbers_, source.cache_),
      evaluator_(*source.derivation_, view_) {}

Status RowMaker::fill(const RemapMetric& metric, std::uint64_t first, std::span<std::byte> into) {
  const std::uint64_t row_bytes =
      metric.description.type.size_bytes() * source_.profile_.anchor().location_count();
  for (std::uint64_t i = first; !into.empty(); ++i, into = into.subspan(row_bytes)) {
    const Status filled = fill_row(metric, metric.index.rows[i], into.first(row_bytes));
    if (!filled) return filled;
  }
  return {};
}

Status RowMaker::fill_row(const RemapMetric& metric, std::uint32_t row, std::span<std::byte> into) {
  if (metric.origin == RowOrigin::kCopied) {
    return source_.profile_.read_row(metric.source, row, into, scratch_.row);
  }
  const bool is_inclusive = metric.description.kind == MetricKind::kInclusive;
  const std::uint32_t place = (is_inclusive ? inclusive_places_ : exclusive_places_)[row];
  if (metric.origin == RowOrigin::kComputed) return compute(metric, place, into);
  return source_.rows_.read_converted({metric.source, place, metric.description.kind}, into,
                                      scratch_);
}

// Rows lie at any address of the file and of buffers, where no double may be: hence the copy.
Status RowMaker::compute(const RemapMetric& metric,
                         std::uint32_t place,
                         std::span<std::byte> into) {
  view_.release();
  values_.resize(source_.profile_.anchor().location_count());
  const bool is_inclusive = metric.description.kind == MetricKind::kInclusive;
  const cubepl::OutputRow which{
      metric.source, source_.numbers_.number_of[place],
      is_inclusive ? cubepl::Flavour::kInclusive : cubepl::Flavour::kExclusive};
  const Status done = evaluator_.evaluate(which, {0, values_.size()}, values_);
  if (done) std::ranges::copy(std::as_bytes(std::span(values_)), into.begin());
  return done;
}

RemapRows::RemapRows(const RemapSource& source,
                     std::vector<const RemapMetric*> metrics,
                     unsigned threads)
    : metrics_(std::move(metrics)), forecast_(std::make_unique<InputForecast>(source)) {
  for (unsigned i = 0; i < threads; ++i)
    makers_.push_back(std::make_unique<RowMaker>(source));
}

RemapRows::~RemapRows() = default;

void RemapRows::expect(const RowChunk& chunk) {
  forecast_->expect(*metrics_[chunk.metric], chunk.first, chunk.count);
}

}  // namespace forebay::cube
