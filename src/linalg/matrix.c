/* matrix.c: products with square matrices, and whether one is positive; see matrix.h. */
#include "linalg/matrix.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <cblas.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

void nadir_entries_clear(nadir_context *context, nadir_entries *entries)
{
    NADIR_RELEASE(context, entries->starts, entries->columns, entries->values);
    *entries = (nadir_entries){0};
}

int64_t nadir_matrix_row_length(const nadir_matrix *matrix)
{
    if (matrix->dense != NULL) {
        return matrix->size;
    }
    int64_t longest = 0;
    for (int64_t s = 0; s < matrix->size; s++) {
        const int64_t length = matrix->starts[s + 1] - matrix->starts[s];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* y <- shift x + scale M x for one or several vectors; `transpose` as BLAS sees our rows: its matrix is
 * column-major. */
static void multiply_dense(const nadir_context *context, const nadir_matrix *matrix,
                           CBLAS_TRANSPOSE transpose, int64_t count, double shift, double scale,
                           const double *x, double *y)
{
    const blasint n = (blasint)matrix->size;
    const int before =
        nadir_blas_threads(nadir_threads_for_blas(context, matrix->size * matrix->size * count));
    if (shift != 0) {
        memcpy(y, x, (size_t)(matrix->size * count) * sizeof *y);
    }
    if (count == 1) {
        cblas_dgemv(CblasColMajor, transpose, n, n, scale, matrix->dense, n, x, 1, shift, y, 1);
    } else {
        cblas_dgemm(CblasColMajor, transpose, CblasNoTrans, n, (blasint)count, n, scale, matrix->dense, n, x,
                    n, shift, y, n);
    }
    nadir_blas_restore(before);
}

/* Rows are handed out in equal shares of entries, so that a hub does not hold up one thread. */
static int64_t share_start(const nadir_matrix *matrix, int share, int shares)
{
    const int64_t wanted = matrix->starts[matrix->size] / shares * share;
    return share == shares ? matrix->size : nadir_find_place(matrix->size, matrix->starts, wanted);
}

/* A product with a CSR matrix, of whose rows each thread does a share. */
typedef struct csr_product {
    const nadir_matrix *matrix;
    double shift, scale;
    const double *x;
    double *y;
    bool several;  /* four columns in one pass; else one */
    int64_t ahead; /* entries up to which those of x are sent for; one column in a pass */
} csr_product;

/* Longer rows are summed in pieces, and these sums are added up: fewer roundings (nadir_matrix_row_roundings). */
enum { PIECE = 4096 };

int64_t nadir_matrix_row_roundings(int64_t length)
{
    return length <= PIECE ? length : PIECE + length / PIECE + 1;
}

/* `width` columns, the first of which is `column`, in one pass over rows [first, end). Every column is summed
 * as it would be alone, so the width does not show in the result. Inlined with a constant width. */
static inline __attribute__((always_inline)) void
multiply_columns(const csr_product *product, const int width, int64_t column, int64_t first, int64_t end)
{
    const int64_t n = product->matrix->size;
    const int64_t *starts = product->matrix->starts;
    const int32_t *columns = product->matrix->columns;
    const double *values = product->matrix->values;
    const double *x = product->x + column * n;
    double *y = product->y + column * n;
    const double shift = product->shift;
    const double scale = product->scale;
    for (int64_t s = first; s < end; s++) {
        double sum[4] = {0};
        if (width == 1) {
            nadir_prefetch(x, columns, starts[s], starts[s + 1], product->ahead);
        }
        for (int64_t i = starts[s]; i < starts[s + 1];) {
            const int64_t stop = starts[s + 1] - i > PIECE ? i + PIECE : starts[s + 1];
            double piece[4] = {0};
            for (; i < stop; i++) {
                const double value = values[i];
                const double *from = x + columns[i];
                for (int j = 0; j < width; j++) {
                    piece[j] += value * from[j * n];
                }
            }
            for (int j = 0; j < width; j++) {
                sum[j] += piece[j];
            }
        }
        for (int j = 0; j < width; j++) {
            y[s + j * n] = shift == 0 ? scale * sum[j] : shift * x[s + j * n] + scale * sum[j];
        }
    }
}

static void multiply_rows(const csr_product *product, int64_t count, int64_t first, int64_t end)
{
    int64_t j = 0;
    for (; product->several && j + 4 <= count; j += 4) {
        multiply_columns(product, 4, j, first, end);
    }
    for (; j < count; j++) {
        multiply_columns(product, 1, j, first, end);
    }
}

enum { CACHED = 1 << 19 }; /* numbers */

/* How far apart the first and the last entry of a row are, on average over a few rows. */
static int64_t typical_reach(const nadir_matrix *matrix)
{
    enum { ROWS = 64 };
    int64_t sum = 0;
    for (int64_t k = 0; k < ROWS; k++) {
        const int64_t s = matrix->size / ROWS * k;
        if (matrix->starts[s + 1] > matrix->starts[s]) {
            sum += matrix->columns[matrix->starts[s + 1] - 1] - matrix->columns[matrix->starts[s]];
        }
    }
    return sum / ROWS;
}

void nadir_matrix_combine(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                          double shift, double scale, const double *x, double *y)
{
    if (matrix->dense != NULL) {
        multiply_dense(context, matrix, CblasTrans, count, shift, scale, x, y);
        return;
    }
    const int64_t reach = matrix->size > CACHED / 4 ? typical_reach(matrix) : matrix->size;
    const int64_t ahead = nadir_prefetch_entries(reach, matrix->starts[matrix->size]);
    /* reading the matrix less often pays as long as what its rows reach of all columns stays in the cache */
    const csr_product product = {matrix, shift, scale, x, y, reach <= CACHED / 4, ahead};
    const int shares = nadir_threads_for(context, matrix->starts[matrix->size] * count);
    if (shares == 1) { /* a parallel region of one thread still costs a system call */
        multiply_rows(&product, count, 0, matrix->size);
        return;
    }
#pragma omp parallel for num_threads(shares) schedule(static, 1)
    for (int share = 0; share < shares; share++) {
        multiply_rows(&product, count, share_start(matrix, share, shares),
                      share_start(matrix, share + 1, shares));
    }
}

void nadir_matrix_combine_transposed(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                                     double shift, double scale, const double *x, double *y)
{
    multiply_dense(context, matrix, CblasNoTrans, count, shift, scale, x, y);
}

void nadir_matrix_scatter(const nadir_matrix *matrix, int64_t first, int64_t count, const double *x,
                          double *y)
{
    const int64_t *starts = matrix->starts + first;
    const int32_t *columns = matrix->columns;
    const double *values = matrix->values;
    for (int64_t s = 0; s < count; s++) {
        const double from = x[s];
        for (int64_t i = starts[s]; i < starts[s + 1]; i++) {
            y[columns[i]] += values[i] * from;
        }
    }
}

/* Counts in counts[t] the entries of columns t in [first, end). */
static void count_columns(const nadir_matrix *matrix, int64_t first, int64_t end, int64_t *counts)
{
    const int64_t entries = matrix->starts[matrix->size];
    for (int64_t i = 0; i < entries; i++) {
        const int64_t t = matrix->columns[i];
        if (t >= first && t < end) {
            counts[t]++;
        }
    }
}

static int64_t width_of(const nadir_matrix *matrix)
{
    return matrix->width > 0 ? matrix->width : matrix->size;
}

/* Moves the entries of columns [first, end) to their places; next[t] is the place of the next one of column
 * t. */
static void move_columns(const nadir_matrix *matrix, int64_t first, int64_t end, int64_t *next,
                         const nadir_entries *transpose)
{
    for (int64_t s = 0; s < matrix->size; s++) {
        for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
            const int64_t t = matrix->columns[i];
            if (t >= first && t < end) {
                const int64_t to = next[t]++;
                transpose->columns[to] = (int32_t)s;
                transpose->values[to] = matrix->values[i];
            }
        }
    }
}

/* starts[t] is where row t of the transpose starts; its columns and values are filled in. Every thread looks
 * at all entries and moves those of its own columns. */
static void move_entries(const nadir_matrix *matrix, int threads, const nadir_entries *transpose)
{
    enum { SHARES = 64 };
    const nadir_matrix target = {.size = width_of(matrix), .starts = transpose->starts};
    const int shares = threads < SHARES ? threads : SHARES;
    int64_t bounds[SHARES + 1];
    for (int share = 0; share <= shares; share++) {
        bounds[share] = share_start(&target, share, shares);
    }
#pragma omp parallel for num_threads(shares) schedule(static, 1) if (shares > 1)
    for (int share = 0; share < shares; share++) {
        move_columns(matrix, bounds[share], bounds[share + 1], transpose->starts, transpose);
    }
}

nadir_status nadir_matrix_transpose(nadir_context *context, const nadir_matrix *matrix,
                                    nadir_entries *transpose)
{
    nadir_status status = NADIR_OK;
    const int64_t n = width_of(matrix);
    const int64_t entries = matrix->starts[matrix->size];
    const int threads = nadir_threads_for(context, entries);
    nadir_entries made = {0};
    NADIR_NEW_ZERO(context, made.starts, n + 1);
    NADIR_NEW(context, made.columns, entries);
    NADIR_NEW(context, made.values, entries);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
    for (int share = 0; share < threads; share++) {
        count_columns(matrix, n * share / threads, n * (share + 1) / threads, made.starts + 1);
    }
    for (int64_t t = 0; t < n; t++) {
        made.starts[t + 1] += made.starts[t];
    }
    move_entries(matrix, threads, &made);
    /* starts[t] is now where row t ends, that is where row t + 1 starts */
    memmove(made.starts + 1, made.starts, (size_t)n * sizeof *made.starts);
    made.starts[0] = 0;
    *transpose = made;
    made = (nadir_entries){0};
cleanup:
    nadir_entries_clear(context, &made);
    return status;
}

double nadir_matrix_norm(const nadir_context *context, const nadir_matrix *matrix)
{
    const int64_t n = matrix->size;
    const bool dense = matrix->dense != NULL;
    const double *values = dense ? matrix->dense : matrix->values;
    const int threads = nadir_threads_for(context, dense ? n * n : matrix->starts[n]);
    double largest = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest) if (threads > 1)
    for (int64_t s = 0; s < n; s++) {
        const int64_t start = dense ? s * n : matrix->starts[s];
        const int64_t end = dense ? start + n : matrix->starts[s + 1];
        const double norm = nadir_vector_norm_1(end - start, values + start);
        largest = norm > largest ? norm : largest;
    }
    return nadir_allreduce_maximum(context, largest);
}

