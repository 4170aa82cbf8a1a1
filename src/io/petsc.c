/*
 * petsc.c: models as PETSc binary matrices, the layout of madupite.
 *
 *     matrix = 1211216 rows columns nonzeros { length of each row } { column } { value }
 *            | 1211216 rows columns -1 { value }        dense, row by row
 *     vector = 1211214 length { value }
 *
 * All big-endian. Values are doubles; integers have 32 bits, or 64 bits throughout where PETSc was built with
 * such indices.
 *
 * The kernel is a matrix of S A rows and S columns whose row s A + a is P(.|s, a). The rewards stand in a
 * file of their own: a matrix S x A, or S A numbers in the order of the rows (a vector, or a matrix with one
 * column). Rewards are taken as they are, although madupite's files hold costs.
 *
 * Lengths of rows, columns and values stand one after another, each with items of one size, so a process
 * seeks to its own part of each. A scan over the processes gives the number of entries in the rows before.
 */
#include "core/context.h"
#include "core/file.h"
#include "io/format.h"
#include "linalg/distributed.h"
#include "model/model.h"

#include <string.h>
#include <unistd.h>

#define DENSE (-1) /* in place of the number of nonzeros */

/* A file being read; a vector is a dense matrix with one column. */
typedef struct petsc_file {
    nadir_context *context;
    nadir_input input;
    int64_t consumed; /* bytes read, for progress */
    size_t width;     /* bytes of an integer: 4 or 8 */
    bool vector;
    int64_t rows, columns;
    int64_t nonzeros;     /* or DENSE */
    unsigned char *bytes; /* a block as it stands in the file */
    int64_t *integers;    /* the same, decoded */
} petsc_file;

/* ---- Bytes ------------------------------------------------------------------------------------------- */

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

/* Whether a file begins with the number of a matrix or a vector. */
static bool recognises(const char *head, size_t length)
{
    unsigned char bytes[8];
    if (length < sizeof bytes) {
        return false;
    }
    memcpy(bytes, head, sizeof bytes);
    const int64_t class = decode_integer(bytes, width_of(bytes));
    return class == MATRIX_CLASS || class == VECTOR_CLASS;
}

static void close_file(petsc_file *file)
{
    nadir_input_close(&file->input);
    NADIR_RELEASE(file->context, file->bytes, file->integers);
}

static nadir_status read_bytes(petsc_file *file, void *buffer, size_t size, const char *what)
{
    NADIR_TRY(nadir_input_read_all(file->context, &file->input, buffer, size, what));
    file->consumed += (int64_t)size;
    return nadir_progress(file->context, "reading", (double)file->consumed / (double)(file->input.bytes + 1));
}

/* Decodes the next `count` <= BLOCK integers into file->integers. */
static nadir_status next_integers(petsc_file *file, int64_t count, const char *what)
{
    const size_t width = file->width;
    NADIR_TRY(read_bytes(file, file->bytes, (size_t)count * width, what));
    for (int64_t i = 0; i < count; i++) {
        file->integers[i] = decode_integer(file->bytes + (size_t)i * width, width);
    }
    return NADIR_OK;
}

/* Reads `count` doubles from `start` on where they are to stay, and turns them there. */
static nadir_status read_doubles(petsc_file *file, int64_t start, int64_t count, double *values)
{
    NADIR_TRY(nadir_input_seek(file->context, &file->input, start));
    for (int64_t done = 0; done < count; done += BLOCK) {
        const int64_t part = count - done < BLOCK ? count - done : BLOCK;
        double *const to = values + done;
        NADIR_TRY(read_bytes(file, to, (size_t)part * sizeof *to, "the values"));
        for (int64_t i = 0; i < part; i++) {
            unsigned char bytes[8];
            memcpy(bytes, &to[i], 8);
            const uint64_t bits = decode(bytes, 8);
            memcpy(&to[i], &bits, 8);
        }
    }
    return NADIR_OK;
}

