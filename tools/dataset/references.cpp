// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/references.hpp"

#include <filesystem>
#include <utility>

#include "command/published_file.hpp"
#include "tools/dataset/chunk_grid.hpp"
#include "tools/dataset/foreign_names.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Json;
using format::Block;
using format::BlockPlace;
using format::FieldKind;
using format::Place;
using format::StepCatalog;
using format::StepField;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;

/// The file, as one object whose members come one after another.
class ReferenceFile {
 public:
  ReferenceFile(command::PublishedFile file, std::string folder)
      : file_(std::move(file)), folder_(std::move(folder)) {
    buffer_ = R"({"version":1,"refs":{)";
  }

  Status add_metadata(const std::string& key, const Json& value) {
    const std::string text = command::dump(value, -1);
    all_ += (all_.empty() ? "" : ",") + command::dump(Json(key), -1) + ":" + text;
    return add(key, text);
  }
  Status add_chunk(const std::string& key, const std::string& path, ByteRange range) {
    ++chunks_;
    bytes_ += range.size;
    const std::string name = std::filesystem::path(path).filename().string();
    return add(key, Json{folder_ + "/" + name, range.offset, range.size});
  }
  /// Adds all metadata once more, in one place: zarr cannot list groups of references.
  Status finish() {
    Status done = add(".zmetadata", R"({"zarr_consolidated_format":1,"metadata":{)" + all_ + "}}");
    buffer_ += "\n}}\n";
    if (done) done = flush();
    return done ? file_.publish() : done;
  }
  std::uint64_t chunks() const { return chunks_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Status add(const std::string& key, const Json& value) {
    buffer_ += std::exchange(separator_, ",\n");
    buffer_ += command::dump(Json(key), -1) + ":" + command::dump(value, -1);
    return buffer_.size() < kBufferBytes ? Status{} : flush();
  }
  Status flush() {
    Status done = file_.write(end_, std::as_bytes(std::span(buffer_)));
    end_ += buffer_.size();
    buffer_.clear();
    return done;
  }

  command::PublishedFile file_;
  std::string folder_;
  std::string buffer_;
  std::string all_;  ///< metadata so far
  const char* separator_ = "\n";
  std::uint64_t end_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t bytes_ = 0;
};

/// How the bytes of a block lie in the file, for somebody who takes them as one chunk. Frames of
/// Zstandard that follow one another are Zstandard again.
enum class Stored : std::uint8_t { kPlain, kFrames, kMixed };

Stored stored_as(const Block& block) {
  std::uint64_t frames = 0;
  if (block.codec == format::Codec::kNone) return Stored::kPlain;
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece)
    frames += block.stored_range(piece).size < block.raw_range(piece).size ? 1 : 0;
  if (frames == 0) return Stored::kPlain;
  return frames == block.pieces() ? Stored::kFrames : Stored::kMixed;
}

/// An array as Zarr 2 describes it.
Json array_document(const StepField& field, const Place& shape, Place chunk, Stored stored) {
  for (std::uint64_t& extent : chunk)
    extent = std::max<std::uint64_t>(extent, 1);
  Json compressor = nullptr;
  if (stored == Stored::kFrames) compressor = {{"id", "zstd"}, {"level", 1}};
  return {{"zarr_format", 2},
          {"shape", shape},
          {"chunks", chunk},
          {"dtype", numpy_type(field.definition.type, field.definition.order)},
          {"compressor", compressor},
          {"fill_value", nullptr},
          {"order", "C"},
          {"filters", nullptr}};
}

/// Names of dimensions, which xarray wants: those of one size only may have the same.
Json dimension_names(const std::string& array, std::size_t dimensions) {
  Json names = Json::array();
  for (std::size_t d = 0; d < dimensions; ++d)
    names.push_back(array + "_" + std::to_string(d));
  return {{"_ARRAY_DIMENSIONS", names}};
}

