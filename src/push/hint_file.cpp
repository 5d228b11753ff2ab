// SPDX-License-Identifier: Apache-2.0
#include "push/hint_file.hpp"

#include <forebay/temporary_file.hpp>

#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include <fnmatch.h>

#include "base/text_file.hpp"
#include "model/machine_reader.hpp"

namespace forebay::push {

namespace {

constexpr std::int64_t kHintFormat = 1;
constexpr std::string_view kOperation = "read hints";
constexpr std::uint64_t kReadsMax = std::numeric_limits<std::int64_t>::max();

std::shared_ptr<const trace::Signature> parse_reads(const toml::table& table,
                                                    const std::string& text,
                                                    model::ParseErrors& errors) {
  const toml::node* const node = table.get("signature");
  const auto& place = node == nullptr ? table.source() : node->source();
  auto signature = trace::parse_signature(text);
  if (!signature) {
    errors.add(place, "hint.signature: " + signature.error().cause());
    return nullptr;
  }
  if (signature->operation != trace::Operation::kRead)
    errors.add(place, "hint.signature describes writes: write a signature of reads");
  return std::make_shared<const trace::Signature>(std::move(*signature));
}

FileHint read_hint(const toml::table& table, model::ParseErrors& errors) {
  FileHint hint;
  std::string signature;
  model::TableReader reader(table, "hint.", errors);
  reader.text("file", hint.file, model::FieldPresence::kRequired);
  reader.text("signature", signature, model::FieldPresence::kRequired);
  reader.count("reads", hint.reads, {0, kReadsMax}, model::FieldPresence::kOptional);
  reader.real("explained", hint.explained, model::RealRule::kShare);
  reader.finish();
  if (hint.file.empty() || hint.file.find('\0') != std::string::npos)
    errors.add(table.source(), "hint.file is empty or has a zero byte: write a path or a pattern");
  if (!errors.first()) hint.signature = parse_reads(table, signature, errors);
  return hint;
}

}  // namespace

Result<std::vector<FileHint>> parse_hints(std::string_view text, const std::string& path) {
  const Result<toml::table> root = model::parse_toml(text, path, kOperation);
  if (!root) return failure(root.error());
  model::ParseErrors errors(path, std::string(kOperation));
  model::check_format(*root, kHintFormat, errors);
  model::reject_unknown_keys(*root, "", {"format", "hint"}, errors);
  const auto* const entries = root->get_as<toml::array>("hint");
  if (entries != nullptr && entries->size() > kHintsMax) {
    errors.add(entries->get(kHintsMax)->source(), "there are " + std::to_string(entries->size()) +
                                                      " hints: write at most " +
                                                      std::to_string(kHintsMax));
  }
  std::vector<FileHint> hints;
  if (!errors.first()) hints = model::read_tables(*root, "hint", read_hint, errors);
  if (errors.first()) return failure(*errors.first());
  return hints;
}

Result<std::vector<FileHint>> read_hint_file(const std::string& path) {
  const auto text = read_text_file(path, kOperation, kHintFileBytesMax);
  if (!text) return failure(text.error());
  return parse_hints(*text, path);
}

Status write_hint_file(const std::string& path, std::span<const FileHint> hints) {
  toml::array entries;
  for (const FileHint& hint : hints) {
    entries.push_back(toml::table{{"file", hint.file},
                                  {"signature", trace::to_text(*hint.signature)},
                                  {"reads", static_cast<std::int64_t>(hint.reads)},
                                  {"explained", hint.explained}});
  }
  std::ostringstream text;
  text << toml::table{{"format", kHintFormat}, {"hint", std::move(entries)}} << '\n';
  auto file = TemporaryFile::create_beside(path);
  if (!file) return failure(file.error());
  std::ofstream out(file->path(), std::ios::binary);
  out << std::move(text).str();
  out.close();
  if (out) return file->publish();
  return failure(
      {.operation = "write hints", .path = path, .error_number = errno, .cause = "incomplete"});
}

std::string pattern_of(std::string_view path) {
  std::string pattern;
  for (const char one : path) {
    if (std::string_view("*?[\\").find(one) != std::string_view::npos) pattern += '\\';
    pattern += one;
  }
  return pattern;
}

std::vector<const FileHint*> hints_for(std::span<const FileHint> hints, std::string_view file) {
  std::vector<const FileHint*> found;
  for (const FileHint& hint : hints)
    if (hint.file == file) found.push_back(&hint);
  const std::string path(file);
  for (const FileHint& hint : hints) {
    if (hint.file != file && ::fnmatch(hint.file.c_str(), path.c_str(), 0) == 0)
      found.push_back(&hint);
  }
  return found;
}

}  // namespace forebay::push
