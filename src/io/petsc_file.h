/*
 * petsc_file.h: matrices and vectors in PETSc's binary files.
 *
 *     matrix = 1211216 rows columns nonzeros { length of each row } { column } { value }
 *            | 1211216 rows columns -1 { value }        dense, row by row
 *     vector = 1211214 length { value }
 *
 * All big-endian. Values are doubles; integers have 32 bits, or 64 bits throughout where PETSc was built with
 * such indices.
 */
#ifndef NADIR_IO_PETSC_FILE_H
#define NADIR_IO_PETSC_FILE_H

#include "core/context.h"
#include "core/file.h"

#define NADIR_PETSC_DENSE (-1) /* in place of the number of nonzeros */

/* A file being read; a vector is a dense matrix with one column. */
typedef struct nadir_petsc_file {
    nadir_context *context;
    nadir_input input;
    int64_t consumed; /* bytes read, for progress */
    size_t width;     /* bytes of an integer: 4 or 8 */
    bool vector;
    int64_t rows, columns;
    int64_t nonzeros;     /* or NADIR_PETSC_DENSE */
    unsigned char *bytes; /* a block as it stands in the file */
    int64_t *integers;    /* the same, decoded */
} nadir_petsc_file;

/* Whether a file begins with the number of a matrix or a vector. */
bool nadir_petsc_recognises(const char *head, size_t length);

/* Opens the file and reads its header. Its sizes must account for every byte of the file:
 * rows, nonzeros, and rows * columns of a dense matrix can then be allocated. Always close it. */
nadir_status nadir_petsc_open(nadir_context *context, const char *path, nadir_petsc_file *file);
void nadir_petsc_close(nadir_petsc_file *file);

/* Of a sparse matrix the rows [first, first + rows). row_starts: [rows + 1] from 0 on, consistent. */
nadir_status nadir_petsc_read_lengths(nadir_petsc_file *file, int64_t first, int64_t rows,
                                      int64_t *row_starts);
/* The entries of these rows, of which the first is entry `first` of the file. Columns are in range. indices,
 * values: [row_starts[rows]] */
nadir_status nadir_petsc_read_entries(nadir_petsc_file *file, int64_t first_row, int64_t rows,
                                      const int64_t *row_starts, int64_t first, int32_t *indices,
                                      double *values);
/* Of a dense matrix or a vector the numbers [first, first + count). */
nadir_status nadir_petsc_read_numbers(nadir_petsc_file *file, int64_t first, int64_t count, double *values);

/* Writes the header of a sparse matrix; returns the bytes of an integer, 8 only where 4 do not do. */
size_t nadir_petsc_put_header(nadir_output *output, int64_t rows, int64_t columns, int64_t nonzeros);
void nadir_petsc_put_integer(nadir_output *output, size_t width, int64_t value);
void nadir_petsc_put_double(nadir_output *output, double value);

#endif