class References {
 public:
  References(const Selected& selected, ReferenceFile& file)
      : step_(*selected.step), fields_(selected.fields), file_(file) {}

  Status write() {
    Status done = file_.add_metadata(".zgroup", {{"zarr_format", 2}});
    if (done) done = file_.add_metadata(".zattrs", {{"step", step_.entry().step}});
    for (const StepField& field : fields_) {
      if (!done) return done;
      const bool is_global = field.definition.kind == FieldKind::kGlobal;
      done = is_global ? add_global(field) : add_parts(field);
    }
    return done;
  }
  std::uint64_t arrays() const { return arrays_; }

 private:
  Status refuse(const StepField& field, const std::string& cause) const {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "export as references",
                    .path = std::filesystem::path(step_.files().front().path).parent_path(),
                    .cause = "step " + std::to_string(step_.entry().step) + ", field " +
                             field.definition.name + ": " + cause +
                             "; --hdf5 copies it, --field exports another one alone"});
  }
  Status add_array(const std::string& key, const Json& array, const Json& attributes) {
    ++arrays_;
    Status done = file_.add_metadata(key + "/.zarray", array);
    return done ? file_.add_metadata(key + "/.zattrs", attributes) : done;
  }
  Status add_parts(const StepField& field);
  Status add_part(const StepField& field, const BlockPlace& place);
  Status add_global(const StepField& field);
  Status add_block(const StepField& field,
                   const BlockPlace& place,
                   const ChunkGrid& grid,
                   Stored stored);
  Result<Stored> stored_alike(const StepField& field, std::span<const BlockPlace> places) const;
  Result<ByteRange> chunk_range(const StepField& field,
                                const BlockPlace& place,
                                ByteRange in_block,
                                Stored stored) const;

  const StepCatalog& step_;
  std::span<const StepField> fields_;
  ReferenceFile& file_;
  std::uint64_t arrays_ = 0;
};

Status References::add_parts(const StepField& field) {
  Status done =
      file_.add_metadata(node_name(field.definition.name) + "/.zgroup", {{"zarr_format", 2}});
  for (const BlockPlace& place : step_.blocks(field.definition.name)) {
    if (!done) return done;
    done = add_part(field, place);
  }
  return done;
}

Status References::add_part(const StepField& field, const BlockPlace& place) {
  const Block block = step_.block(place);
  const Place shape = step_.index(place).shape(place.field, place.number);
  const Stored stored = stored_as(block);
  const std::string part = std::to_string(block.key);
  if (stored == Stored::kMixed)
    return refuse(field, "pieces of part " + part + " are stored in different ways");
  const std::string key = node_name(field.definition.name) + "/" + part;
  const Json array = array_document(field, shape, shape, stored);
  const Json attributes = dimension_names("part_" + part, shape.size());
  Status done = add_array(key, array, attributes);
  if (!done || block.raw_bytes == 0) return done;
  std::string chunk = "0";
  for (std::size_t d = 1; d < shape.size(); ++d)
    chunk += ".0";
  return file_.add_chunk(key + "/" + chunk, step_.files()[place.file].path,
                         {block.offset, block.stored_bytes});
}

Result<Stored> References::stored_alike(const StepField& field,
                                        std::span<const BlockPlace> places) const {
  const Stored stored = places.empty() ? Stored::kPlain : stored_as(step_.block(places.front()));
  for (const BlockPlace& place : places) {
    if (stored != Stored::kMixed && stored_as(step_.block(place)) == stored) continue;
    return tl::unexpected(refuse(field, "its blocks are stored in different ways").error());
  }
  return stored;
}

