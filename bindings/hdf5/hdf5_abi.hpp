// SPDX-License-Identifier: Apache-2.0
// The binary interface of HDF5's file drivers, declared here so that one library serves all
// versions: HDF5 need not be installed to build it, and programs bring their own. Sources:
// src/H5FDpublic.h of 1.10.8 and 1.12.2, src/H5FDdevelop.h of 1.14.4, 2.0.0 and 2.2.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::hdf5 {

using Id = std::int64_t;        // hid_t since 1.10
using Address = std::uint64_t;  // haddr_t and hsize_t
using ReturnCode = int;         // herr_t: negative on failure
using MemoryType = int;         // H5FD_mem_t
using Boolean = bool;           // hbool_t

inline constexpr ReturnCode kSucceed = 0;
inline constexpr ReturnCode kFail = -1;
inline constexpr Address kUndefinedAddress = ~Address{0};        // HADDR_UNDEF
inline constexpr Address kMaxAddress = (Address{1} << 63U) - 1;  // of off_t
inline constexpr Id kDefaultList = 0;                            // H5P_DEFAULT
inline constexpr Id kDefaultErrorStack = 0;                      // H5E_DEFAULT

// H5F_ACC_...: flags of open.
inline constexpr unsigned kOpenReadWrite = 0x0001;
inline constexpr unsigned kOpenTruncate = 0x0002;
inline constexpr unsigned kOpenExclusive = 0x0004;
inline constexpr unsigned kOpenCreate = 0x0010;
inline constexpr unsigned kOpenSwmrWrite = 0x0020;
inline constexpr unsigned kOpenSwmrRead = 0x0040;

// The features of the driver sec2, so that HDF5 treats files as with it: H5FD_FEAT_ aggregate and
// accumulate metadata, sieve, aggregate small data, POSIX handle, SWMR, compatible with the default
// driver.
inline constexpr unsigned long kFeatures = 0x1 | 0x6 | 0x8 | 0x10 | 0x80 | 0x1000 | 0x8000;

/// H5FD_t: the head of each open file, which HDF5 fills in. A driver appends its own members.
struct FileHead {
  Id driver;
  const void* driver_class;
  unsigned long file_number;
  unsigned access_flags;
  unsigned long feature_flags;
  Address maximum_address;
  Address base_address;
  Address threshold;
  Address alignment;
  Boolean has_paged_aggregation;
  std::byte reserved[64];  // for members that a later version may append
};

/// The part of H5FD_class_t that is the same in all versions.
struct CommonCalls {
  const char* name;
  Address maximum_address;
  int close_degree;
  ReturnCode (*terminate)();
  void* superblock_calls[3];
  std::size_t access_list_bytes;
  void* access_list_calls[3];
  std::size_t transfer_list_bytes;
  void* transfer_list_calls[2];
  FileHead* (*open)(const char* name, unsigned flags, Id access_list, Address maximum_address);
  ReturnCode (*close)(FileHead*);
  int (*compare)(const FileHead*, const FileHead*);
  ReturnCode (*query)(const FileHead*, unsigned long* features);
  void* get_type_map;
  void* allocate;
  void* free;
  Address (*get_eoa)(const FileHead*, MemoryType);
  ReturnCode (*set_eoa)(FileHead*, MemoryType, Address);
  Address (*get_eof)(const FileHead*, MemoryType);
  ReturnCode (*get_handle)(FileHead*, Id access_list, void** handle);
  ReturnCode (*read)(FileHead*, MemoryType, Id, Address, std::size_t, void*);
  ReturnCode (*write)(FileHead*, MemoryType, Id, Address, std::size_t, const void*);
};

struct EndCalls {
  ReturnCode (*flush)(FileHead*, Id transfer_list, Boolean is_closing);
  ReturnCode (*truncate)(FileHead*, Id transfer_list, Boolean is_closing);
  ReturnCode (*lock)(FileHead*, Boolean is_exclusive);
  ReturnCode (*unlock)(FileHead*);
};

/// The allocation types of data and metadata: H5FD_FLMAP_DICHOTOMY, as the driver sec2 has it. The
/// addresses in a file depend on it.
struct FreeListMap {
  MemoryType types[7] = {1, 1, 1, 3, 3, 1, 1};
};

/// H5FD_class_t of 1.10 and 1.12.
struct Class110 {
  CommonCalls common;
  EndCalls end;
  FreeListMap free_lists;
};

/// H5FD_class_t of 1.14 and 2.x: with a version, a number, deletion, and transfers of vectors and
/// selections, which HDF5 splits into reads and writes if they are null.
struct Class114 {
  unsigned version;
  int value;
  CommonCalls common;
  void* vector_calls[4];
  EndCalls end;
  ReturnCode (*remove)(const char* name, Id access_list);
  void* control;
  FreeListMap free_lists;
};

inline constexpr unsigned kClassVersion = 1;  // H5FD_CLASS_VERSION
inline constexpr int kDriverValue = 0x4642;   // from H5_VFD_RESERVED to H5_VFD_MAX; unregistered
inline constexpr int kDriverPlugin = 2;       // H5PL_TYPE_VFD

static_assert(sizeof(Class110) == 280 && sizeof(Class114) == 336);

}  // namespace forebay::hdf5