/* If M - e I has factors in floating point, then M - e I + dM is positive semidefinite with |dM|_2 <=
 * gamma_{n+1} / (1 - gamma_{n+1}) trace (Demmel; Rump 2006, for sums in any order); its diagonal was rounded once. */
bool nadir_symmetric_is_positive(const nadir_context *context, int64_t size, double *matrix, double error)
{
    const lapack_int n = (lapack_int)size;
    const double unit = NADIR_ROUND_UNIT;
    lapack_int info = 0;
    double trace = 0;
    for (int64_t i = 0; i < size; i++) {
        trace += fabs(matrix[i * size + i]);
    }
    const double slack = (error + (double)(size + 8) * unit * trace) * (1 + 1e-9);
    if (!isfinite(slack)) {
        return false;
    }
    for (int64_t i = 0; i < size; i++) {
        matrix[i * size + i] -= slack;
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, size * size * size));
    LAPACK_dpotrf("L", &n, matrix, &n, &info);
    nadir_blas_restore(before);
    double last = 0; /* what is not a number gets into it */
    for (int64_t i = 0; i < size; i++) {
        last += matrix[i * size + i];
    }
    return info == 0 && isfinite(last);
}

/* Threaded operations on long vectors. */

/* A vector is cut into at most this many pieces, each a multiple of LANES long. */
#define PIECES 64
#define LANES  8

