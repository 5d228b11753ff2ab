/* SPDX-License-Identifier: Apache-2.0 */
/* Describes an array of a Fortran program as the C interface describes arrays: with the type as a
   number, and dimensions in reverse order, so that the last one varies fastest. */
#include <ISO_Fortran_binding.h>
#include <forebay.h>
#include <stdio.h>

#define DIMENSIONS_MAX 15

/* As type(c_array) of the module forebay. */
typedef struct fortran_array {
  void* data;
  int64_t element_bytes;
  int type;            /* FOREBAY_... */
  uint32_t dimensions; /* 1 for a scalar */
  uint64_t count[DIMENSIONS_MAX];
  uint64_t strides[DIMENSIONS_MAX]; /* in elements */
  bool is_packed;                   /* elements without gaps, in the order of Fortran */
} fortran_array;

/* Returns 0 for a type that datasets do not have, such as a derived type. Of logicals
   only logical(c_bool) is accepted; it is stored as int8. */
static int type_of(const CFI_cdesc_t* values) {
  switch (values->type) {
    case CFI_type_int8_t:
    case CFI_type_Bool:
      return FOREBAY_INT8;
    case CFI_type_int16_t:
      return FOREBAY_INT16;
    case CFI_type_int32_t:
      return FOREBAY_INT32;
    case CFI_type_int64_t:
      return FOREBAY_INT64;
    case CFI_type_float:
      return FOREBAY_FLOAT32;
    case CFI_type_double:
      return FOREBAY_FLOAT64;
    case CFI_type_float_Complex:
      return FOREBAY_COMPLEX64;
    case CFI_type_double_Complex:
      return FOREBAY_COMPLEX128;
    default:
      return 0;
  }
}

static int refuse(forebay_error* error, const char* cause) {
  *error = (forebay_error){.status = FOREBAY_INVALID_ARGUMENT, .rank = -1, .offset = -1};
  snprintf(error->message, sizeof error->message, "describe an array: %s", cause);
  return FOREBAY_INVALID_ARGUMENT;
}

int forebay_fortran_describe(const CFI_cdesc_t* values, fortran_array* array, forebay_error* error);

int forebay_fortran_describe(const CFI_cdesc_t* values,
                             fortran_array* array,
                             forebay_error* error) {
  array->data = values->base_addr;
  array->element_bytes = (int64_t)values->elem_len;
  array->type = type_of(values);
  array->dimensions = values->rank == 0 ? 1 : (uint32_t)values->rank;
  array->count[0] = 1;
  array->strides[0] = 1;
  array->is_packed = true;
  if (array->type == 0)
    return refuse(error,
                  "its type is not stored; pass integers, reals or complex numbers of the "
                  "kinds of iso_fortran_env up to 64 bits, or each component");
  bool is_empty = false;
  for (int i = 0; i < values->rank; ++i)
    is_empty |= values->dim[i].extent == 0;
  CFI_index_t packed_bytes = (CFI_index_t)values->elem_len;
  for (int i = 0; i < values->rank; ++i) {
    const CFI_dim_t* const dim = &values->dim[i];
    const int d = values->rank - 1 - i;
    if (dim->extent < 0) return refuse(error, "it has an assumed size; pass a(1:n)");
    if (!is_empty && (dim->sm < 0 || dim->sm % array->element_bytes != 0))
      return refuse(error,
                    "its elements are in descending order or inside other elements; pass "
                    "a copy, as in (a(n:1:-1))");
    array->count[d] = (uint64_t)dim->extent;
    array->strides[d] = (uint64_t)(dim->sm / array->element_bytes);
    if (!is_empty && dim->extent > 1 && dim->sm != packed_bytes) array->is_packed = false;
    packed_bytes *= dim->extent;
  }
  return FOREBAY_OK;
}
