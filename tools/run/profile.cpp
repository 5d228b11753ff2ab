// SPDX-License-Identifier: Apache-2.0
#include "tools/run/profile.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <limits>
#include <ranges>
#include <regex>
#include <sstream>
#include <utility>

#include "base/fnv.hpp"

namespace forebay::run {

namespace {

namespace fs = std::filesystem;

std::string hash_of(std::string_view text) {
  std::uint64_t hash = kFnv1aBasis;
  for (const char one : text)
    hash = fnv1a(hash, static_cast<unsigned char>(one));
  std::ostringstream digits;
  digits << std::hex << std::setw(16) << std::setfill('0') << hash;
  return std::move(digits).str();
}

/// Whether a file is named as profiles and what a killed agent leaves of them. Others in the
/// folder belong to the user.
bool is_profile(const std::string& name) {
  static const std::regex pattern(
      "[A-Za-z0-9._-]{1,64}-[0-9a-f]{16}\\.hints(\\.tmp-[0-9a-f]{16})?");
  return std::regex_match(name, pattern);
}

/// Removes profiles beyond kStoredMax, and some more: their times cost round trips to a server.
void remove_oldest(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code failed;
  for (fs::directory_iterator one(folder, failed); !failed && one != fs::directory_iterator();
       one.increment(failed))
    if (is_profile(one->path().filename().string())) paths.push_back(one->path());
  if (paths.size() <= Profile::kStoredMax) return;
  std::vector<std::pair<fs::file_time_type, fs::path>> stored;
  for (fs::path& path : paths)
    stored.emplace_back(fs::last_write_time(path, failed), std::move(path));
  std::ranges::sort(stored, std::greater());
  for (std::size_t i = Profile::kStoredMax - Profile::kWrittenMax; i < stored.size(); ++i)
    fs::remove(stored[i].second, failed);
}

/// A hint of another file of the same class is used if it explains its reads by loops.
constexpr double kClassExplainedMin = 0.9;
constexpr std::size_t kClassHintsMax = 2;

}  // namespace

std::string class_of(std::string_view text) {
  std::string found;
  bool was_digit = false;
  for (const char one : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(one)) != 0;
    if (!is_digit) found += one;
    if (is_digit && !was_digit) found += '#';
    was_digit = is_digit;
  }
  return found;
}

std::string profile_name(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words)
    all += class_of(word) + '\0';
  std::string program = words.empty() ? "program" : fs::path(words.front()).filename().string();
  for (char& one : program)
    if (std::isalnum(static_cast<unsigned char>(one)) == 0 && one != '.' && one != '-') one = '_';
  return program.substr(0, 64) + "-" + hash_of(all);
}

void Profile::add_process(std::uint32_t process, const std::vector<std::string>& words) {
  const std::string name = profile_name(words);
  if (programs_.size() >= kProgramsMax && !programs_.contains(name)) return;
  names_[process] = name;
  auto& program = programs_[name];
  if (program) return;
  program = std::make_unique<Program>();
  for (const std::string& word : words)
    program->command += (program->command.empty() ? "" : " ") + word;
  if (folder_.empty()) return;
  program->path = (fs::path(folder_) / (name + ".hints")).string();
  program->load();
}

/// A damaged profile is replaced at the end.
void Profile::Program::load() {
  if (auto found = push::read_hint_file(path)) hints = std::move(*found);
  for (const push::FileHint& hint : hints) {
    if (push::is_pattern(hint.file))
      patterns.push_back(&hint);
    else if (hint.signature != nullptr)  // one that a user has added may have parameters
      by_class[class_of(hint.file)].push_back(&hint);
  }
}

const Profile::Program* Profile::program_of(std::uint32_t process) const {
  const auto name = names_.find(process);
  return name != names_.end() ? programs_.at(name->second).get() : nullptr;
}

