// SPDX-License-Identifier: Apache-2.0
// Hint files: signatures of files that a program will read (docs/formats/hints.md), for instance of
// an earlier run.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "push/parametric_signature.hpp"
#include "trace/signature.hpp"

namespace forebay::push {

/// Maximum length of a hint file, and number of its hints.
inline constexpr std::size_t kHintFileBytesMax = std::size_t{16} << 20U;
inline constexpr std::size_t kHintsMax = 4096;

/// Shows whether a file has changed. Zeros are unknown.
struct FileVersion {
  std::uint64_t size_bytes = 0;
  std::uint64_t modified_ns = 0;  ///< since 1970

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

/// Zeros if there is no such file. Blocks.
FileVersion version_of(const std::string& path);

/// False if the file has changed between the two.
constexpr bool is_unchanged(const FileVersion& one, const FileVersion& other) noexcept {
  const auto is_equal = [](std::uint64_t a, std::uint64_t b) { return a == b || a == 0 || b == 0; };
  return is_equal(one.size_bytes, other.size_bytes) && is_equal(one.modified_ns, other.modified_ns);
}

/// What a hint file states about the files of one path or pattern.
struct FileHint {
  std::string file;  ///< as the program opens it, or a shell pattern, in which * may match /
  std::shared_ptr<const trace::Signature> signature;  ///< describes reads; null: parametric
  std::uint64_t reads = 0;                            ///< of the stream; 0: unknown
  double explained = 1;  ///< share of these reads that the signature yields
  std::shared_ptr<const ParametricSignature> parametric = nullptr;  ///< instead of `signature`
  FileVersion version = {};  ///< the hint is for this version alone
};

/// Parses a hint file. Fails with kInvalidArgument; the Error names path and line, the key, and the
/// value to write instead. An error inside a signature has its line and column there. Any thread.
Result<std::vector<FileHint>> parse_hints(std::string_view text, const std::string& path);

/// Reads a hint file. Fails as parse_hints(), and if the file cannot be read. Blocks.
Result<std::vector<FileHint>> read_hint_file(const std::string& path);

/// Creates or replaces a hint file, and syncs it. The last hints are left out if the file would
/// exceed kHintFileBytesMax. `command` is the command line that has the reads, for users; may be
/// empty. Fails as TemporaryFile. Blocks.
Status write_hint_file(const std::string& path,
                       std::span<const FileHint> hints,
                       std::string_view command = {});

/// False if the file of a hint is a path, in which no character is special.
bool is_pattern(std::string_view file) noexcept;

/// `path` as a pattern that matches only itself.
std::string pattern_of(std::string_view path);

/// Whether a hint is for a file in a version.
bool is_match(const FileHint& hint, const std::string& file, const FileVersion& version);

/// The hints of a file, best first: hints with this path, then patterns, each in the order of
/// `hints`, without those for other versions of the file. They point into `hints`.
std::vector<const FileHint*> hints_for(std::span<const FileHint> hints,
                                       std::string_view file,
                                       const FileVersion& version = {});

}  // namespace forebay::push
