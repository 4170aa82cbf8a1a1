/* petsc_file.c: reading and writing PETSc's binary files; see petsc_file.h. */
#include "io/petsc_file.h"

#include <string.h>

#define MATRIX_CLASS 1211216
#define VECTOR_CLASS 1211214

#define BLOCK 8192 /* integers or doubles read at once */

static uint64_t decode(const unsigned char *bytes, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static int64_t decode_integer(const unsigned char *bytes, size_t width)
{
    return width == 4 ? (int32_t)(uint32_t)decode(bytes, 4) : (int64_t)decode(bytes, 8);
}

/* Bytes of an integer in a file that begins with these four: no class fills the upper half of 64 bits. */
static size_t width_of(const unsigned char bytes[4])
{
    return decode(bytes, 4) == 0 ? 8 : 4;
}

bool nadir_petsc_recognises(const char *head, size_t length)
{
    unsigned char bytes[8];
    if (length < sizeof bytes) {
        return false;
    }
    memcpy(bytes, head, sizeof bytes);
    const int64_t class = decode_integer(bytes, width_of(bytes));
    return class == MATRIX_CLASS || class == VECTOR_CLASS;
}

void nadir_petsc_close(nadir_petsc_file *file)
{
    nadir_input_close(&file->input);
    nadir_release(file->context, file->bytes);
    nadir_release(file->context, file->integers);
}

static nadir_status read_bytes(nadir_petsc_file *file, void *buffer, size_t size, const char *what)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_input_read_all(file->context, &file->input, buffer, size, what));
    file->consumed += (int64_t)size;
    NADIR_CHECK(
        nadir_progress(file->context, "reading", (double)file->consumed / (double)(file->input.bytes + 1)));
cleanup:
    return status;
}

/* Decodes the next `count` <= BLOCK integers into file->integers. */
static nadir_status next_integers(nadir_petsc_file *file, int64_t count, const char *what)
{
    nadir_status status = NADIR_OK;
    const size_t width = file->width;
    NADIR_CHECK(read_bytes(file, file->bytes, (size_t)count * width, what));
    for (int64_t i = 0; i < count; i++) {
        file->integers[i] = decode_integer(file->bytes + (size_t)i * width, width);
    }
cleanup:
    return status;
}

/* Reads `count` doubles where they are to stay and turns them there. */
static nadir_status read_doubles(nadir_petsc_file *file, int64_t count, double *values)
{
    nadir_status status = NADIR_OK;
    for (int64_t done = 0; done < count; done += BLOCK) {
        const int64_t part = count - done < BLOCK ? count - done : BLOCK;
        double *const to = values + done;
        NADIR_CHECK(read_bytes(file, to, (size_t)part * sizeof *to, "the values"));
        for (int64_t i = 0; i < part; i++) {
            unsigned char bytes[8];
            memcpy(bytes, &to[i], 8);
            const uint64_t bits = decode(bytes, 8);
            memcpy(&to[i], &bits, 8);
        }
    }
cleanup:
    return status;
}

/* The sizes in the header must account for every byte of the file. */
static nadir_status check_size(const nadir_petsc_file *file, int64_t header)
{
    const int64_t body = file->input.bytes - header;
    const int64_t width = (int64_t)file->width;
    const int64_t rows = file->rows;
    const int64_t columns = file->columns;
    const int64_t nonzeros = file->nonzeros;
    bool fits = rows >= 0 && columns >= 0 && nonzeros >= NADIR_PETSC_DENSE;
    if (fits && nonzeros == NADIR_PETSC_DENSE) {
        fits = (rows == 0 || columns <= body / 8 / rows) && rows * columns * 8 == body;
    } else if (fits) { /* the first two keep the third from overflowing */
        fits = rows <= body / width && nonzeros <= body / (width + 8) &&
               rows * width + nonzeros * (width + 8) == body;
    }
    if (fits) {
        return NADIR_OK;
    }
    char count[48] = "dense";
    if (nonzeros != NADIR_PETSC_DENSE) {
        (void)snprintf(count, sizeof count, "with %lld nonzeros", (long long)nonzeros);
    }
    return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                      "%s: the header announces %lld x %lld numbers, %s; that does not take the %lld bytes "
                      "the file has: it is cut off, has something after the matrix, or its numbers are not "
                      "real doubles",
                      file->input.path, (long long)rows, (long long)columns, count,
                      (long long)file->input.bytes);
}

nadir_status nadir_petsc_open(nadir_context *context, const char *path, nadir_petsc_file *file)
{
    nadir_status status = NADIR_OK;
    *file = (nadir_petsc_file){.context = context, .input = NADIR_INPUT_CLOSED};
    NADIR_CHECK(nadir_input_open(context, path, &file->input));
    NADIR_NEW(context, file->bytes, 8 * BLOCK);
    NADIR_NEW(context, file->integers, BLOCK);
    unsigned char head[8];
    NADIR_CHECK(read_bytes(file, head, 4, "the header"));
    file->width = width_of(head);
    NADIR_CHECK(read_bytes(file, head + 4, file->width - 4, "the header"));
    const int64_t class = decode_integer(head, file->width);
    if (class != MATRIX_CLASS && class != VECTOR_CLASS) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: not a PETSc binary file; expected it to begin with the number %d (matrix) "
                            "or %d (vector)",
                            path, MATRIX_CLASS, VECTOR_CLASS);
        goto cleanup;
    }
    file->vector = class == VECTOR_CLASS;
    const int64_t sizes = file->vector ? 1 : 3;
    NADIR_CHECK(next_integers(file, sizes, "the header"));
    file->rows = file->integers[0];
    file->columns = file->vector ? 1 : file->integers[1];
    file->nonzeros = file->vector ? NADIR_PETSC_DENSE : file->integers[2];
    NADIR_CHECK(check_size(file, (1 + sizes) * (int64_t)file->width));
