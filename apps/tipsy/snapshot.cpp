// SPDX-License-Identifier: Apache-2.0
#include "tipsy/snapshot.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace forebay::tipsy {

namespace {

/// One consistent interpretation of the counts.
struct CountReading {
  Counts counts;
  bool is_pad_used = false;
};

/// A combination of counts, header and precision, with its file size.
struct SizeFit {
  CountReading reading;
  std::uint64_t header_bytes = kHeaderBytes;
  Precision precision = Precision::kSingle;

  std::uint64_t file_bytes() const {
    return header_bytes + records_bytes(reading.counts, precision);
  }
};

Error snapshot_error(const FileInfo& file,
                     ErrorClass kind,
                     std::uint64_t offset,
                     std::string cause) {
  return Error({.kind = kind,
                .operation = "recognize",
                .path = file.path,
                .offset_bytes = offset,
                .cause = std::move(cause)});
}

/// The consistent interpretations, the preferred one first. The pad may hold arbitrary bits, so it
/// does not decide alone. But a file without particles whose pad is consistent by accident is too
/// unlikely.
std::vector<CountReading> interpret_counts(const Header& header, bool has_pad, CountSource from) {
  const Counts plain = plain_counts(header);
  const Counts wide = wide_counts(header);
  const bool plain_fits = plain.total() == header.nbodies;
  const bool wide_fits = has_pad && header.pad != 0 && wide.total() == wide_nbodies(header);
  if (wide_fits && (header.nbodies == 0 || !plain_fits)) return {{wide, true}};
  if (wide_fits) return {{plain, false}, {wide, true}};
  if (plain_fits || from == CountSource::kFamilyCounts) return {{plain, false}};
  return {};
}

/// Every size that a file with this header could have, the most likely first.
std::vector<SizeFit> possible_fits(const std::vector<CountReading>& readings) {
  std::vector<SizeFit> fits;
  for (const CountReading& reading : readings) {
    for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
      if (reading.is_pad_used && header_bytes == kShortHeaderBytes) continue;
      for (const Precision precision : kPrecisions)
        fits.push_back({reading, header_bytes, precision});
    }
  }
  return fits;
}

std::string names_of(const std::vector<Precision>& precisions) {
  std::string names;
  for (const Precision precision : precisions) {
    names += fmt::format("{}{}", names.empty() ? "" : " or ", name_of(precision));
  }
  return names;
}

/// The sizes that the preferred interpretation allows, as text.
std::string describe_sizes(const std::vector<SizeFit>& fits) {
  const CountReading& preferred = fits.front().reading;
  std::string text =
      fmt::format("{} gas, {} dark and {} star particles need ", preferred.counts.gas,
                  preferred.counts.dark, preferred.counts.star);
  for (const Precision precision : kPrecisions) {
    const SizeFit fit{preferred, kHeaderBytes, precision};
    text += fmt::format("{}{} bytes ({})", precision == Precision::kSingle ? "" : ", ",
                        fit.file_bytes(), name_of(precision));
  }
  return text + (preferred.is_pad_used ? "" : ", or 4 less with a 28-byte header");
}

std::uint64_t complete_particles(const FileInfo& file, const SizeFit& fit) {
  std::uint64_t left = file.file_bytes - std::min(file.file_bytes, fit.header_bytes);
  std::uint64_t particles = 0;
  for (const Family family : kFamilies) {
    const std::uint64_t size = record_bytes(family, fit.precision);
    const std::uint64_t count = std::min(left / size, fit.reading.counts.of(family));
    particles += count;
    left -= count * size;
    if (count < fit.reading.counts.of(family)) break;
  }
  return particles;
}

Error short_file_error(const FileInfo& file, const SizeFit& fit) {
  return snapshot_error(
      file, ErrorClass::kShortFile, file.file_bytes,
      fmt::format("{} bytes are missing: the file has {} bytes, {} precision needs {}; {} "
                  "of {} particles are complete",
                  fit.file_bytes() - file.file_bytes, file.file_bytes, name_of(fit.precision),
                  fit.file_bytes(), complete_particles(file, fit), fit.reading.counts.total()));
}

/// The size fits a precision, but not the named one.
Error precision_mismatch_error(const FileInfo& file,
                               Precision named_precision,
                               const std::vector<Precision>& fitting) {
  return snapshot_error(file, ErrorClass::kInvalidArgument, file.file_bytes,
                        fmt::format("precision {} was named, but {} bytes fit {}",
                                    name_of(named_precision), file.file_bytes, names_of(fitting)));
}

/// The user named the precision and no size fits: bytes past the last record are ignored.
Result<std::uint64_t> trailing_bytes(const FileInfo& file, const SizeFit& wanted) {
  if (file.file_bytes < wanted.file_bytes()) return failure(short_file_error(file, wanted));
  return file.file_bytes - wanted.file_bytes();
}

/// Magic numbers of compressed files.
struct CompressionFormat {
  std::string_view magic;
  std::string_view name;
  std::string_view tool;
};
constexpr std::array<CompressionFormat, 4> kCompressionFormats{
    {{"\x1f\x8b", "gzip", "gunzip"},
     {"BZh", "bzip2", "bunzip2"},
     {"\xfd"
      "7zXZ",
      "xz", "unxz"},
     {"\x28\xb5\x2f\xfd", "zstd", "unzstd"}}};

