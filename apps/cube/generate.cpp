// SPDX-License-Identifier: Apache-2.0
#include "cube/generate.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cube/anchor.hpp"
#include "cube/at_once.hpp"
#include "cube/container.hpp"
#include "cube/container_writer.hpp"
#include "cube/inflater.hpp"

namespace forebay::cube {

namespace {

/// Calls `work(i, row)` for each i below `count`, on several threads at once, each with a row of
/// its own to work in.
template <class Work>
Status for_each_row(std::uint64_t count, unsigned workers, const Work& work) {
  std::vector<std::vector<std::byte>> rows(workers);
  return for_each_at_once(count, workers,
                          [&](std::uint64_t i, unsigned worker) { return work(i, rows[worker]); });
}

/// One metric of the new file.
struct NewMetric {
  std::size_t metric = 0;  ///< its place in the description
  Index index;
};

/// Metrics with their rows; what is missing is missing in the last ones, of which each keeps one.
std::vector<NewMetric> plan_metrics(const GenerateOptions& options, const Anchor& anchor) {
  const std::uint32_t call_paths = options.shape.call_paths;
  std::uint64_t missing = std::uint64_t{options.shape.metrics} * call_paths - options.rows;
  std::vector<NewMetric> metrics(options.shape.metrics);
  for (std::size_t i = metrics.size(); i-- > 0;) {
    const auto cut = static_cast<std::uint32_t>(std::min<std::uint64_t>(missing, call_paths - 1));
    missing -= cut;
    const IndexFormat format = cut == 0 ? options.index : IndexFormat::kSparse;
    auto rows = synthetic_rows(anchor.call_tree, anchor.metrics[i].kind, cut, options.seed + i);
    metrics[i] = {i, {format, options.order, std::move(rows)}};
  }
  return metrics;
}

class Generator {
 public:
  Generator(const GenerateOptions& options, command::PublishedFile& file)
      : options_(options),
        anchor_(synthetic_anchor(options.shape)),
        metrics_(plan_metrics(options, anchor_)),
        file_(file),
        sink_(file),
        progress_(options.progress, {"writing " + options.path, "bytes", row_bytes()}) {}

  Status run() { return options_.packing_level ? write_packed() : write_plain(); }

 private:
  std::uint64_t row_bytes() const {
    std::uint64_t sum = 0;
    for (const NewMetric& metric : metrics_)
      sum += bytes_of_row(metric) * metric.index.rows.size();
    return sum;
  }
  std::uint64_t bytes_of_row(const NewMetric& metric) const {
    return anchor_.row_bytes(anchor_.metrics[metric.metric]);
  }
  RowsShape shape_of(const NewMetric& metric) const {
    return {.metric_id = anchor_.metrics[metric.metric].id,
            .row_bytes = bytes_of_row(metric),
            .row_count = metric.index.rows.size(),
            .format = metric.index.format};
  }

  /// Everything has its place before the first value is computed.
  Status write_plain() {
    const std::string text = write_anchor(anchor_);
    ContainerShape shape{.metrics = {}, .anchor_bytes = text.size()};
    for (const NewMetric& metric : metrics_)
      shape.metrics.push_back(shape_of(metric));
    const ContainerLayout layout = plan_container(shape);
    if (const Status reserved = file_.reserve(layout.file_bytes); !reserved) return reserved;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      const Status wrote = write_around_rows(sink_, layout.metrics[i], metrics_[i].index);
      if (!wrote) return wrote;
      if (const Status rows = write_plain_rows(metrics_[i], layout.metrics[i]); !rows) return rows;
    }
    return finish(layout.anchor, text, ArchiveLayout(layout.anchor.end_offset));
  }

  Status write_plain_rows(const NewMetric& metric, const RowsPlace& place) {
    const SyntheticValues values(anchor_, metric.metric, options_.seed);
    const auto places = call_paths_of(metric);
    return for_each_row(metric.index.rows.size(), options_.workers,
                        [&](std::uint64_t i, auto& row) {
                          row.resize(place.row_bytes);
                          values.fill(places[metric.index.rows[i]], options_.order, row);
                          const Status wrote = sink_.write(place.row(i).offset, row);
                          progress_.advance(row.size());
                          return wrote;
                        });
  }

  /// Two phases for each metric: its rows are compressed, and then there are sizes to place.
  Status write_packed() {
    ArchiveLayout archive;
    for (const NewMetric& metric : metrics_) {
      std::vector<std::vector<std::byte>> rows(metric.index.rows.size());
      if (const Status packed = pack_rows(metric, rows); !packed) return packed;
      if (const Status wrote = write_packed_rows(archive, metric, rows); !wrote) return wrote;
    }
    const std::string text = write_anchor(anchor_);
    const MemberPlace place = archive.append(std::string(kAnchorName), text.size());
    return finish(place, text, archive);
  }

  Status pack_rows(const NewMetric& metric, std::vector<std::vector<std::byte>>& packed) {
    const SyntheticValues values(anchor_, metric.metric, options_.seed);
    const auto places = call_paths_of(metric);
    return for_each_row(packed.size(), options_.workers, [&](std::uint64_t i, auto& row) {
      row.resize(bytes_of_row(metric));
      values.fill(places[metric.index.rows[i]], options_.order, row);
      const Status done = deflate_row(row, *options_.packing_level, packed[i]);
      packed[i].shrink_to_fit();
      progress_.advance(row.size());
      return done;
    });
  }

  Status write_packed_rows(ArchiveLayout& archive,
                           const NewMetric& metric,
                           const std::vector<std::vector<std::byte>>& rows) {
    RowsShape shape = shape_of(metric);
    shape.packed_bytes.emplace();
    for (const auto& row : rows)
      shape.packed_bytes->push_back(row.size());
    const RowsPlace place = append_rows(archive, shape);
    if (const Status wrote = write_around_rows(sink_, place, metric.index); !wrote) return wrote;
    return for_each_row(rows.size(), options_.workers, [&](std::uint64_t i, auto&) {
      return sink_.write(place.row(i).offset, rows[i]);
    });
  }

  std::vector<std::uint32_t> call_paths_of(const NewMetric& metric) const {
    return anchor_.call_tree.places_by_row(anchor_.metrics[metric.metric].kind);
  }

  Status finish(const MemberPlace& place, const std::string& text, const ArchiveLayout& archive) {
    const auto bytes = std::as_bytes(std::span(text));
    if (const Status wrote = write_member(sink_, place, bytes); !wrote) return wrote;
    return write_piece(sink_, archive.end());
  }

  const GenerateOptions& options_;
  const Anchor anchor_;
  const std::vector<NewMetric> metrics_;
  command::PublishedFile& file_;
  FileSink sink_;
  command::Progress progress_;
};

}  // namespace

std::uint64_t usual_rows(const SyntheticShape& shape) {
  const bool is_deck = shape.metrics == 11 && shape.call_paths == 56;
  return is_deck ? 614 : std::uint64_t{shape.metrics} * shape.call_paths;
}

Status generate(const GenerateOptions& options) {
  auto file = command::PublishedFile::create(options.path);
  if (!file) return tl::unexpected<Error>(file.error());
  if (const Status written = Generator(options, *file).run(); !written) return written;
  return file->publish();
}

}  // namespace forebay::cube
