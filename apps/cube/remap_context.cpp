// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_context.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cube/input_prefetcher.hpp"

namespace forebay::cube {

namespace {

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

RemapContext::RemapContext(const Profile& profile, std::uint64_t cache_bytes)
    : profile_(profile),
      rows_(profile),
      info_(make_profile_info(profile.anchor(), profile.path())),
      numbers_(number_call_paths(profile.anchor().call_tree)),
      cache_(rows_, cache_bytes),
      view_(info_, numbers_, cache_) {}

Result<std::unique_ptr<RemapContext>> RemapContext::create(const Profile& profile,
                                                           RemapProgram program,
                                                           std::uint64_t cache_bytes) {
  std::unique_ptr<RemapContext> made(new RemapContext(profile, cache_bytes));
  made->specified_count_ = program.specified_count;
  auto bound_program = cubepl::BoundProgram::create(std::move(program.program), made->view_,
                                                    {.environment = environment});
  if (!bound_program) return failure(bound_program.error());
  made->bound_program_ = std::move(*bound_program);
  return made;
}

std::vector<std::size_t> RemapContext::inputs() const {
  std::vector<std::size_t> inputs;
  const auto& metrics = profile_.anchor().metrics;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const bool may_be_asked_for =
        bound_program_->program().find(metrics[i].unique_name).has_value();
    if (may_be_asked_for && profile_.rows(i)) inputs.push_back(i);
  }
  return inputs;
}

RowBuilder::RowBuilder(const RemapContext& source)
    : source_(source),
      exclusive_call_paths_(
          source.profile_.anchor().call_tree.call_paths_by_row(MetricKind::kExclusive)),
      inclusive_call_paths_(
          source.profile_.anchor().call_tree.call_paths_by_row(MetricKind::kInclusive)),
      view_(source.info_, source.numbers_, source.cache_),
      evaluator_(*source.bound_program_, view_) {}

Status RowBuilder::fill(const RemapMetric& metric, std::uint64_t first, std::span<std::byte> into) {
  const std::uint64_t row_bytes =
      metric.description.type.size_bytes() * source_.profile_.anchor().location_count();
  for (std::uint64_t i = first; !into.empty(); ++i, into = into.subspan(row_bytes)) {
    const Status filled = fill_row(metric, metric.index.rows[i], into.first(row_bytes));
    if (!filled) return filled;
  }
  return {};
}

Status RowBuilder::fill_row(const RemapMetric& metric,
                            std::uint32_t row,
                            std::span<std::byte> into) {
  if (metric.origin == RowOrigin::kCopied) {
    return source_.profile_.read_row(metric.source, row, into, scratch_.row);
  }
  const bool is_inclusive = metric.description.kind == MetricKind::kInclusive;
  const std::uint32_t index = (is_inclusive ? inclusive_call_paths_ : exclusive_call_paths_)[row];
  if (metric.origin == RowOrigin::kComputed) return compute(metric, index, into);
  return source_.rows_.read_converted({metric.source, index, metric.description.kind}, into,
                                      scratch_);
}

// Rows in files and buffers may have any address, not aligned for double: hence the copy.
Status RowBuilder::compute(const RemapMetric& metric,
                           std::uint32_t index,
                           std::span<std::byte> into) {
  view_.release();
  values_.resize(source_.profile_.anchor().location_count());
  const bool is_inclusive = metric.description.kind == MetricKind::kInclusive;
  const cubepl::OutputRow which{
      metric.source, source_.numbers_.number_of[index],
      is_inclusive ? cubepl::Flavor::kInclusive : cubepl::Flavor::kExclusive};
  const Status done = evaluator_.evaluate(which, {0, values_.size()}, values_);
  if (done) std::ranges::copy(std::as_bytes(std::span(values_)), into.begin());
  return done;
}

RemapRowSource::RemapRowSource(const RemapContext& source,
                               std::vector<const RemapMetric*> metrics,
                               unsigned threads)
    : metrics_(std::move(metrics)), prefetcher_(std::make_unique<InputPrefetcher>(source)) {
  for (unsigned i = 0; i < threads; ++i)
    builders_.push_back(std::make_unique<RowBuilder>(source));
}

RemapRowSource::~RemapRowSource() = default;

void RemapRowSource::prefetch(const RowChunk& chunk) {
  prefetcher_->prefetch(*metrics_[chunk.metric], chunk.first, chunk.count);
}

}  // namespace forebay::cube