/* The sizes in the header must account for every byte of the file. */
static nadir_status check_size(const petsc_file *file, int64_t header)
{
    const int64_t body = file->input.bytes - header;
    const int64_t width = (int64_t)file->width;
    const int64_t rows = file->rows;
    const int64_t columns = file->columns;
    const int64_t nonzeros = file->nonzeros;
    bool fits = rows >= 0 && columns >= 0 && nonzeros >= DENSE;
    if (fits && nonzeros == DENSE) {
        fits = (rows == 0 || columns <= body / 8 / rows) && rows * columns * 8 == body;
    } else if (fits) { /* the first two keep the third from overflowing */
        fits = rows <= body / width && nonzeros <= body / (width + 8) &&
               rows * width + nonzeros * (width + 8) == body;
    }
    if (fits) {
        return NADIR_OK;
    }
    char count[48] = "dense";
    if (nonzeros != DENSE) {
        (void)snprintf(count, sizeof count, "with %lld nonzeros", (long long)nonzeros);
    }
    return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                      "%s: the header announces %lld x %lld numbers, %s; that does not take the %lld bytes "
                      "the file has: it is cut off, has something after the matrix, or its numbers are not "
                      "real doubles",
                      file->input.path, (long long)rows, (long long)columns, count,
                      (long long)file->input.bytes);
}

/* Opens the file and reads its header. Its sizes must account for every byte of the file:
 * rows, nonzeros, and rows * columns of a dense matrix can then be allocated. Always close it. */
static nadir_status open_file(nadir_context *context, const char *path, petsc_file *file)
{
    nadir_status status = NADIR_OK;
    *file = (petsc_file){.context = context, .input = NADIR_INPUT_CLOSED};
    NADIR_CHECK(nadir_input_open(context, path, &file->input));
    NADIR_NEW(context, file->bytes, 8 * BLOCK);
    NADIR_NEW(context, file->integers, BLOCK);
    unsigned char head[8];
    NADIR_CHECK(read_bytes(file, head, 4, "the header"));
    file->width = width_of(head);
    NADIR_CHECK(read_bytes(file, head + 4, file->width - 4, "the header"));
    const int64_t class = decode_integer(head, file->width);
    if (class != MATRIX_CLASS && class != VECTOR_CLASS) {
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_FORMAT,
                       "%s: not a PETSc binary file; expected it to begin with the number %d (matrix) "
                       "or %d (vector)",
                       path, MATRIX_CLASS, VECTOR_CLASS));
    }
    file->vector = class == VECTOR_CLASS;
    const int64_t sizes = file->vector ? 1 : 3;
    NADIR_CHECK(next_integers(file, sizes, "the header"));
    file->rows = file->integers[0];
    file->columns = file->vector ? 1 : file->integers[1];
    file->nonzeros = file->vector ? DENSE : file->integers[2];
    NADIR_CHECK(check_size(file, (1 + sizes) * (int64_t)file->width));
cleanup:
    return status;
}

/* Where the numbers after the header begin. */
static int64_t body_start(const petsc_file *file)
{
    return (file->vector ? 2 : 4) * (int64_t)file->width;
}

/* The rows [first, first + rows) of a sparse matrix; the arrays are released by the caller. */
typedef struct sparse_rows {
    int64_t first, rows;
    int64_t *row_starts; /* [rows + 1] from 0 on, consistent */
    int32_t *columns;    /* in range */
    double *values;
} sparse_rows;

static nadir_status read_lengths(petsc_file *file, sparse_rows *made)
{
    int64_t *row_starts = made->row_starts;
    NADIR_TRY(
        nadir_input_seek(file->context, &file->input, body_start(file) + made->first * (int64_t)file->width));
    row_starts[0] = 0;
    for (int64_t row = 0; row < made->rows; row++) {
        const int64_t left = made->rows - row;
        if (row % BLOCK == 0) {
            NADIR_TRY(next_integers(file, left < BLOCK ? left : BLOCK, "the lengths of the rows"));
        }
        const int64_t length = file->integers[row % BLOCK];
        if (length < 0 || length > file->columns) {
            return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                              "%s: row %lld has %lld entries; expected 0 to %lld", file->input.path,
                              (long long)made->first + row, (long long)length, (long long)file->columns);
        }
        if (length > file->nonzeros - row_starts[row]) {
            return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                              "%s: the rows up to row %lld have more entries than the header announces "
                              "(%lld)",
                              file->input.path, (long long)made->first + row, (long long)file->nonzeros);
        }
        row_starts[row + 1] = row_starts[row] + length;
    }
    return NADIR_OK;
}