/// A chunk that is short at the end of the array must not be short for Zarr. Without a codec it may
/// go on with whatever follows in the file: nobody looks at that.
Result<ByteRange> References::chunk_range(const StepField& field,
                                          const BlockPlace& place,
                                          ByteRange in_block,
                                          Stored stored) const {
  const Block block = step_.block(place);
  if (block.raw_bytes == in_block.size) return ByteRange{block.offset, block.stored_bytes};
  const auto file = format::file_of(step_.files()[place.file]);
  if (!file) return tl::unexpected(file.error());
  const auto file_bytes = (*file)->size();
  if (!file_bytes) return tl::unexpected(file_bytes.error());
  const ByteRange range{block.offset + in_block.offset, in_block.size};
  if (stored == Stored::kPlain && range.end() <= *file_bytes) return range;
  return tl::unexpected(
      refuse(field, "the last blocks are shorter than the others, and chunks may not be").error());
}

Status References::add_block(const StepField& field,
                             const BlockPlace& place,
                             const ChunkGrid& grid,
                             Stored stored) {
  const std::string name = node_name(field.definition.name);
  const std::uint64_t bytes = format::array_bytes(field.definition.type, grid.chunk).value();
  const format::Box box = step_.index(place).box(place.field, place.number);
  Place start = box.start;
  for (std::uint64_t offset = 0; start[0] < box.start[0] + box.count[0]; offset += bytes) {
    const auto range = chunk_range(field, place, {offset, bytes}, stored);
    if (!range) return tl::unexpected(range.error());
    const Status done = file_.add_chunk(name + "/" + chunk_key(grid, start),
                                        step_.files()[place.file].path, *range);
    if (!done) return done;
    start[0] += grid.chunk[0];
  }
  return {};
}

Status References::add_global(const StepField& field) {
  const Place& shape = field.definition.shape;
  const std::vector<BlockPlace> places = step_.blocks(field.definition.name);
  const auto stored = stored_alike(field, places);
  if (!stored) return tl::unexpected(stored.error());
  std::vector<format::Box> boxes;
  boxes.reserve(places.size());
  for (const BlockPlace& place : places)
    boxes.push_back(step_.index(place).box(place.field, place.number));
  const bool is_empty = format::array_bytes(field.definition.type, shape) == 0U;
  const Cutting cutting = *stored == Stored::kPlain ? Cutting::kAlongRows : Cutting::kNever;
  const auto grid = is_empty ? ChunkGrid{.chunk = shape} : find_grid(shape, boxes, cutting);
  if (!grid) return refuse(field, grid.error().cause());
  const std::string name = node_name(field.definition.name);
  Status done = add_array(name, array_document(field, shape, grid->chunk, *stored),
                          dimension_names(name, shape.size()));
  for (const BlockPlace& place : places)
    if (done && !is_empty) done = add_block(field, place, *grid, *stored);
  return done;
}

/// The folder as references name it, which are JSON.
Result<std::string> folder_for_references(const std::string& path) {
  std::error_code error;
  std::string folder = std::filesystem::canonical(path, error).string();
  if (error)
    return tl::unexpected(system_error({.operation = "find", .path = path}, error.value()));
  if (format::is_utf8(folder)) return folder;
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "export as references",
                  .path = folder,
                  .cause = "this path is no UTF-8 text, and references are JSON, which cannot have "
                           "it; move the dataset, or export it with --hdf5"});
}

}  // namespace

Result<Json> write_references(const Selection& selection, const std::string& output) {
  const auto selected = select(selection);
  if (!selected) return tl::unexpected(selected.error());
  auto folder = folder_for_references(selection.path);
  if (!folder) return tl::unexpected(folder.error());
  auto published = command::PublishedFile::create(output);
  if (!published) return tl::unexpected(published.error());
  ReferenceFile file(std::move(*published), std::move(*folder));
  References references(*selected, file);
  Status done = references.write();
  if (done) done = file.finish();
  if (!done) return tl::unexpected(done.error());
  return Json{{"path", selection.path},
              {"output", output},
              {"step", selected->step->entry().step},
              {"fields", selected->fields.size()},
              {"arrays", references.arrays()},
              {"chunks", file.chunks()},
              {"referenced_bytes", file.bytes()}};
}

}  // namespace forebay::dataset_tool
