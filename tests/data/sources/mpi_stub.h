// SPDX-License-Identifier: Apache-2.0
// The part of MPI that the sources of this directory use, so that tests need no MPI.
#pragma once

typedef struct forebay_file* MPI_File;
typedef long long MPI_Offset;
typedef int MPI_Datatype;
typedef struct {
  int error;
} MPI_Status;

#define MPI_BYTE 1
#define MPI_DOUBLE 2

int MPI_File_read_at(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
int MPI_File_read_at_all(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
