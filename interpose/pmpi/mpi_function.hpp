// SPDX-License-Identifier: Apache-2.0
// MpiFunction: calls a function of the MPI that the program uses, whichever it is. An argument of
// these functions is an integer or a pointer, of at most 64 bits, and there are at most six, so
// each is in a register of its own: passing on six registers passes on any call. No mpi.h is
// needed, whose types differ between MPIs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <dlfcn.h>

namespace forebay::interpose {

/// An argument. The upper half of one that is shorter is undefined.
using Word = std::uintptr_t;
using Words = std::array<Word, 6>;
static_assert(sizeof(Word) == 8);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

template <class T>
Word word_of(T* pointer) noexcept {
  return reinterpret_cast<Word>(pointer);
}

/// An error of every MPI.
inline constexpr int kMpiError = 16;

/// The library of MPI that a loaded object is linked to, or null. It remains loaded.
void* find_mpi() noexcept;

/// Any thread.
class MpiFunction {
 public:
  constexpr explicit MpiFunction(const char* name) noexcept : name_(name) {}

  /// The next definition behind this library: that of another preloaded one, or of MPI, also if the
  /// program has loaded MPI with RTLD_LOCAL.
  bool find() noexcept {
    if (function_.load(std::memory_order_relaxed) != nullptr) return true;
    void* found = ::dlsym(RTLD_NEXT, name_);
    if (found == nullptr) {
      void* const library = find_mpi();
      if (library != nullptr) found = ::dlsym(library, name_);
    }
    function_.store(reinterpret_cast<Pointer>(found), std::memory_order_relaxed);
    return found != nullptr;
  }
  int operator()(const Words& words) noexcept(false) {
    if (!find()) return kMpiError;
    const Pointer real = function_.load(std::memory_order_relaxed);
    return real(words[0], words[1], words[2], words[3], words[4], words[5]);
  }

 private:
  using Pointer = int (*)(Word, Word, Word, Word, Word, Word);

  const char* name_;
  std::atomic<Pointer> function_{nullptr};
};

}  // namespace forebay::interpose