bool nadir_blocks_are_zero(const nadir_context *context, int64_t count, const double *x)
{
    int64_t i = 0;
    while (i < count && x[i] == 0) {
        i++;
    }
    return nadir_allreduce_and(context, i == count);
}

/* The larger of both; a NaN stays one. */
static inline double larger(double a, double b)
{
    return b > a || isnan(b) ? b : a;
}

/* The length of the pieces; there are at least 4 * LANES numbers in each. */
static int64_t piece_length(int64_t count)
{
    const int64_t least = 4 * LANES;
    const int64_t length = (count / PIECES / LANES + 1) * LANES;
    return length > least ? length : least;
}

static void run_piece(nadir_block block, const void *arguments, int64_t count, int64_t length, int64_t piece,
                      double result[3])
{
    const int64_t end = (piece + 1) * length;
    block(arguments, piece * length, end < count ? end : count, result);
}

void nadir_blocks_run(const nadir_context *context, int64_t count, int vectors, nadir_block block,
                      const void *arguments, nadir_combine combine, double result[3])
{
    double part[PIECES][3];
    const int64_t length = piece_length(count);
    const int64_t pieces = (count + length - 1) / length;
    memset(part, 0, (size_t)pieces * sizeof *part);
    const int threads = nadir_threads_for(context, count * vectors);
    if (threads == 1) { /* a parallel region of one thread still costs a system call */
        for (int64_t i = 0; i < pieces; i++) {
            run_piece(block, arguments, count, length, i, part[i]);
        }
    } else {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < pieces; i++) {
            run_piece(block, arguments, count, length, i, part[i]);
        }
    }
    double total[3] = {0};
    for (int64_t i = 0; i < pieces; i++) {
        total[0] = combine == NADIR_COMBINE_MAXIMUM ? larger(total[0], part[i][0]) : total[0] + part[i][0];
        total[1] += part[i][1];
        total[2] += part[i][2];
    }
    const nadir_communication *table = context->communication;
    if (table->members > 1 && combine != NADIR_COMBINE_NONE) {
        const nadir_reduction first =
            combine == NADIR_COMBINE_MAXIMUM ? NADIR_REDUCE_MAXIMUM : NADIR_REDUCE_SUM;
        const nadir_reduction operations[3] = {first, NADIR_REDUCE_SUM, NADIR_REDUCE_SUM};
        table->reduce_few(table->self, 3, operations, total);
    }
    memcpy(result, total, sizeof total);
}

