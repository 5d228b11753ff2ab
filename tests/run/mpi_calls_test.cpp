// SPDX-License-Identifier: Apache-2.0
// Calls of MPI-IO that `forebay run` wraps. The cases pass without it, too. If FOREBAY_EXPECTED
// names a folder, each rank writes the records that its calls should give (mpi_records.cpp).
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#if MPI_VERSION < 4
// As programs refer to them that run with any MPI.
extern "C" {
[[gnu::weak]] int MPI_File_read_c(MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*);
[[gnu::weak]] int MPI_File_read_at_c(
    MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);
[[gnu::weak]] int MPI_File_iread_at_all_c(
    MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Request*);
}
#endif

namespace {

constexpr int kFileBytes = 1 << 16;
constexpr unsigned kCollective = 1;
constexpr unsigned kUnknown = 8;  // offset

char byte_at(std::int64_t offset) { return static_cast<char>(offset * 31 + (offset >> 8)); }

class MpiCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::array<char, 256> name{};
    const std::string pattern = std::filesystem::temp_directory_path() / "forebay-mpi-XXXXXX";
    pattern.copy(name.data(), name.size() - 1);
    if (rank == 0) {
      ASSERT_NE(::mkdtemp(name.data()), nullptr);
    }
    MPI_Bcast(name.data(), name.size(), MPI_CHAR, 0, MPI_COMM_WORLD);
    folder = name.data();
    path = folder + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (rank == 0) {
      std::ofstream out(path, std::ios::binary);
      for (int i = 0; i < kFileBytes; ++i)
        out.put(byte_at(i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::filesystem::remove_all(folder);
  }

  /// No query of the wrappers may fail.
  void open(int mode = MPI_MODE_RDONLY, MPI_Errhandler on_error = MPI_ERRORS_ARE_FATAL) {
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file), MPI_SUCCESS);
    ASSERT_EQ(MPI_File_set_errhandler(file, on_error), MPI_SUCCESS);
    expect("open", 0, 0, kCollective);
  }
  void close() {
    ASSERT_EQ(MPI_File_close(&file), MPI_SUCCESS);
    EXPECT_EQ(file, MPI_FILE_NULL);
    expect("close", 0, 0, kCollective);
  }
  /// A record of the next call.
  void expect(const char* operation, std::int64_t offset, std::int64_t size, unsigned flags) {
    static const char* const expected = std::getenv("FOREBAY_EXPECTED");
    if (expected == nullptr) return;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    static std::ofstream out(std::string(expected) + "/" + std::to_string(rank));
    out << std::filesystem::path(path).filename().string() << " " << operation << " "
        << ((flags & kUnknown) != 0 ? 0 : offset) << " " << size << " " << flags << " view " << view
        << std::endl;
  }
  static void check(const std::vector<char>& bytes, std::int64_t offset, MPI_Status& status) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, static_cast<int>(bytes.size()));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ(bytes[i], byte_at(offset + static_cast<std::int64_t>(i))) << i;
  }

  // Calls that read `size` bytes at `offset`, which the record has.
  template <class Call>
  void blocking(std::int64_t offset, int size, unsigned flags, Call call) {
    std::vector<char> into(static_cast<std::size_t>(size));
    MPI_Status status;
    ASSERT_EQ(call(into.data(), size, &status), MPI_SUCCESS);
    expect("read", offset, size, flags);
    check(into, offset, status);
  }
  template <class Call>
  void nonblocking(std::int64_t offset, int size, unsigned flags, Call call) {
    std::vector<char> into(static_cast<std::size_t>(size));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    ASSERT_EQ(call(into.data(), size, &request), MPI_SUCCESS);
    expect("read", offset, size, flags);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    check(into, offset, status);
  }
  template <class Begin, class End>
  void split(std::int64_t offset, int size, unsigned flags, Begin begin, End end) {
    std::vector<char> into(static_cast<std::size_t>(size));
    MPI_Status status;
    ASSERT_EQ(begin(into.data(), size), MPI_SUCCESS);
    expect("read", offset, size, flags);
    ASSERT_EQ(end(file, into.data(), &status), MPI_SUCCESS);
    check(into, offset, status);
  }

  int rank = 0;
  int ranks = 0;
  std::string folder;
  std::string path;
  std::string view = "0 1 1 1";
  MPI_File file = MPI_FILE_NULL;
};

