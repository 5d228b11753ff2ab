// SPDX-License-Identifier: Apache-2.0
// A first program of a user of MPI: each rank reads its share of a file and sums its bytes. Rank 0
// prints the total, which the test compares.
#include <forebay/forebay.hpp>
#include <forebay/mpi.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

namespace {

int print_error(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

int run(const char* path) {
  forebay::Runtime runtime(MPI_COMM_WORLD);
  const auto file = runtime.open_file(path);
  if (!file) return print_error(file.error());
  const auto session = file->read_session();
  if (!session) return print_error(session.error());

  const std::uint64_t first = file->size() * runtime.rank() / runtime.rank_count();
  const std::uint64_t last = file->size() * (runtime.rank() + 1) / runtime.rank_count();
  std::vector<std::byte> share(last - first);
  const auto got = session->read(first, std::span(share)).wait();
  if (!got) return print_error(got.error());

  std::uint64_t sum = 0;
  for (const std::byte byte : share)
    sum += std::to_integer<std::uint64_t>(byte);
  std::uint64_t total = 0;
  MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (runtime.rank() == 0)
    std::cout << runtime.rank_count() << ' ' << file->size() << ' ' << total << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = argc == 2 ? run(argv[1]) : 2;
  MPI_Finalize();
  return code;
}