/* Names the row in which entry i of the range stands. */
static nadir_status column_fail(const petsc_file *file, const sparse_rows *made, int64_t i, int64_t column)
{
    int64_t row = 0;
    while (made->row_starts[row + 1] <= i) {
        row++;
    }
    return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                      "%s: row %lld has an entry in column %lld; columns are 0 to %lld", file->input.path,
                      (long long)made->first + row, (long long)column, (long long)file->columns - 1);
}

/* The entries of these rows, of which the first is entry `first` of the file. */
static nadir_status read_entries(petsc_file *file, int64_t first, sparse_rows *made)
{
    const int64_t width = (int64_t)file->width;
    const int64_t columns = body_start(file) + file->rows * width;
    const int64_t numbers = columns + file->nonzeros * width;
    const int64_t count = made->row_starts[made->rows];
    const int64_t left = file->nonzeros - first;
    const bool last = made->first + made->rows == file->rows; /* then they end with the file's */
    if (first < 0 || (last ? count != left : count > left)) {
        return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                          "%s: the rows have %lld entries, the header announces %lld", file->input.path,
                          (long long)first + count, (long long)file->nonzeros);
    }
    NADIR_TRY(nadir_input_seek(file->context, &file->input, columns + first * width));
    for (int64_t i = 0; i < count; i++) {
        if (i % BLOCK == 0) {
            NADIR_TRY(next_integers(file, count - i < BLOCK ? count - i : BLOCK, "the columns"));
        }
        const int64_t column = file->integers[i % BLOCK];
        if (column < 0 || column >= file->columns) {
            return column_fail(file, made, i, column);
        }
        made->columns[i] = (int32_t)column;
    }
    return read_doubles(file, numbers + first * 8, count, made->values);
}

static nadir_status read_sparse(petsc_file *file, int64_t first, int64_t rows, sparse_rows *made)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = file->context;
    *made = (sparse_rows){.first = first, .rows = rows};
    NADIR_NEW(context, made->row_starts, rows + 1);
    NADIR_CHECK(read_lengths(file, made));
    const int64_t count = made->row_starts[rows];
    const int64_t before = nadir_global_first(context, count);
    NADIR_NEW(context, made->columns, count);
    NADIR_NEW(context, made->values, count);
    NADIR_CHECK(read_entries(file, before, made));
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

static void put_double(nadir_output *output, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(output, sizeof bits, bits);
}

/* Writes the header of a sparse matrix; returns the bytes of an integer, 8 only where 4 do not do. */
static size_t put_header(nadir_output *output, int64_t rows, int64_t columns, int64_t nonzeros)
{
    const size_t width = rows > INT32_MAX || nonzeros > INT32_MAX ? 8 : 4;
    put(output, width, MATRIX_CLASS);
    put(output, width, (uint64_t)rows);
    put(output, width, (uint64_t)columns);
    put(output, width, (uint64_t)nonzeros);
    return width;
}

/* ---- Models ------------------------------------------------------------------------------------------ */

/* Rewards of the own rows, of which `first_row` is the first; entries that are not stored are zero. */
static nadir_status read_sparse_rewards(petsc_file *file, int64_t first_row, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    sparse_rows table = {0};
    const int64_t rows = model->rows / file->columns;
    NADIR_CHECK(read_sparse(file, first_row / file->columns, rows, &table));
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = table.row_starts[row]; i < table.row_starts[row + 1]; i++) {
            model->rewards[row * file->columns + table.columns[i]] = table.values[i];
        }
    }