std::vector<std::string> Profile::files(std::uint32_t process) const {
  std::vector<std::string> found;
  const Program* const program = program_of(process);
  if (program == nullptr) return found;
  for (const push::FileHint& hint : program->hints) {
    const bool is_known = !found.empty() && found.back() == hint.file;
    if (!push::is_pattern(hint.file) && !is_known) found.push_back(hint.file);
  }
  return found;
}

std::vector<const push::FileHint*> Profile::hints_for(std::uint32_t process,
                                                      const std::string& path,
                                                      const push::FileVersion& version) const {
  const Program* const program = program_of(process);
  if (program == nullptr) return {};
  std::vector<const push::FileHint*> found;
  std::vector<const push::FileHint*> others;  // of files of the same class
  const auto candidates = program->by_class.find(class_of(path));
  if (candidates != program->by_class.end()) {
    for (const push::FileHint* const hint : candidates->second) {
      const bool is_other = hint->file != path && hint->explained >= kClassExplainedMin &&
                            others.size() < kClassHintsMax;
      if (hint->file == path && push::is_unchanged(hint->version, version)) found.push_back(hint);
      if (is_other) others.push_back(hint);
    }
  }
  for (const push::FileHint* const hint : program->patterns)
    if (push::is_match(*hint, path, version)) found.push_back(hint);
  return found.empty() ? others : found;
}

void Profile::learn(std::uint32_t process, const File& file, std::vector<trace::Access> reads) {
  const auto name = names_.find(process);
  const std::size_t count = reads.size();
  if (name == names_.end() || reads_ + count > kReadsMax) return;
  Program& program = *programs_.at(name->second);
  if (!program.learned.add(file.path, std::move(reads), file.version)) return;
  auto& begin =
      program.begin_ns.try_emplace(push::pattern_of(file.path), file.begin_ns).first->second;
  begin = std::min(begin, file.begin_ns);
  program.reads += count;
  reads_ += count;
}

/// Files that this run has not read come last. Another job may have written the profile meanwhile.
void Profile::Program::merge() {
  by_class.clear();
  patterns.clear();
  if (auto newest = push::read_hint_file(path)) hints = std::move(*newest);
  hints = learned.merge(hints);
  const auto begin_of = [this](const push::FileHint& hint) {
    const auto begin = begin_ns.find(hint.file);
    return begin != begin_ns.end() ? begin->second : std::numeric_limits<std::uint64_t>::max();
  };
  std::multimap<std::uint64_t, push::FileHint> ordered;  // hints with equal keys keep their order
  for (const push::FileHint& hint : hints)
    ordered.emplace(begin_of(hint), hint);
  std::ranges::copy(ordered | std::views::values, hints.begin());
}

/// With the most reads first.
std::vector<Profile::Program*> Profile::learned_programs() const {
  std::vector<Program*> found;
  for (const auto& [name, program] : programs_)
    if (program->reads > 0) found.push_back(program.get());
  std::ranges::sort(found, [](const Program* a, const Program* b) {
    return a->reads != b->reads ? a->reads > b->reads : a->path < b->path;
  });
  if (found.size() > kWrittenMax) found.resize(kWrittenMax);
  return found;
}

void Profile::write() {
  const std::vector<Program*> programs = learned_programs();
  std::error_code failed;
  if (!folder_.empty() && !programs.empty()) fs::create_directories(folder_, failed);
  for (Program* const program : programs) {
    program->merge();
    for (const push::FileHint& hint : program->hints)
      if (program->begin_ns.contains(hint.file)) learned_[hint.file].push_back(&hint);
    if (!program->path.empty() && !program->hints.empty())
      static_cast<void>(push::write_hint_file(program->path, program->hints, program->command));
  }
  if (!folder_.empty()) remove_oldest(folder_);
}

std::vector<push::FileHint> Profile::learned(const std::string& path) const {
  std::vector<push::FileHint> found;
  const auto hints = learned_.find(push::pattern_of(path));
  if (hints == learned_.end()) return found;
  for (const push::FileHint* const hint : hints->second)
    if (hint->signature != nullptr) found.push_back(*hint);
  return found;
}

}  // namespace forebay::run