static double sum_lanes(const double lanes[LANES])
{
    double sum = 0;
    for (int k = 0; k < LANES; k++) {
        sum += lanes[k];
    }
    return sum;
}

double nadir_block_dot(const double *x, const double *y, int64_t first, int64_t end)
{
    double lanes[LANES] = {0};
    int64_t i = first;
    for (; i + LANES <= end; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += x[i + k] * y[i + k];
        }
    }
    for (int k = 0; i < end; i++, k++) {
        lanes[k] += x[i] * y[i];
    }
    return sum_lanes(lanes);
}

double nadir_block_norm(nadir_norm norm, const double *x, int64_t first, int64_t end)
{
    if (norm == NADIR_NORM_MAXIMUM) {
        return nadir_vector_largest(end - first, x + first);
    }
    double lanes[LANES] = {0};
    int64_t i = first;
    for (; i + LANES <= end; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += fabs(x[i + k]);
        }
    }
    for (int k = 0; i < end; i++, k++) {
        lanes[k] += fabs(x[i]);
    }
    return sum_lanes(lanes);
}

static nadir_combine combine_of(nadir_norm norm)
{
    return norm == NADIR_NORM_MAXIMUM ? NADIR_COMBINE_MAXIMUM : NADIR_COMBINE_SUM;
}