TEST_F(MpiCalls, explicit_offsets) {
  open();
  const MPI_Offset at = 1000 * (rank + 1);
  blocking(at, 100, 0, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_at(file, at, into, size, MPI_BYTE, status);
  });
  blocking(at + 3, 400, kCollective, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_at_all(file, at + 3, into, size / 4, MPI_INT, status);
  });
  split(
      at, 7, kCollective,
      [&](char* into, int size) {
        return MPI_File_read_at_all_begin(file, at, into, size, MPI_BYTE);
      },
      MPI_File_read_at_all_end);
  nonblocking(at + 1, 50, 0, [&](char* into, int size, MPI_Request* request) {
    return MPI_File_iread_at(file, at + 1, into, size, MPI_BYTE, request);
  });
  nonblocking(at + 2, 60, kCollective, [&](char* into, int size, MPI_Request* request) {
    return MPI_File_iread_at_all(file, at + 2, into, size, MPI_BYTE, request);
  });
  close();
}

TEST_F(MpiCalls, individual_file_pointers) {
  open();
  const MPI_Offset at = 2000 * (rank + 1);
  ASSERT_EQ(MPI_File_seek(file, at, MPI_SEEK_SET), MPI_SUCCESS);
  expect("seek", at, 0, 0);
  blocking(at, 100, 0, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read(file, into, size, MPI_BYTE, status);
  });
  blocking(at + 100, 100, kCollective, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_all(file, into, size, MPI_BYTE, status);
  });
  split(
      at + 200, 100, kCollective,
      [&](char* into, int size) { return MPI_File_read_all_begin(file, into, size, MPI_BYTE); },
      MPI_File_read_all_end);
  nonblocking(at + 300, 100, 0, [&](char* into, int size, MPI_Request* request) {
    return MPI_File_iread(file, into, size, MPI_BYTE, request);
  });
  nonblocking(at + 400, 100, kCollective, [&](char* into, int size, MPI_Request* request) {
    return MPI_File_iread_all(file, into, size, MPI_BYTE, request);
  });
  ASSERT_EQ(MPI_File_seek(file, -50, MPI_SEEK_CUR), MPI_SUCCESS);
  expect("seek", at + 450, 0, 0);
  close();
}

