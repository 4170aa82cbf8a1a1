/* vector.c: kernels on plain vectors; see vector.h. */
#include "linalg/vector.h"

#include "core/round.h"
#include "linalg/distributed.h"

#include <math.h>

/* Sums of squares beyond this and its inverse are made again, of numbers that were scaled. */
#define SQUARE_LEAST 1e-270

/* Pairs of numbers, in vectors of the language as GCC and Clang extend it: every processor has such. Several
 * at a time do not wait for each other. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_mask __attribute__((vector_size(2 * sizeof(double))));

enum { PAIRS = 4, NUMBERS = 2 * PAIRS, FEW = 2 };

static inline pair pair_at(const double *x)
{
    return (pair){x[0], x[1]};
}

static inline pair sizes_of(pair x)
{
    return (pair)((pair_mask)x & INT64_MAX);
}

static inline pair pick(pair_mask first, pair a, pair b)
{
    return (pair)(((pair_mask)a & first) | ((pair_mask)b & ~first));
}

/* *sum + term, and what is lost of it. */
static inline void add_term(double term, double *sum, double *lost)
{
    const double next = *sum + term;
    const double taken = next - *sum;
    *lost += (*sum - (next - taken)) + (term - taken);
    *sum = next;
}

static inline void add_pair(pair term, pair *sum, pair *lost)
{
    const pair next = *sum + term;
    const pair taken = next - *sum;
    *lost += (*sum - (next - taken)) + (term - taken);
    *sum = next;
}

/* All together, and numbers that are left over. An overflow makes the compensation a NaN; the plain sum says
 * more. */
static double join(const pair sums[FEW], const pair lost[FEW], double rest, double rest_lost)
{
    for (int i = 0; i < 2 * FEW; i++) {
        add_term(sums[i / 2][i % 2], &rest, &rest_lost);
        rest_lost += lost[i / 2][i % 2];
    }
    const double total = rest + rest_lost;
    return isfinite(total) ? total : rest;
}

double nadir_vector_sum(int64_t count, const double *x)
{
    pair sums[FEW] = {{0}};
    pair lost[FEW] = {{0}};
    double rest = 0;
    double rest_lost = 0;
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            add_pair(pair_at(x + i + 2 * j), &sums[j], &lost[j]);
        }
    }
    for (; i < count; i++) {
        add_term(x[i], &rest, &rest_lost);
    }
    return join(sums, lost, rest, rest_lost);
}

double nadir_vector_largest(int64_t count, const double *x)
{
    pair found[FEW] = {{0}};
    pair nothing = {0}; /* stays that unless a number is not finite */
    double largest = 0;
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            const pair size = sizes_of(pair_at(x + i + 2 * j));
            found[j] = pick(size > found[j], size, found[j]);
            nothing += size * 0;
        }
    }
    for (int j = 0; j < 2 * FEW; j++) {
        largest = found[j / 2][j % 2] > largest ? found[j / 2][j % 2] : largest;
    }
    i = nothing[0] == 0 && nothing[1] == 0 ? i : 0; /* else one by one */
    for (; i < count; i++) {
        const double size = fabs(x[i]);
        if (isnan(size)) {
            return size;
        }
        largest = size > largest ? size : largest;
    }
    return largest;
}

double nadir_vector_smallest(int64_t count, const double *x)
{
    double smallest = x[0];
    pair found[FEW] = {{smallest, smallest}, {smallest, smallest}};
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            const pair next = pair_at(x + i + 2 * j);
            found[j] = pick(next < found[j], next, found[j]);
        }
    }
    for (int j = 0; j < 2 * FEW; j++) {
        smallest = found[j / 2][j % 2] < smallest ? found[j / 2][j % 2] : smallest;
    }
    for (; i < count; i++) {
        smallest = x[i] < smallest ? x[i] : smallest;
    }
    return smallest;
}

double nadir_vector_dot(int64_t count, const double *x, const double *y, double *error)
{
    const double unit = NADIR_ROUND_UNIT;
    const double n = (double)count;
    pair sums[FEW] = {{0}};
    pair lost[FEW] = {{0}};
    pair sizes = {0};
    double rest = 0;
    double rest_lost = 0;
    double size = 0;
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            const pair term = pair_at(x + i + 2 * j) * pair_at(y + i + 2 * j);
            add_pair(term, &sums[j], &lost[j]);
            sizes += sizes_of(term);
        }
    }
    for (; i < count; i++) {
        const double term = x[i] * y[i];
        add_term(term, &rest, &rest_lost);
        size += fabs(term);
    }
    size += sizes[0] + sizes[1];
    /* the products and the last addition; what the compensation loses; the sum of the sizes itself */
    *error = unit * (4 + unit * n * n) * size * (1 + n * unit);
    return join(sums, lost, rest, rest_lost);
}

static inline double join_plain(const pair sums[PAIRS])
{
    const pair both = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return both[0] + both[1];
}

/* The sum of (scale x)^2, off by less than 48 roundings. */
static double sum_squares(int64_t count, double scale, const double *x)
{
    enum { BLOCK = 256 };
    double sum = 0;
    double lost = 0;
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t end = first + BLOCK < count ? first + BLOCK : count;
        pair sums[PAIRS] = {{0}};
        double rest = 0;
        int64_t i = first;
        for (; i + NUMBERS <= end; i += NUMBERS) {
            for (int j = 0; j < PAIRS; j++) {
                const pair r = pair_at(x + i + 2 * j) * scale;
                sums[j] += r * r;
            }
        }
        for (; i < end; i++) {
            rest += (x[i] * scale) * (x[i] * scale);
        }
        add_term(rest + join_plain(sums), &sum, &lost);
    }
    return sum + lost;
}

double nadir_vector_norm_2(int64_t count, const double *x)
{
    const double plain = sum_squares(count, 1, x);
    if (plain > SQUARE_LEAST && plain < 1 / SQUARE_LEAST) { /* squares that underflowed do not matter */
        return sqrt(plain);
    }
    const double largest = nadir_vector_largest(count, x);
    if (!(largest > 0) || isinf(largest)) {
        return largest;
    }
    const double scale = nadir_scale_for(largest);
    return sqrt(sum_squares(count, scale, x)) / scale;
}

double nadir_vector_norm_1(int64_t count, const double *x)
{
    pair sums[PAIRS] = {{0}};
    double rest = 0;
    int64_t i = 0;
    for (; i + NUMBERS <= count; i += NUMBERS) {
        for (int j = 0; j < PAIRS; j++) {
            sums[j] += sizes_of(pair_at(x + i + 2 * j));
        }
    }
    for (; i < count; i++) {
        rest += fabs(x[i]);
    }
    return rest + join_plain(sums);
}

static inline __attribute__((always_inline)) void add_all(int64_t count, double weight, const double *x,
                                                          bool first, double *restrict sum)
{
    for (int64_t i = 0; i < count && first; i++) {
        sum[i] = weight * x[i];
    }
    for (int64_t i = 0; i < count && !first; i++) {
        sum[i] += weight * x[i];
    }
}

#if defined __x86_64__
/* The same, for processors that take four numbers at once. */
__attribute__((target("avx2"))) static void add_all_wide(int64_t count, double weight, const double *x,
                                                         bool first, double *restrict sum)
{
    add_all(count, weight, x, first, sum);
}
#endif

void nadir_vector_add(int64_t count, double weight, const double *x, bool first, double *restrict sum)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        add_all_wide(count, weight, x, first, sum);
        return;
    }
#endif
    add_all(count, weight, x, first, sum);
}

void nadir_vector_divide(int64_t count, double divisor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] /= divisor;
    }
}