cleanup:
    NADIR_RELEASE(file->context, table.row_starts, table.columns, table.values);
    return status;
}

/* states, actions: of the whole model; first: the first own state. */
static nadir_status read_rewards(nadir_context *context, const char *path, int64_t first, int64_t states,
                                 int64_t actions, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    petsc_file file;
    const int64_t rows = states * actions;
    NADIR_CHECK(open_file(context, path, &file));
    const bool table = file.rows == states && file.columns == actions;
    const bool list = file.rows == rows && file.columns == 1;
    if (!table && !list) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT,
                               "%s: rewards of %lld x %lld; expected %lld x %lld (states x actions), or %lld "
                               "in one column or vector",
                               path, (long long)file.rows, (long long)file.columns, (long long)states,
                               (long long)actions, (long long)rows));
    }
    NADIR_NEW_ZERO(context, model->rewards, model->rows);
    if (file.nonzeros == DENSE) {
        NADIR_CHECK(
            read_doubles(&file, body_start(&file) + 8 * first * actions, model->rows, model->rewards));
    } else {
        NADIR_CHECK(read_sparse_rewards(&file, first * actions, model));
    }
cleanup:
    close_file(&file);
    return status;
}

static nadir_status check_shape(const petsc_file *file)
{
    const char *path = file->input.path;
    if (file->vector) {
        return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                          "%s: a PETSc vector; expected the matrix of transition probabilities (rewards are "
                          "given by --rewards)",
                          path);
    }
    if (file->rows < 1 || file->columns < 1 || file->rows % file->columns != 0) {
        return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                          "%s: a matrix of %lld x %lld; expected the rows to be a multiple of the columns: "
                          "one row for each state and action, one column for each state",
                          path, (long long)file->rows, (long long)file->columns);
    }
    const int64_t actions = file->rows / file->columns;
    if (file->columns > NADIR_STATES_LIMIT || actions > INT32_MAX) {
        return nadir_fail(file->context, NADIR_ERROR_MODEL, "%s: %lld states with %lld actions; at most %d",
                          path, (long long)file->columns, (long long)actions, NADIR_STATES_LIMIT);
    }
    return NADIR_OK;
}

/* first_row: the first own row. */
static nadir_status read_kernel(petsc_file *file, int64_t first_row, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    sparse_rows kernel = {0};
    if (file->nonzeros == DENSE) {
        const int64_t count = model->rows * file->columns;
        NADIR_NEW(file->context, model->dense, count);
        return read_doubles(file, body_start(file) + 8 * first_row * file->columns, count, model->dense);
    }
    status = read_sparse(file, first_row, model->rows, &kernel);
    model->row_starts = kernel.row_starts;
    model->columns = kernel.columns;
    model->probabilities = kernel.values;
cleanup:
    return status;
}

static nadir_status read_petsc(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    petsc_file file;
    int64_t first;
    int64_t end;
    NADIR_CHECK(open_file(context, path, &file));
    NADIR_CHECK(check_shape(&file));
    NADIR_CHECK(nadir_model_start(context, &made));
    const int64_t actions = file.rows / file.columns;
    nadir_model_own_states(context, file.columns, &first, &end);
    made->states = end - first;
    made->rows = made->states * actions;
    NADIR_NEW(context, made->state_rows, made->states + 1);
    for (int64_t s = 0; s <= made->states; s++) {
        made->state_rows[s] = s * actions;
    }
    if (settings->rewards != NULL) { /* before the kernel: what it takes to read them is then free again */
        NADIR_CHECK(read_rewards(context, settings->rewards, first, file.columns, actions, made));
    } else {
        nadir_log(context, NADIR_LOG_NOTICE, "%s: a kernel without rewards; --rewards FILE gives them", path);
    }
    NADIR_CHECK(read_kernel(&file, first * actions, made));
    if (context->engine != NULL) {
        NADIR_CHECK(nadir_model_distribute(context, made, path, first, file.columns));
    }
    const nadir_source source = {.path = path, .reading = settings};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    close_file(&file);
    return status;
}