TEST_F(MpiCalls, shared_file_pointer) {
  open();
  blocking(100 * rank, 100, kCollective | kUnknown, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_ordered(file, into, size, MPI_BYTE, status);
  });
  split(
      100 * (ranks + rank), 100, kCollective | kUnknown,
      [&](char* into, int size) { return MPI_File_read_ordered_begin(file, into, size, MPI_BYTE); },
      MPI_File_read_ordered_end);
  MPI_Barrier(MPI_COMM_WORLD);
  // One rank after the other.
  for (int turn = 0; turn < ranks; ++turn) {
    const std::int64_t at = 200 * (ranks + turn);
    if (turn == rank) {
      blocking(at, 100, kUnknown, [&](char* into, int size, MPI_Status* status) {
        return MPI_File_read_shared(file, into, size, MPI_BYTE, status);
      });
      nonblocking(at + 100, 100, kUnknown, [&](char* into, int size, MPI_Request* request) {
        return MPI_File_iread_shared(file, into, size, MPI_BYTE, request);
      });
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close();
}

TEST_F(MpiCalls, strided_view) {
  // Each rank has 2 of every 2 * ranks doubles, from byte 128 on.
  open();
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(1, 2, 2, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, 16 * ranks, &type);
  MPI_Type_commit(&type);
  const MPI_Offset start = 128 + 16 * rank;
  for (int i = 0; i < 2; ++i) {  // the second one changes nothing
    ASSERT_EQ(MPI_File_set_view(file, start, MPI_DOUBLE, type, "native", MPI_INFO_NULL),
              MPI_SUCCESS);
    if (i == 0) expect("close", 0, 0, kCollective);
    view = std::to_string(start) + " 8 16 " + std::to_string(16 * ranks);
    if (i == 0) expect("open", 0, 0, kCollective);
  }
  std::vector<double> into(10);
  const auto check_doubles = [&](std::int64_t first) {
    for (std::int64_t i = 0; i < 80; ++i) {
      const std::int64_t number = first + i / 8;
      const std::int64_t at = start + 16 * ranks * (number / 2) + 8 * (number % 2) + i % 8;
      ASSERT_EQ(reinterpret_cast<const char*>(into.data())[i], byte_at(at)) << i;
    }
  };
  MPI_Status status;
  ASSERT_EQ(MPI_File_read_all(file, into.data(), 10, MPI_DOUBLE, &status), MPI_SUCCESS);
  expect("read", start, 80, kCollective);
  check_doubles(0);
  ASSERT_EQ(MPI_File_read(file, into.data(), 10, MPI_DOUBLE, &status), MPI_SUCCESS);
  expect("read", start + 16 * ranks * 5, 80, 0);
  check_doubles(10);
  ASSERT_EQ(MPI_File_read_at(file, 7, into.data(), 10, MPI_DOUBLE, &status), MPI_SUCCESS);
  expect("read", start + 16 * ranks * 3 + 8, 80, 0);
  check_doubles(7);
  ASSERT_EQ(MPI_File_seek(file, 4, MPI_SEEK_SET), MPI_SUCCESS);
  expect("seek", start + 16 * ranks * 2, 0, 0);
  close();
  MPI_Type_free(&type);
  MPI_Type_free(&vector);
}

TEST_F(MpiCalls, end_of_file) {
  open();
  std::vector<int> into(100);
  MPI_Status status;
  int count = 0;
  ASSERT_EQ(MPI_File_read_at(file, kFileBytes - 40, into.data(), 100, MPI_INT, &status),
            MPI_SUCCESS);
  expect("read", kFileBytes - 40, 40, 0);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_EQ(count, 10);
  ASSERT_EQ(MPI_File_read_at(file, kFileBytes - 40, into.data(), 100, MPI_INT, MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  expect("read", kFileBytes - 40, 400, 0);  // as requested
  ASSERT_EQ(MPI_File_read_at(file, kFileBytes, into.data(), 100, MPI_INT, &status), MPI_SUCCESS);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_EQ(count, 0);
  close();
}

TEST_F(MpiCalls, errors) {
  open(MPI_MODE_RDONLY, MPI_ERRORS_RETURN);
  char into = 0;
  MPI_Status status;
  MPI_File_read_at(file, -5, &into, 1, MPI_BYTE, &status);  // an error of MPICH alone
  EXPECT_NE(MPI_File_read(file, &into, -1, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_NE(MPI_File_read(file, &into, 1, MPI_DATATYPE_NULL, &status), MPI_SUCCESS);
  EXPECT_NE(MPI_File_seek(file, -5, MPI_SEEK_SET), MPI_SUCCESS);
  MPI_File_read(file, &into, 0, MPI_DATATYPE_NULL, &status);
  close();
  EXPECT_NE(MPI_File_read(file, &into, 1, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_NE(MPI_File_close(&file), MPI_SUCCESS);
  path += "-missing";
  EXPECT_NE(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
            MPI_SUCCESS);
}

std::atomic<int> handled{0};
void handle_error(MPI_File*, int*, ...) { ++handled; }

// MPICH returns success if the handler has returned, and the arguments are invalid nevertheless. So
// nothing is recorded once the program has a handler.
TEST_F(MpiCalls, handler_of_errors) {
  open();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_File_create_errhandler(handle_error, &handler);
  MPI_File_set_errhandler(file, handler);
  handled = 0;
  char into = 0;
  MPI_Status status;
  MPI_File_read(file, &into, -1, MPI_BYTE, &status);
  EXPECT_EQ(handled, 1);
  MPI_File_read(file, &into, 1, MPI_DATATYPE_NULL, &status);
  EXPECT_EQ(handled, 2);
  MPI_File_seek(file, -5, MPI_SEEK_SET);
  EXPECT_EQ(handled, 3);
  MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL);
  EXPECT_EQ(handled, 4);
  MPI_File_read(file, &into, 1, MPI_BYTE, &status);
  EXPECT_EQ(into, byte_at(0));
  EXPECT_EQ(handled, 4);
  MPI_File_close(&file);
  MPI_Errhandler_free(&handler);
}

TEST_F(MpiCalls, sequential_file) {
  open(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
  blocking(100 * rank, 100, kCollective | kUnknown, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_ordered(file, into, size, MPI_BYTE, status);
  });
  close();
}

TEST_F(MpiCalls, large_counts) {
#if MPI_VERSION < 4
  if (MPI_File_read_c == nullptr) return;
#endif
  open();
  blocking(0, 100, 0, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_c(file, into, size, MPI_BYTE, status);
  });
  blocking(8 * rank, 16, 0, [&](char* into, int size, MPI_Status* status) {
    return MPI_File_read_at_c(file, 8 * rank, into, size, MPI_BYTE, status);
  });
  nonblocking(8 * rank, 32, kCollective, [&](char* into, int size, MPI_Request* request) {
    return MPI_File_iread_at_all_c(file, 8 * rank, into, size, MPI_BYTE, request);
  });
  // More elements than an int counts, without bytes.
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_BYTE, &empty);
  MPI_Type_commit(&empty);
  char into = 0;
  MPI_Status status;
  const MPI_Count count = (MPI_Count{1} << 33) + 5;
  EXPECT_EQ(MPI_File_read_at_c(file, 0, &into, count, empty, &status), MPI_SUCCESS);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  EXPECT_NE(MPI_File_read_at_c(file, 0, &into, -count, MPI_BYTE, &status), MPI_SUCCESS);
  MPI_Type_free(&empty);
  close();
}

TEST_F(MpiCalls, names_of_the_profiling_interface) {
  // The Fortran bindings of Open MPI call these.
  ASSERT_EQ(PMPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
            MPI_SUCCESS);
  expect("open", 0, 0, kCollective);
  blocking(10 * rank, 100, 0, [&](char* into, int size, MPI_Status* status) {
    return PMPI_File_read_at(file, 10 * rank, into, size, MPI_BYTE, status);
  });
  ASSERT_EQ(PMPI_File_close(&file), MPI_SUCCESS);
  expect("close", 0, 0, kCollective);
}

TEST_F(MpiCalls, threads) {
  open();
  std::vector<std::thread> threads;
  for (int one = 0; one < 4; ++one) {
    threads.emplace_back([&, one] {
      for (int i = 0; i < 100; ++i) {
        const MPI_Offset at = 10'000 * one + 64 * i + rank;
        blocking(at, 32, 0, [&](char* into, int size, MPI_Status* status) {
          return MPI_File_read_at(file, at, into, size, MPI_BYTE, status);
        });
      }
    });
  }
  for (std::thread& one : threads)
    one.join();
  close();
}

TEST_F(MpiCalls, more_files_than_are_recorded_at_a_time) {
  constexpr int kRecorded = 256;
  std::vector<MPI_File> files(kRecorded + 20);
  int count = 0;
  for (MPI_File& one : files) {
    ASSERT_EQ(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &one),
              MPI_SUCCESS);
    if (count++ < kRecorded) expect("open", 0, 0, kCollective);
  }
  char into = 0;
  MPI_Status status;
  ASSERT_EQ(MPI_File_read_at(files.back(), 1, &into, 1, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_EQ(into, byte_at(1));
  count = 0;
  for (MPI_File& one : files) {
    ASSERT_EQ(MPI_File_close(&one), MPI_SUCCESS);
    if (count++ < kRecorded) expect("close", 0, 0, kCollective);
  }
}

TEST_F(MpiCalls, many_views) {
  open();
  char into = 0;
  MPI_Status status;
  for (int i = 0; i < 20'000; ++i) {  // more than have numbers
    ASSERT_EQ(MPI_File_set_view(file, i, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), MPI_SUCCESS);
    ASSERT_EQ(MPI_File_read_at(file, 1, &into, 1, MPI_BYTE, &status), MPI_SUCCESS);
    ASSERT_EQ(into, byte_at(i + 1));
  }
  close();
}

}  // namespace
