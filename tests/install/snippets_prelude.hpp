// SPDX-License-Identifier: Apache-2.0
// Names that snippets of pages use and do not declare: the program around a snippet, and objects
// that an earlier snippet of the page opened. snippets_test.py compiles the snippets with them.
#pragma once

#include <forebay/charm.hpp>
#include <forebay/forebay.hpp>
#include <forebay/mpi.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

struct Mesh {
  std::uint64_t number;
  std::uint64_t nodes;
  std::vector<double> velocity;
};

int print_error(const forebay::Error& error);
int finish(const forebay::Status& status);
int run(const forebay::File& file);
void compute();
void compute(std::span<std::byte> into);
void use(std::span<const std::byte> bytes);

extern int argc;
extern char** argv;
extern std::string path;
extern int tasks_left;
extern std::uint64_t offset;
extern std::uint64_t size;
extern std::uint64_t total;
extern std::uint64_t steps;
extern std::vector<std::byte> into;
extern std::vector<double> velocity;
extern std::vector<double> pressure;
extern std::vector<Mesh> my_parts;
extern forebay::Subarray block;
extern std::vector<forebay::Future<forebay::Receipt>> receipts;

extern forebay::Runtime runtime;
extern forebay::Result<forebay::DatasetReader> reader;
extern forebay::Result<forebay::DatasetWriter> writer;
extern forebay::Result<forebay::File> file;
extern forebay::Result<forebay::Session> session;

// What the guide to Charm++ takes from charm++.h and from forebay_charm.hpp. Only declarations:
// snippets are compiled, not linked.
struct CkCallback {
  template <class Er>
  friend Er& operator|(Er& p, CkCallback& callback);
};
void CkPrintf(const char* format, ...);

namespace forebay::charm {

struct FileReadyMsg : FileReadyFields {};
struct SessionReadyMsg : SessionReadyFields {};
struct ReadCompleteMsg : ReadCompleteFields {};
struct ClosedMsg : ClosedFields {};

template <>
struct TaskSystemOf<CkCallback> {
  using FileReadyMsg = charm::FileReadyMsg;
  using SessionReadyMsg = charm::SessionReadyMsg;
  using ReadCompleteMsg = charm::ReadCompleteMsg;
  using ClosedMsg = charm::ClosedMsg;

  template <class M>
  static M* make(std::size_t data_bytes, std::size_t error_bytes);
  template <class M>
  static void destroy(M* message);
  template <class M>
  static void send(const CkCallback& callback, M* message);
  static Process<CkCallback>& process();
  static std::size_t process_count();
  static void transmit(std::size_t process, Command<CkCallback> command);
  static Executor& executor();
  static void* current_thread();
  static void suspend();
  static void awaken(void* thread);
};

using FileReader = BasicFileReader<CkCallback>;
RuntimeFactory& runtime_factory();

}  // namespace forebay::charm

extern CkCallback opened;
extern CkCallback started;
extern CkCallback have;
extern CkCallback closed;
extern char* data;
extern forebay::charm::FileReadyMsg* ready;
extern forebay::charm::SessionReadyMsg* begun;

namespace charm = forebay::charm;