/* What the kernels below hand to their blocks. */
typedef struct operands {
    const double *x;
    double *y;
    double a;
    nadir_norm norm;
    int many;
    const double *const *vectors;
    const double *factors;
} operands;

static void norm_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    result[0] = nadir_block_norm(use->norm, use->x, first, end);
}

double nadir_blocks_norm(const nadir_context *context, nadir_norm norm, int64_t count, const double *x)
{
    const operands use = {.x = x, .norm = norm};
    double result[3];
    nadir_blocks_run(context, count, 1, norm_block, &use, combine_of(norm), result);
    return result[0];
}

static void add_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    const double *x = use->x;
    double *y = use->y;
    const double a = use->a;
    (void)result;
    for (int64_t i = first; i < end; i++) {
        y[i] += a * x[i];
    }
}

void nadir_blocks_add(const nadir_context *context, int64_t count, double a, const double *x, double *y)
{
    const operands use = {.x = x, .y = y, .a = a};
    double result[3];
    nadir_blocks_run(context, count, 2, add_block, &use, NADIR_COMBINE_NONE, result);
}

static void subtract_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    const double *x = use->x;
    double *y = use->y;
    for (int64_t i = first; i < end; i++) {
        y[i] = x[i] - y[i];
    }
    result[0] = nadir_block_norm(use->norm, y, first, end);
}

double nadir_blocks_subtract_from(const nadir_context *context, nadir_norm norm, int64_t count,
                                  const double *x, double *y)
{
    const operands use = {.x = x, .y = y, .norm = norm};
    double result[3];
    nadir_blocks_run(context, count, 2, subtract_block, &use, combine_of(norm), result);
    return result[0];
}

static void scale_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    const double *x = use->x;
    double *y = use->y;
    const double a = use->a;
    (void)result;
    for (int64_t i = first; i < end; i++) {
        y[i] = a * x[i];
    }
}

void nadir_blocks_scale(const nadir_context *context, int64_t count, double a, const double *x, double *y)
{
    const operands use = {.x = x, .y = y, .a = a};
    double result[3];
    nadir_blocks_run(context, count, 2, scale_block, &use, NADIR_COMBINE_NONE, result);
}

static void dots_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    for (int j = 0; j < use->many; j++) {
        result[j] = nadir_block_dot(use->vectors[j], use->x, first, end);
    }
}

void nadir_blocks_dots(const nadir_context *context, int64_t count, int many, const double *const *vectors,
                       const double *x, double *result)
{
    for (int j = 0; j < many; j += 3) {
        const int some = many - j < 3 ? many - j : 3;
        const operands use = {.x = x, .many = some, .vectors = vectors + j};
        double three[3];
        nadir_blocks_run(context, count, some + 1, dots_block, &use, NADIR_COMBINE_SUM, three);
        for (int k = 0; k < some; k++) {
            result[j + k] = three[k];
        }
    }
}

double nadir_blocks_dot(const nadir_context *context, int64_t count, const double *x, const double *y)
{
    double result;
    nadir_blocks_dots(context, count, 1, &x, y, &result);
    return result;
}

static void add_many_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    double *y = use->y;
    for (int j = 0; j < use->many; j++) {
        const double *x = use->vectors[j];
        const double a = use->factors[j];
        for (int64_t i = first; i < end; i++) {
            y[i] += a * x[i];
        }
    }
    result[0] = nadir_block_dot(y, y, first, end);
}

double nadir_blocks_add_many(const nadir_context *context, int64_t count, int many,
                             const double *const *vectors, const double *factors, double *x)
{
    const operands use = {.y = x, .many = many, .vectors = vectors, .factors = factors};
    double result[3];
    nadir_blocks_run(context, count, many + 2, add_many_block, &use, NADIR_COMBINE_SUM, result);
    return result[0];
}