/// For a file that is not 3-dimensional in either byte order.
Error dimension_error(const FileInfo& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.head.data()), file.head.size());
  for (const CompressionFormat& packing : kCompressionFormats)
    if (text.starts_with(packing.magic))
      return snapshot_error(
          file, ErrorClass::kUnsupported, 0,
          fmt::format("the file is compressed with {}; decompress it first with {}", packing.name,
                      packing.tool));
  const std::int32_t native = decode_header(file.head, ByteOrder::kNative).ndim;
  const std::int32_t standard = decode_header(file.head, ByteOrder::kStandard).ndim;
  for (const std::int32_t dimensions : {native, standard})
    if (dimensions == 1 || dimensions == 2)
      return snapshot_error(file, ErrorClass::kUnsupported, 12,
                            fmt::format("the snapshot has {} dimension{}; only 3 are supported",
                                        dimensions, dimensions == 1 ? "" : "s"));
  return snapshot_error(
      file, ErrorClass::kDamage, 12,
      fmt::format("not a Tipsy snapshot: the dimension must be 3, it is {} in native "
                  "and {} in standard byte order",
                  native, standard));
}

Error size_error(const FileInfo& file, const std::vector<SizeFit>& fits) {
  // The first fit is the smallest likely one. The 28-byte header is 4 bytes smaller, but a size in
  // between is more likely that of a truncated file.
  if (file.file_bytes < fits.front().file_bytes()) return short_file_error(file, fits.front());
  return snapshot_error(
      file, ErrorClass::kDamage, file.file_bytes,
      fmt::format("the size fits no precision: the file has {} bytes, but {}; name the "
                  "precision to read it regardless",
                  file.file_bytes, describe_sizes(fits)));
}

/// Sets the members that depend on the fit.
void apply_fit(const SizeFit& fit, Snapshot& snapshot) {
  snapshot.header_bytes = fit.header_bytes;
  snapshot.counts = fit.reading.counts;
  snapshot.is_pad_used = fit.reading.is_pad_used;
}

/// For a file whose size fits. All fits have the same counts and header: see docs/formats/tipsy.md,
/// step 3.
Status choose_candidates(const FileInfo& file,
                         const std::vector<SizeFit>& fitting,
                         std::optional<Precision> named_precision,
                         Snapshot& snapshot) {
  apply_fit(fitting.front(), snapshot);
  for (const SizeFit& fit : fitting)
    snapshot.candidates.push_back(fit.precision);
  if (named_precision && std::ranges::count(snapshot.candidates, *named_precision) == 0) {
    return failure(precision_mismatch_error(file, *named_precision, snapshot.candidates));
  }
  if (named_precision) {
    snapshot.candidates = {*named_precision};
  } else if (snapshot.counts.total() == 0) {
    snapshot.candidates = {Precision::kSingle};
  }
  return {};
}

/// Determines counts, header and precision from the size.
Status fit_size(const FileInfo& file,
                std::optional<Precision> named_precision,
                Snapshot& snapshot) {
  const bool has_pad = file.file_bytes >= kHeaderBytes;
  const std::vector<CountReading> readings =
      interpret_counts(snapshot.header, has_pad, file.count_source);
  if (readings.empty()) {
    const Counts plain = plain_counts(snapshot.header);
    return failure(
        snapshot_error(file, ErrorClass::kDamage, 8,
                       fmt::format("nbodies is {}, but the families sum to {} ({} gas, {} dark, "
                                   "{} star), and the pad {:#010x} does not explain it; use "
                                   "--counts-from families to trust these",
                                   snapshot.header.nbodies, plain.total(), plain.gas, plain.dark,
                                   plain.star, snapshot.header.pad)));
  }
  const std::vector<SizeFit> fits = possible_fits(readings);
  std::vector<SizeFit> fitting;
  std::ranges::copy_if(fits, std::back_inserter(fitting),
                       [&](const SizeFit& fit) { return fit.file_bytes() == file.file_bytes; });
  if (!fitting.empty()) return choose_candidates(file, fitting, named_precision, snapshot);
  if (!named_precision) return failure(size_error(file, fits));

  const SizeFit wanted{readings.front(), kHeaderBytes, *named_precision};
  const Result<std::uint64_t> trailing = trailing_bytes(file, wanted);
  if (!trailing) return failure(trailing.error());
  apply_fit(wanted, snapshot);
  snapshot.candidates = {*named_precision};
  snapshot.trailing_bytes = *trailing;
  return {};
}

}  // namespace

Result<Layout> Snapshot::layout() const {
  if (candidates.size() == 1) return Layout{counts, candidates.front(), order, header_bytes};
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "recognize",
       .path = path,
       .cause = fmt::format("{} bytes fit {}; name --double-positions or --double-velocities",
                            file_bytes, names_of(candidates))});
}

Result<Snapshot> identify_snapshot(const FileInfo& file, std::optional<Precision> named_precision) {
  if (file.file_bytes < kShortHeaderBytes || file.head.size() < kShortHeaderBytes) {
    return failure(
        snapshot_error(file, ErrorClass::kDamage, file.file_bytes,
                       fmt::format("not a Tipsy snapshot: {} bytes are too few for a header of "
                                   "{} bytes",
                                   file.file_bytes, kShortHeaderBytes)));
  }
  const std::optional<ByteOrder> order = detect_byte_order(file.head);
  if (!order) return failure(dimension_error(file));
  Snapshot snapshot;
  snapshot.path = file.path;
  snapshot.file_bytes = file.file_bytes;
  snapshot.order = *order;
  snapshot.header = decode_header(file.head, *order);
  if (const Status fitted = fit_size(file, named_precision, snapshot); !fitted)
    return failure(fitted.error());
  return snapshot;
}

}  // namespace forebay::tipsy
