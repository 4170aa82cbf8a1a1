/* blocks.c: threaded kernels on long vectors; see blocks.h. */
#include "linalg/matrix.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <math.h>
#include <string.h>

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

/* `lost` stays zero unless a number is not finite, which a comparison would pass over. */
static double block_maximum(const double *x, int64_t first, int64_t end)
{
    double lanes[LANES] = {0};
    double lost[LANES] = {0};
    int64_t i = first;
    for (; i + LANES <= end; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            const double size = fabs(x[i + k]);
            lanes[k] = size > lanes[k] ? size : lanes[k];
            lost[k] += size - size;
        }
    }
    for (int k = 0; i < end; i++, k++) {
        lanes[k] = larger(lanes[k], fabs(x[i]));
    }
    double maximum = 0;
    for (int k = 0; k < LANES; k++) {
        maximum = larger(maximum, lanes[k]);
    }
    return isinf(maximum) ? maximum : maximum + sum_lanes(lost);
}

double nadir_block_norm(nadir_norm norm, const double *x, int64_t first, int64_t end)
{
    if (norm == NADIR_NORM_MAXIMUM) {
        return block_maximum(x, first, end);
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
    const double *other;
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

static void dot_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const operands *use = arguments;
    result[0] = nadir_block_dot(use->x, use->other, first, end);
}

double nadir_blocks_dot(const nadir_context *context, int64_t count, const double *x, const double *y)
{
    const operands use = {.x = x, .other = y};
    double result[3];
    nadir_blocks_run(context, count, 2, dot_block, &use, NADIR_COMBINE_SUM, result);
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
