// SPDX-License-Identifier: Apache-2.0
#include "tipsy/snapshot.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace forebay::tipsy {

namespace {

/// One consistent way to read the counts.
struct Reading {
  Counts counts;
  bool pad_used = false;
};

/// A way to explain the size of the file.
struct Fit {
  Reading reading;
  std::uint64_t header_bytes = kHeaderBytes;
  Precision precision = Precision::kSingle;

  std::uint64_t file_bytes() const {
    return header_bytes + records_bytes(reading.counts, precision);
  }
};

Error refusal(const FileFacts& facts, ErrorClass kind, std::uint64_t offset, std::string cause) {
  return Error({.kind = kind,
                .operation = "recognise",
                .path = facts.path,
                .offset_bytes = offset,
                .cause = std::move(cause)});
}

/// The consistent readings, the one that the rule prefers first. The pad alone decides nothing: it
/// may be rubbish. But no particles and a pad that is consistent by accident are too much of one.
std::vector<Reading> readings_of(const Header& header, bool has_pad, CountsFrom from) {
  const Counts plain = plain_counts(header);
  const Counts wide = wide_counts(header);
  const bool plain_fits = plain.total() == header.nbodies;
  const bool wide_fits = has_pad && header.pad != 0 && wide.total() == wide_nbodies(header);
  if (wide_fits && (header.nbodies == 0 || !plain_fits)) return {{wide, true}};
  if (wide_fits) return {{plain, false}, {wide, true}};
  if (plain_fits || from == CountsFrom::kSumOfFamilies) return {{plain, false}};
  return {};
}

/// Every size that a file with this header could have, the most likely first.
std::vector<Fit> possible_fits(const std::vector<Reading>& readings) {
  std::vector<Fit> fits;
  for (const Reading& reading : readings) {
    for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
      if (reading.pad_used && header_bytes == kShortHeaderBytes) continue;
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

/// The sizes that the preferred reading allows, for a person.
std::string describe_sizes(const std::vector<Fit>& fits) {
  const Reading& preferred = fits.front().reading;
  std::string text =
      fmt::format("{} gas, {} dark and {} star particles need ", preferred.counts.gas,
                  preferred.counts.dark, preferred.counts.star);
  for (const Precision precision : kPrecisions) {
    const Fit fit{preferred, kHeaderBytes, precision};
    text += fmt::format("{}{} bytes ({})", precision == Precision::kSingle ? "" : ", ",
                        fit.file_bytes(), name_of(precision));
  }
  return text + (preferred.pad_used ? "" : ", or 4 less with a 28-byte header");
}

std::uint64_t whole_particles(const FileFacts& facts, const Fit& fit) {
  std::uint64_t left = facts.file_bytes - std::min(facts.file_bytes, fit.header_bytes);
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

Error too_short(const FileFacts& facts, const Fit& fit) {
  return refusal(
      facts, ErrorClass::kShortFile, facts.file_bytes,
      fmt::format("{} bytes are missing: the file has {} bytes, {} precision needs {}; {} "
                  "of {} particles are whole",
                  fit.file_bytes() - facts.file_bytes, facts.file_bytes, name_of(fit.precision),
                  fit.file_bytes(), whole_particles(facts, fit), fit.reading.counts.total()));
}

/// The size fits, but not what the user said.
Error contradiction(const FileFacts& facts, Precision word, const std::vector<Precision>& fitting) {
  return refusal(facts, ErrorClass::kInvalidArgument, facts.file_bytes,
                 fmt::format("precision {} was asked for, but {} bytes fit {}", name_of(word),
                             facts.file_bytes, names_of(fitting)));
}

/// The user named the precision and no size fits: bytes past the last record are ignored.
Result<std::uint64_t> trailing_bytes(const FileFacts& facts, const Fit& wanted) {
  if (facts.file_bytes < wanted.file_bytes()) return failure(too_short(facts, wanted));
  return facts.file_bytes - wanted.file_bytes();
}

/// What the first bytes of compressed files are.
struct Packing {
  std::string_view mark;
  std::string_view name;
  std::string_view unpacked_by;
};
constexpr std::array<Packing, 4> kPackings{{{"\x1f\x8b", "gzip", "gunzip"},
                                            {"BZh", "bzip2", "bunzip2"},
                                            {"\xfd"
                                             "7zXZ",
                                             "xz", "unxz"},
                                            {"\x28\xb5\x2f\xfd", "zstd", "unzstd"}}};

/// It has no 3 dimensions in any byte order.
Error explain_dimensions(const FileFacts& facts) {
  const std::string_view text(reinterpret_cast<const char*>(facts.head.data()), facts.head.size());
  for (const Packing& packing : kPackings)
    if (text.starts_with(packing.mark))
      return refusal(facts, ErrorClass::kUnsupported, 0,
                     fmt::format("it is compressed with {}; unpack it first, with {}", packing.name,
                                 packing.unpacked_by));
  const std::int32_t native = decode_header(facts.head, ByteOrder::kNative).ndim;
  const std::int32_t standard = decode_header(facts.head, ByteOrder::kStandard).ndim;
  for (const std::int32_t dimensions : {native, standard})
    if (dimensions == 1 || dimensions == 2)
      return refusal(facts, ErrorClass::kUnsupported, 12,
                     fmt::format("it has {} dimension{}; only 3 are supported", dimensions,
                                 dimensions == 1 ? "" : "s"));
  return refusal(facts, ErrorClass::kDamage, 12,
                 fmt::format("not a Tipsy snapshot: the dimension must be 3, it is {} in native "
                             "and {} in standard byte order",
                             native, standard));
}

Error explain_misfit(const FileFacts& facts, const std::vector<Fit>& fits) {
  // The first of them is the smallest that is likely; the 28-byte header is 4 bytes smaller, but a
  // file in between is rather a truncated one.
  if (facts.file_bytes < fits.front().file_bytes()) return too_short(facts, fits.front());
  return refusal(facts, ErrorClass::kDamage, facts.file_bytes,
                 fmt::format("the size fits no precision: the file has {} bytes, but {}; name the "
                             "precision to read it regardless",
                             facts.file_bytes, describe_sizes(fits)));
}

/// Fills in what depends on the fit.
void adopt(const Fit& fit, Snapshot& snapshot) {
  snapshot.header_bytes = fit.header_bytes;
  snapshot.counts = fit.reading.counts;
  snapshot.pad_used = fit.reading.pad_used;
}

/// Some sizes fit. All of them have the same counts and header: see the page, step 3.
Status settle(const FileFacts& facts,
              const std::vector<Fit>& fitting,
              std::optional<Precision> word,
              Snapshot& snapshot) {
  adopt(fitting.front(), snapshot);
  for (const Fit& fit : fitting)
    snapshot.candidates.push_back(fit.precision);
  if (word && std::ranges::count(snapshot.candidates, *word) == 0) {
    return failure(contradiction(facts, *word, snapshot.candidates));
  }
  if (word) {
    snapshot.candidates = {*word};
  } else if (snapshot.counts.total() == 0) {
    snapshot.candidates = {Precision::kSingle};
  }
  return {};
}

/// Decides counts, header and precision from the size.
Status fit_size(const FileFacts& facts, std::optional<Precision> word, Snapshot& snapshot) {
  const bool has_pad = facts.file_bytes >= kHeaderBytes;
  const std::vector<Reading> readings = readings_of(snapshot.header, has_pad, facts.counts_from);
  if (readings.empty()) {
    const Counts plain = plain_counts(snapshot.header);
    return failure(
        refusal(facts, ErrorClass::kDamage, 8,
                fmt::format("nbodies is {}, but the families sum to {} ({} gas, {} dark, "
                            "{} star), and the pad {:#010x} does not explain it; say "
                            "--counts-from families to read it by these",
                            snapshot.header.nbodies, plain.total(), plain.gas, plain.dark,
                            plain.star, snapshot.header.pad)));
  }
  const std::vector<Fit> fits = possible_fits(readings);
  std::vector<Fit> fitting;
  std::ranges::copy_if(fits, std::back_inserter(fitting),
                       [&](const Fit& fit) { return fit.file_bytes() == facts.file_bytes; });
  if (!fitting.empty()) return settle(facts, fitting, word, snapshot);
  if (!word) return failure(explain_misfit(facts, fits));

  const Fit wanted{readings.front(), kHeaderBytes, *word};
  const Result<std::uint64_t> trailing = trailing_bytes(facts, wanted);
  if (!trailing) return failure(trailing.error());
  adopt(wanted, snapshot);
  snapshot.candidates = {*word};
  snapshot.trailing_bytes = *trailing;
  return {};
}

}  // namespace

Result<Layout> Snapshot::layout() const {
  if (candidates.size() == 1) return Layout{counts, candidates.front(), order, header_bytes};
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "recognise",
       .path = path,
       .cause = fmt::format("{} bytes fit {} alike: say --double-positions or --double-velocities",
                            file_bytes, names_of(candidates))});
}

Result<Snapshot> recognise(const FileFacts& facts, std::optional<Precision> word) {
  if (facts.file_bytes < kShortHeaderBytes || facts.head.size() < kShortHeaderBytes) {
    return failure(refusal(facts, ErrorClass::kDamage, facts.file_bytes,
                           fmt::format("not a Tipsy snapshot: {} bytes are too few for a header of "
                                       "{}",
                                       facts.file_bytes, kShortHeaderBytes)));
  }
  const std::optional<ByteOrder> order = byte_order_of(facts.head);
  if (!order) return failure(explain_dimensions(facts));
  Snapshot snapshot;
  snapshot.path = facts.path;
  snapshot.file_bytes = facts.file_bytes;
  snapshot.order = *order;
  snapshot.header = decode_header(facts.head, *order);
  if (const Status fitted = fit_size(facts, word, snapshot); !fitted)
    return failure(fitted.error());
  return snapshot;
}

}  // namespace forebay::tipsy
