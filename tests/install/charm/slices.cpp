// SPDX-License-Identifier: Apache-2.0
// Reads a file of 8-byte words, each equal to its index, with a chare for each slice. The first
// half of a slice is read into memory of the chare, the second half into a message while the chare
// migrates. docs/guides/charm.md shows how to build it.
//
// Usage: charmrun +p2 slices FILE BYTES SLICES
#include <forebay/charm/forebay_charm.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <slices.decl.h>

namespace charm = forebay::charm;

CProxy_Main main_proxy;

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// Counts the words that differ from their index.
int count_bad(const char* data, std::size_t bytes, std::size_t offset) {
  int bad = 0;
  for (std::size_t at = 0; at < bytes; at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, kWord);
    bad += word == (offset + at) / kWord ? 0 : 1;
  }
  return bad;
}

/// Ends the program with the Error of a message.
void require(const charm::MessageFields& message) {
  if (message.has_failed()) CkAbort("%s", message.error);
}

}  // namespace

class Slice : public CBase_Slice {
 public:
  Slice() = default;
  explicit Slice(CkMigrateMessage* message) : CBase_Slice(message) {}

  void pup(PUP::er& p) override {
    p | session_;
    p | offset_;
    p | half_;
    p | bad_;
    p | first_pe_;
  }

  void start(charm::Session session, int slices) {
    session_ = session;
    half_ = session.getBytes() / static_cast<std::size_t>(slices) / 2;
    offset_ = static_cast<std::size_t>(thisIndex) * 2 * half_;
    first_pe_ = CkMyPe();
    memory_.resize(half_);
    charm::read(session_, half_, offset_, memory_.data(),
                CkCallback(CkIndex_Slice::have_first_half(nullptr), thisProxy[thisIndex]));
  }

  void have_first_half(charm::ReadCompleteMsg* message) {
    require(*message);
    bad_ += count_bad(memory_.data(), message->bytes, message->offset);
    delete message;
    charm::read(session_, half_, offset_ + half_,
                CkCallback(CkIndex_Slice::have_second_half(nullptr), thisProxy[thisIndex]));
    if (CkNumPes() > 1) migrateMe((CkMyPe() + 1) % CkNumPes());
  }

  void have_second_half(charm::ReadCompleteMsg* message) {
    require(*message);
    bad_ += count_bad(message->data, message->bytes, message->offset);
    bad_ += message->bytes == half_ ? 0 : 1;
    bad_ += CkNumPes() == 1 || CkMyPe() != first_pe_ ? 0 : 1;
    delete message;
    contribute(sizeof bad_, &bad_, CkReduction::sum_int,
               CkCallback(CkReductionTarget(Main, all_read), main_proxy));
  }

 private:
  charm::Session session_;
  std::size_t offset_ = 0;
  std::size_t half_ = 0;
  int bad_ = 0;
  int first_pe_ = 0;
  std::vector<char> memory_;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    if (arguments->argc != 4) CkAbort("usage: slices FILE BYTES SLICES");
    main_proxy = thisProxy;
    bytes_ = std::stoull(arguments->argv[2]);
    slices_ = std::stoi(arguments->argv[3]);
    charm::open(arguments->argv[1], CkCallback(CkIndex_Main::opened(nullptr), thisProxy));
    delete arguments;
  }
  void opened(charm::FileReadyMsg* message) {
    require(*message);
    file_ = message->file;
    delete message;
    charm::startReadSession(file_, bytes_, 0,
                            CkCallback(CkIndex_Main::started(nullptr), thisProxy));
  }
  void started(charm::SessionReadyMsg* message) {
    require(*message);
    session_ = message->session;
    delete message;
    CProxy_Slice slices = CProxy_Slice::ckNew(slices_);
    slices.start(session_, slices_);
  }
  void all_read(int bad) {
    CkPrintf("%d slices read, %d wrong words\n", slices_, bad);
    thisProxy.read_stream();
  }
  void read_stream() {
    charm::FileReader reader(session_);
    int bad = 0;
    char word[kWord];
    for (std::size_t at = 0; reader.read(word, kWord); at += kWord)
      bad += count_bad(word, kWord, at);
    CkPrintf("stream read up to %s, %d wrong words\n", reader.eof() ? "its end" : "an error", bad);
    charm::closeReadSession(session_, CkCallback(CkIndex_Main::session_closed(nullptr), thisProxy));
  }
  void session_closed(charm::ClosedMsg* message) {
    require(*message);
    delete message;
    charm::close(file_, CkCallback(CkIndex_Main::file_closed(nullptr), thisProxy));
  }
  void file_closed(charm::ClosedMsg* message) {
    require(*message);
    delete message;
    CkExit();
  }

 private:
  std::size_t bytes_ = 0;
  int slices_ = 0;
  charm::File file_;
  charm::Session session_;
};

#include <forebay_charm.def.h>
#include <slices.def.h>