cleanup:
    return status;
}

/* Where the numbers after the header begin. */
static int64_t body_start(const nadir_petsc_file *file)
{
    return (file->vector ? 2 : 4) * (int64_t)file->width;
}

nadir_status nadir_petsc_read_lengths(nadir_petsc_file *file, int64_t first, int64_t rows,
                                      int64_t *row_starts)
{
    nadir_status status = NADIR_OK;
    const int64_t width = (int64_t)file->width;
    NADIR_CHECK(nadir_input_seek(file->context, &file->input, body_start(file) + first * width));
    row_starts[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        if (row % BLOCK == 0) {
            NADIR_CHECK(
                next_integers(file, rows - row < BLOCK ? rows - row : BLOCK, "the lengths of the rows"));
        }
        const int64_t length = file->integers[row % BLOCK];
        if (length < 0 || length > file->columns) {
            return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                              "%s: row %lld has %lld entries; expected 0 to %lld", file->input.path,
                              (long long)first + row, (long long)length, (long long)file->columns);
        }
        if (length > file->nonzeros - row_starts[row]) {
            return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                              "%s: the rows up to row %lld have more entries than the header announces "
                              "(%lld)",
                              file->input.path, (long long)first + row, (long long)file->nonzeros);
        }
        row_starts[row + 1] = row_starts[row] + length;
    }
cleanup:
    return status;
}

/* Entries [first, first + count) lie within the file, and end with it if they are of its last rows. */
static nadir_status check_entries(const nadir_petsc_file *file, bool last, int64_t first, int64_t count)
{
    const int64_t left = file->nonzeros - first;
    if (first >= 0 && (last ? count == left : count <= left)) {
        return NADIR_OK;
    }
    return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                      "%s: the rows have %lld entries, the header announces %lld", file->input.path,
                      (long long)first + count, (long long)file->nonzeros);
}

/* Names the row in which entry i of the range stands. */
static nadir_status column_fail(const nadir_petsc_file *file, int64_t first_row, const int64_t *row_starts,
                                int64_t i, int64_t column)
{
    int64_t row = 0;
    while (row_starts[row + 1] <= i) {
        row++;
    }
    return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                      "%s: row %lld has an entry in column %lld; columns are 0 to %lld", file->input.path,
                      (long long)first_row + row, (long long)column, (long long)file->columns - 1);
}

nadir_status nadir_petsc_read_entries(nadir_petsc_file *file, int64_t first_row, int64_t rows,
                                      const int64_t *row_starts, int64_t first, int32_t *indices,
                                      double *values)
{
    nadir_status status = NADIR_OK;
    const int64_t width = (int64_t)file->width;
    const int64_t columns = body_start(file) + file->rows * width;
    const int64_t numbers = columns + file->nonzeros * width;
    const int64_t count = row_starts[rows];
    NADIR_CHECK(check_entries(file, first_row + rows == file->rows, first, count));
    NADIR_CHECK(nadir_input_seek(file->context, &file->input, columns + first * width));
    for (int64_t i = 0; i < count; i++) {
        if (i % BLOCK == 0) {
            NADIR_CHECK(next_integers(file, count - i < BLOCK ? count - i : BLOCK, "the columns"));
        }
        const int64_t column = file->integers[i % BLOCK];
        if (column < 0 || column >= file->columns) {
            return column_fail(file, first_row, row_starts, i, column);
        }
        indices[i] = (int32_t)column;
    }
    NADIR_CHECK(nadir_input_seek(file->context, &file->input, numbers + first * (int64_t)sizeof *values));
    NADIR_CHECK(read_doubles(file, count, values));
cleanup:
    return status;
}

nadir_status nadir_petsc_read_numbers(nadir_petsc_file *file, int64_t first, int64_t count, double *values)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(
        nadir_input_seek(file->context, &file->input, body_start(file) + first * (int64_t)sizeof *values));
    NADIR_CHECK(read_doubles(file, count, values));
cleanup:
    return status;
}

static void put(nadir_output *output, size_t width, uint64_t bits)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (unsigned char)(bits >> (8 * (width - 1 - i)));
    }
    nadir_output_write(output, bytes, width);
}

void nadir_petsc_put_integer(nadir_output *output, size_t width, int64_t value)
{
    put(output, width, (uint64_t)value);
}

void nadir_petsc_put_double(nadir_output *output, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(output, sizeof bits, bits);
}

size_t nadir_petsc_put_header(nadir_output *output, int64_t rows, int64_t columns, int64_t nonzeros)
{
    const size_t width = rows > INT32_MAX || nonzeros > INT32_MAX ? 8 : 4;
    put(output, width, MATRIX_CLASS);
    put(output, width, (uint64_t)rows);
    put(output, width, (uint64_t)columns);
    put(output, width, (uint64_t)nonzeros);
    return width;
}