static nadir_status write_kernel(nadir_context *context, nadir_output *output, const nadir_model *model)
{
    const size_t width = put_header(output, model->rows, model->states, model->nonzeros);
    enum { LENGTHS, COLUMNS, VALUES, PASSES };
    for (int pass = LENGTHS; pass < PASSES; pass++) {
        for (int64_t row = 0; row < model->rows; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            int64_t length = 0;
            for (int64_t i = 0; i < entries.count; i++) {
                const bool positive = entries.values[i] > 0;
                length += positive;
                if (positive && pass == COLUMNS) {
                    put(output, width, (uint64_t)nadir_row_column(&entries, i));
                } else if (positive && pass == VALUES) {
                    put_double(output, entries.values[i]);
                }
            }
            if (pass == LENGTHS) {
                put(output, width, (uint64_t)length);
            }
            const double passes_done = pass + (double)row / (double)model->rows;
            NADIR_TRY(nadir_progress(context, "writing", passes_done / PASSES));
        }
    }
    return NADIR_OK;
}

/* A matrix S x A with every entry stored, the form madupite writes. */
static nadir_status write_rewards(nadir_context *context, nadir_output *output, const nadir_model *model)
{
    const int64_t actions = model->rows / model->states;
    const size_t width = put_header(output, model->states, actions, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        put(output, width, (uint64_t)actions);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        put(output, width, (uint64_t)(row % actions));
    }
    for (int64_t row = 0; row < model->rows; row++) {
        put_double(output, model->rewards[row]);
        NADIR_TRY(nadir_progress(context, "writing the rewards", (double)row / (double)model->rows));
    }
    return NADIR_OK;
}

/* "model.P.bin" has its rewards in "model.g.bin", as has "model.bin". */
static nadir_status rewards_path(nadir_context *context, const char *path, char **rewards)
{
    static const char kernel_ending[] = ".P.bin";
    nadir_status status = NADIR_OK;
    const size_t length = strlen(path);
    const size_t ending = sizeof kernel_ending - 1;
    if (length < ending || strcmp(path + length - ending, kernel_ending) != 0) {
        return nadir_sibling_path(context, path, ".g.bin", rewards);
    }
    NADIR_NEW(context, *rewards, length + 1);
    memcpy(*rewards, path, length + 1);
    memcpy(*rewards + length - ending, ".g.bin", ending);
cleanup:
    return status;
}

static nadir_status write_petsc(nadir_context *context, const nadir_model *model, const char *path,
                                const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    char *sibling = NULL;
    nadir_output kernel = NADIR_OUTPUT_CLOSED;
    nadir_output rewards = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(context, path, &kernel));
    NADIR_CHECK(write_kernel(context, &kernel, model));
    if (model->rewards != NULL) {
        NADIR_CHECK(rewards_path(context, path, &sibling));
        NADIR_CHECK(nadir_output_open(context, sibling, &rewards));
        NADIR_CHECK(write_rewards(context, &rewards, model));
    }
    NADIR_CHECK(nadir_output_commit(context, &kernel));
    if (sibling != NULL) {
        status = nadir_output_commit(context, &rewards);
        if (status != NADIR_OK) {
            (void)unlink(path);
            goto cleanup;
        }
        nadir_log(context, NADIR_LOG_NOTICE, "%s: the rewards are in %s; read both with --rewards %s", path,
                  sibling, sibling);
    }
cleanup:
    nadir_output_close(context, &rewards);
    nadir_output_close(context, &kernel);
    nadir_release(context, sibling);
    return status;
}

const nadir_format nadir_format_petsc = {
    .name = "petsc",
    .endings = " .bin ",
    .title = "PETSc binary",
    .holds = NADIR_HOLDS_REWARDS,
    .takes = NADIR_TAKES_REWARDS,
    .recognises = recognises,
    .read = read_petsc,
    .reads_parts = true,
    .write = write_petsc,
};
